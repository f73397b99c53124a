from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from transa.data import KnowledgeGraph, Vocabulary, load
from transa.errors import InputError

ROWS = [("bob", "knows", "ada"), ("ada", "likes", "eve"), ("bob", "knows", "ada")]
NAMES = ["head", "relation", "tail"]
FRAME = pd.DataFrame(ROWS, columns=NAMES)
POLARS = pl.DataFrame(ROWS, schema=NAMES, orient="row")
ARROW = pa.table(dict(zip(NAMES, map(list, zip(*ROWS, strict=True)), strict=True)))

SOURCES = {
    "list of tuples": ROWS,
    "list of lists": [list(row) for row in ROWS],
    "tuple": tuple(ROWS),
    "numpy strings": np.array(ROWS),
    "numpy objects": np.array(ROWS, dtype=object),
    "pandas": FRAME,
    "pandas objects": FRAME.astype(object),
    "pandas categories": FRAME.astype("category"),
    "pandas, selected rows": pd.concat([FRAME, FRAME]).iloc[[0, 4, 2]],
    "pandas, named index": FRAME.set_index(pd.Index([7, 3, 9], name="weight")),
    "polars": POLARS,
    "polars categories": POLARS.cast(pl.Categorical),
    "polars enumeration": POLARS.cast(pl.Enum(["ada", "bob", "eve", "knows", "likes"])),
    "arrow": ARROW,
    "arrow, large strings": ARROW.cast(pa.schema([(name, pa.large_string()) for name in NAMES])),
    "arrow, string views": ARROW.cast(pa.schema([(name, pa.string_view()) for name in NAMES])),
    "arrow, several chunks": pa.concat_tables([ARROW.slice(0, 1), ARROW.slice(1, 1), ARROW.slice(2)]),
    "arrow, dictionaries": pa.table({name: ARROW[name].dictionary_encode() for name in NAMES}),
}


@pytest.fixture
def graph() -> KnowledgeGraph:
    return KnowledgeGraph.from_triples(
        ROWS, [("eve", "knows", "zoe", 1), ("eve", "likes", "bob", -1)], [("ada", "knows", "eve")]
    )


# ---------------------------------------------------------------------- from names


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_triples_are_taken_from_every_kind_of_source(source):
    graph = KnowledgeGraph.from_triples(source)
    assert list(graph.entities) == ["ada", "bob", "eve"]
    assert list(graph.relations) == ["knows", "likes"]
    assert graph.train.tolist() == [[1, 0, 0], [0, 1, 2], [1, 0, 0]]
    assert graph.train.dtype == np.int32


def test_triples_are_taken_from_a_generator():
    assert KnowledgeGraph.from_triples(row for row in ROWS) == KnowledgeGraph.from_triples(ROWS)


def test_ids_follow_the_names_whatever_the_order_of_the_rows(graph):
    assert list(graph.entities) == ["ada", "bob", "eve", "zoe"]
    turned = KnowledgeGraph.from_triples(ROWS[::-1])
    assert turned.entities == KnowledgeGraph.from_triples(ROWS).entities
    assert turned.train.tolist() == KnowledgeGraph.from_triples(ROWS).train.tolist()[::-1]


def test_names_are_sorted_by_code_point():
    names = ["", "Z", "a", "é", "🦉", "\uffff", "\U00010000"]
    graph = KnowledgeGraph.from_triples([(f"x{a}", "r", f"x{b}") for a in names for b in names])
    assert list(graph.entities) == sorted(f"x{name}" for name in names)


def test_anything_with_a_str_is_a_name():
    graph = KnowledgeGraph.from_triples([(1, 2.5, ("a",))])
    assert (list(graph.entities), list(graph.relations)) == (["('a',)", "1"], ["2.5"])


LABELS = {
    "rows": [("a", "r", "b", 1), ("b", "r", "a", -1)],
    "numpy": np.array([("a", "r", "b", "1"), ("b", "r", "a", "-1")]),
    "pandas": pd.DataFrame([("a", "r", "b", 1), ("b", "r", "a", -1)]),
    "pandas, floats": pd.DataFrame([("a", "r", "b", 1.0), ("b", "r", "a", -1.0)]),
    "polars, small numbers": pl.DataFrame({"h": ["a", "b"], "r": ["r", "r"], "t": ["b", "a"], "label": [1, -1]}).cast(
        {"label": pl.Int8}
    ),
    "arrow, text": pa.table({"x": ["a", "b"], "y": ["r", "r"], "z": ["b", "a"], "Labels": ["1", "-1"]}),
}


@pytest.mark.parametrize("source", LABELS.values(), ids=LABELS)
def test_a_fourth_value_is_the_label(source):
    graph = KnowledgeGraph.from_triples([("a", "r", "b")], valid=source, test=source)
    assert graph.valid_labels.tolist() == graph.test_labels.tolist() == [1, -1]
    assert graph.valid_labels.dtype == np.int8


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "r", "b"), ("a", "r")], r"row 2: expected 3 or 4 values, found 2: \"\('a', 'r'\)\""),
        ([("a", "r", "b", 1, 2)], "row 1: expected 3 or 4 values, found 5"),
        (["abc"], "row 1: expected 3 or 4 values, found 'abc'"),
        ([("a", "", "b")], "row 1: a blank name"),
        ([("a", "r", " \t")], "row 1: a blank name"),
        ([("a", None, "b")], "row 1: a missing name"),
        ([("a", "r", "b", 0)], "row 1: expected the label 1 or -1, found '0'"),
        ([("a", "r", "b", 1), ("a", "r", "b")], "row 2: labelled and unlabelled rows are mixed"),
        ([("a", "r", "b"), ("a", "r", "b", 1)], "row 2: labelled and unlabelled rows are mixed"),
        (pd.DataFrame([("a", "r")]), "expected 3 or 4 columns, .*; found 0, 1; select or rename them"),
        (pd.DataFrame([("a", "r", "b"), ("a", None, "b")]), "index 1: a missing name .* in column '1'"),
        (pd.DataFrame([("a", "r", 0.5)]), "column '2' holds double; expected strings or whole numbers"),
        (pd.DataFrame([("a", "r", "b", 1), ("a", "r", "b", 3)]), "index 1: expected the label 1 or -1, found '3'"),
        (pd.DataFrame([("a", "r", "b", True)]), "the column of labels holds bool"),
    ],
)
def test_wrong_rows_are_named(rows, message):
    with pytest.raises(InputError, match=message):
        KnowledgeGraph.from_triples([("a", "r", "b")], valid=rows)


def test_false_triples_cannot_be_trained_on():
    assert len(KnowledgeGraph.from_triples([("a", "r", "b", 1)]).train) == 1
    with pytest.raises(InputError, match="row 2: a triple labelled -1"):
        KnowledgeGraph.from_triples([("a", "r", "b", 1), ("b", "r", "b", -1)])


@pytest.mark.parametrize("nothing", [[], iter(()), np.empty((0, 3)), pd.DataFrame({"h": [], "r": [], "t": []})])
def test_without_a_triple_there_is_no_graph(nothing):
    with pytest.raises(InputError, match="train: there is no triple"):
        KnowledgeGraph.from_triples(nothing)
    assert len(KnowledgeGraph.from_triples([("a", "r", "b")], valid=[]).valid) == 0


# ---------------------------------------------------------------------- from ids


def test_ids_without_names_are_called_by_their_numbers():
    graph = KnowledgeGraph.from_ids([[0, 0, 3]], test=[[4, 1, 0]])
    assert (list(graph.entities), list(graph.relations)) == (["0", "1", "2", "3", "4"], ["0", "1"])


def test_vocabularies_names_and_sizes_can_be_given():
    vocabulary = Vocabulary(["z", "y"])
    graph = KnowledgeGraph.from_ids([[0, 0, 1]], entities=vocabulary, relations=3)
    assert graph.entities is vocabulary
    assert list(graph.relations) == ["0", "1", "2"]
    assert list(KnowledgeGraph.from_ids([[0, 0, 1]], entities=(name for name in "zy")).entities) == ["z", "y"]


@pytest.mark.parametrize("ids", [[], np.empty((0, 3)), np.empty((0, 3), np.int64), None])
def test_no_ids_are_a_graph_too(ids):
    graph = KnowledgeGraph.from_ids([[0, 0, 0]], valid=ids)
    assert graph.valid.shape == (0, 3)
    assert graph.valid.dtype == np.int32


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([[0, 0, 1], [0, 0, 2]], r"row 2: test: the tail id 2 is out of range \(expected 0 to 1\)"),
        ([[0, 1, 0]], r"row 1: test: the relation id 1 is out of range \(expected 0 to 0\)"),
        ([[-1, 0, 0]], "row 1: test: the head id -1 is out of range"),
        ([[0, 0, 2**31]], "test: the id 2147483648 is out of range"),
        (np.array([[0, 0, 2**32]]), "test: the id 4294967296 is out of range"),
        (np.array([[0, 0, -(2**32)]]), "test: the id -4294967296 is out of range"),
        (np.array([[0, 0, 2**63]], np.uint64), "test: the id 9223372036854775808 is out of range"),
        ([[0.0, 0.0, 1.0]], "test: expected whole numbers, found float64"),
        ([["a", "r", "b"]], "test: expected whole numbers, found <U1; names go to from_triples"),
        ([[True, False, True]], "test: expected whole numbers, found bool"),
        ([[0, 0]], r"test: expected rows of 3 ids, found an array of shape \(1, 2\)"),
        ([0, 0, 1], r"test: expected rows of 3 ids, found an array of shape \(3,\)"),
    ],
)
def test_wrong_ids_are_named(ids, message):
    with pytest.raises(InputError, match=message):
        KnowledgeGraph.from_ids([[0, 0, 1]], test=ids, entities=2, relations=1)
    with pytest.raises(InputError, match=message):
        KnowledgeGraph(Vocabulary("ab"), Vocabulary("r"), np.array([[0, 0, 1]]), test=np.asarray(ids))


@pytest.mark.parametrize("labels", [[1], [1, -1, 1], [1, 0], [[1, 1]], np.array([1, 257]), np.array([1, 1.5])])
def test_wrong_labels_are_named(labels):
    with pytest.raises(InputError, match="test: expected a label of 1 or -1 for each triple"):
        KnowledgeGraph.from_ids([[0, 0, 1]], test=[[0, 0, 0], [0, 0, 1]], test_labels=labels)


# ---------------------------------------------------------------------- immutability


def test_nothing_can_be_changed(graph):
    with pytest.raises(FrozenInstanceError):
        graph.train = graph.test
    for array in (graph.train, graph.valid, graph.test, graph.valid_labels):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_the_callers_arrays_stay_free_and_apart():
    train, labels = np.array([[0, 0, 1]], np.int32), np.array([-1], np.int8)
    graph = KnowledgeGraph.from_ids(train, valid=train, valid_labels=labels)
    train[0, 2], labels[0] = 0, 1
    assert graph.train.tolist() == [[0, 0, 1]]
    assert graph.valid_labels.tolist() == [-1]


def test_the_constructor_does_not_freeze_the_callers_array():
    train, labels = np.array([[0, 0, 1]], np.int32), np.array([1], np.int8)
    KnowledgeGraph(Vocabulary("ab"), Vocabulary("r"), train, valid=train, valid_labels=labels)
    assert train.flags.writeable
    assert labels.flags.writeable


# ---------------------------------------------------------------------- looking


def test_equality_looks_at_everything_but_notes(graph):
    valid = [("eve", "knows", "zoe", 1), ("eve", "likes", "bob", -1)]
    test = [("ada", "knows", "eve")]
    assert graph == KnowledgeGraph.from_triples(ROWS, valid, test)
    assert graph == graph.with_notes("something to know")
    assert graph != KnowledgeGraph.from_triples(ROWS[:2], valid, test)
    assert graph != KnowledgeGraph.from_triples(ROWS, [row[:3] for row in valid], test)
    assert graph != KnowledgeGraph.from_triples(ROWS, [(*row[:3], -row[3]) for row in valid], test)
    assert graph != KnowledgeGraph.from_triples(ROWS, valid, [("ada", "knows", "bob")])
    assert graph != "graph"


def test_equality_looks_at_names():
    def build(name):
        return KnowledgeGraph.from_ids([[0, 0, 1]], entities=Vocabulary("ab", [name, None]))

    assert build("Ada") == build("Ada")
    assert build("Ada") != build("Eve")
    assert build("Ada") != KnowledgeGraph.from_ids([[0, 0, 1]], entities="ab")


def test_graphs_are_not_hashable(graph):
    with pytest.raises(TypeError):
        hash(graph)


def test_len_and_repr_count(graph):
    assert len(graph) == 6
    assert repr(graph) == "KnowledgeGraph(4 entities, 2 relations, 3 train / 2 valid / 1 test triples)"


def test_positives_leave_out_what_is_labelled_false(graph):
    assert graph.positives("valid").tolist() == graph.valid[:1].tolist()
    assert graph.positives("train") is graph.train


def test_named_gives_keys_and_labels(graph):
    assert graph.named("train").to_pylist()[1] == {"head": "ada", "relation": "likes", "tail": "eve"}
    assert graph.named("valid").to_pylist() == [
        {"head": "eve", "relation": "knows", "tail": "zoe", "label": 1},
        {"head": "eve", "relation": "likes", "tail": "bob", "label": -1},
    ]
    assert KnowledgeGraph.from_triples(graph.named("train"), graph.named("valid"), graph.named("test")) == graph


def test_labels_of_train_are_none(graph):
    assert graph.labels("train") is None
    assert graph.labels("test") is None
    assert graph.labels("valid").tolist() == [1, -1]


def test_notes_add_up(graph):
    assert graph.with_notes("a").with_notes("b", "c").notes == ("a", "b", "c")


# ---------------------------------------------------------------------- keeping


def test_save_and_load(graph, tmp_path):
    path = graph.save(tmp_path / "kept")
    assert path == tmp_path / "kept"
    assert load(path) == graph
    assert load(str(path)) == graph


def test_save_replaces_only_on_request(graph, tmp_path):
    graph.save(tmp_path / "kept")
    with pytest.raises(InputError, match="exists already"):
        graph.save(tmp_path / "kept")
    other = KnowledgeGraph.from_triples(ROWS[:1])
    other.save(str(tmp_path / "kept"), overwrite=True)
    assert load(tmp_path / "kept") == other


# ---------------------------------------------------------------------- inverses


def test_inverses_follow_the_relations_and_triples_of_train():
    graph = KnowledgeGraph.from_triples([("a", "r", "b"), ("c", "s", "a")], [("b", "r", "c")])
    both = graph.with_inverses()
    assert both.train.tolist() == [[0, 0, 1], [2, 1, 0], [1, 2, 0], [0, 3, 2]]
    assert list(both.relations) == ["r", "s", "r⁻¹", "s⁻¹"]
    assert both.valid.tolist() == graph.valid.tolist()
    assert both.entities == graph.entities


def test_inverses_have_names_of_their_own():
    relations = Vocabulary(["r", "r⁻¹"], ["likes", None])
    both = KnowledgeGraph.from_ids([(0, 0, 1), (1, 1, 0)], relations=relations).with_inverses()
    assert list(both.relations) == ["r", "r⁻¹", "r⁻¹⁻¹", "r⁻¹⁻¹⁻¹"]
    assert [both.relations.name(i) for i in range(4)] == ["likes", "r⁻¹", "likes⁻¹⁻¹", "r⁻¹⁻¹⁻¹"]


# ---------------------------------------------------------------------- what is no name


@pytest.mark.parametrize("missing", [None, float("nan"), np.float64("nan"), pd.NA, pd.NaT, pa.scalar(None)], ids=repr)
@pytest.mark.parametrize("place", [0, 1, 2])
def test_missing_values_are_no_names(missing, place):
    row = ["a", "r", "b"]
    row[place] = missing
    for rows in ([("a", "r", "b"), tuple(row)], np.array([["a", "r", "b"], row], dtype=object)):
        with pytest.raises(InputError, match="row 2: a missing name"):
            KnowledgeGraph.from_triples(rows)


@pytest.mark.parametrize("kind", [object, "str"])
def test_missing_values_in_frames_are_named_by_what_the_frame_shows(kind):
    frame = pd.DataFrame({"h": ["a", "b"], "r": ["r", None], "t": ["b", "c"]}).astype(kind)
    with pytest.raises(InputError, match=r"index 1: a missing name .* in column 'r'"):
        KnowledgeGraph.from_triples(frame)
    numbers = pd.DataFrame({"h": [1, 2, 3], "r": ["r"] * 3, "t": [4, 5, float("nan")]}, index=[1000, 2000, 3000])
    with pytest.raises(InputError, match=r"index 3000: a missing name .* in column 't'"):
        KnowledgeGraph.from_triples(numbers)
    with pytest.raises(InputError, match="index 'y': a blank name in column 'h'"):
        KnowledgeGraph.from_triples(pd.DataFrame({"h": ["a", " "], "r": "r", "t": "b"}, index=["x", "y"]))
    with pytest.raises(InputError, match=r"row 1: a missing name .* in column 't'"):
        KnowledgeGraph.from_triples(pl.DataFrame({"h": ["a"], "r": ["r"], "t": [None]}))


def test_ids_that_pandas_made_floats_are_told():
    frame = pd.DataFrame({"h": [1, 2, None], "r": ["r"] * 3, "t": [4, 5, 6]}).dropna()
    with pytest.raises(InputError, match=r"column 'h' holds double.*astype\('int64'\)"):
        KnowledgeGraph.from_triples(frame)
    graph = KnowledgeGraph.from_triples(frame.to_numpy())
    assert "2 entities such as '1.0' may be whole numbers that became floats" in graph.notes[0]
    assert KnowledgeGraph.from_triples([("film", "rating", 4.0), ("show", "rating", 4.5)]).notes == ()


# ---------------------------------------------------------------------- which columns, and names that are nearly one


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_columns_of_unknown_names_are_taken_in_order_with_a_note(make):
    columns = {"drug": ["a"], "how": ["r"], "gene": ["b"]}
    graph = KnowledgeGraph.from_triples(make(columns))
    assert graph.named("train").to_pylist() == [{"head": "a", "relation": "r", "tail": "b"}]
    assert graph.notes == ("the columns were taken in their order: 'drug' as head, 'how' as relation, 'gene' as tail",)
    for names in (columns, {"head": ["a"], "relation": ["r"], "tail": ["b"]}):
        scored = KnowledgeGraph.from_triples([("a", "r", "b")], valid=make({**names, "score": [1]}))
        assert scored.valid_labels is None and scored.notes[-1] == "not used: the column 'score'"
        labelled = KnowledgeGraph.from_triples([("a", "r", "b")], valid=make({**names, "Labels": [-1]}))
        assert labelled.valid_labels.tolist() == [-1]


def test_names_that_differ_by_case_or_blanks_are_noted_once():
    rows = [
        ("Aspirin", "treats", "pain"),
        ("aspirin", "Treats", "fever"),
        ("fever ", "treats", "x"),
        ("X", "treats", "y"),
    ]
    (note,) = KnowledgeGraph.from_triples(rows).notes
    assert note.startswith("4 names differ from others only by case or by blanks at the ends (kept apart): ")
    assert "'Aspirin' and 'aspirin', 'X' and 'x', 'fever' and 'fever ', …" in note
    assert KnowledgeGraph.from_triples([("a", "r", "b"), ("b", "r", "c")]).notes == ()


def test_a_frame_of_mixed_objects_is_refused_and_no_traceback():
    with pytest.raises(InputError, match="neither strings nor whole numbers alone"):
        KnowledgeGraph.from_triples(pd.DataFrame({"h": ["a", 1], "r": ["r", "r"], "t": ["b", "c"]}))


@pytest.mark.parametrize("source", ["films.csv", 7, {"head": "a"}, [7], [{"head": "a", "relation": "r", "tail": "b"}]])
def test_what_holds_no_rows_is_refused(source):
    with pytest.raises(InputError, match=r"expected (rows of head, relation and tail|3 or 4 values)"):
        KnowledgeGraph.from_triples(source)


def test_one_huge_id_is_taken_for_a_mistake():
    with pytest.raises(InputError, match=r"the id 2,000,000,000 would make 2,000,000,001 entities.*entities="):
        KnowledgeGraph.from_ids([(0, 0, 1), (0, 0, 2_000_000_000)])
    with pytest.raises(InputError, match=r"2,000,000,001 relations.*relations="):
        KnowledgeGraph.from_ids([(0, 2_000_000_000, 1)])
    assert len(KnowledgeGraph.from_ids([(0, 0, 200_000)]).entities) == 200_001
    assert KnowledgeGraph.from_ids([(0, 0, 1)], entities=3_000_000).entities[2_999_999] == "2999999"

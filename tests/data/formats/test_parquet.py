from __future__ import annotations

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from transa.data import load
from transa.data.formats import ReadOptions, read_file
from transa.errors import InputError

HEADS, RELATIONS, TAILS = ["a", "b", "a"], ["r", "s", "r"], ["b", "c", "c"]
EXPECTED = [("a", "r", "b"), ("b", "s", "c"), ("a", "r", "c")]


def rows(table):
    return list(zip(table.heads.to_pylist(), table.relations.to_pylist(), table.tails.to_pylist(), strict=True))


@pytest.fixture
def read(tmp_path):
    """Write columns to a Parquet file and read it as triples."""

    def read(data: dict, **options):
        pq.write_table(pa.table(data), tmp_path / "x.parquet")
        return read_file(tmp_path / "x.parquet", ReadOptions(**options))

    return read


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.int32(), pa.large_string()),
    ],
    ids=str,
)
def test_strings_of_any_kind_are_taken(read, kind):
    table = read(
        {name: pa.array(column).cast(kind) for name, column in zip("xyz", (HEADS, RELATIONS, TAILS), strict=True)}
    )
    assert rows(table) == EXPECTED


@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.uint16()], ids=str)
def test_whole_numbers_are_names(read, kind):
    table = read({name: pa.array([1, 20, 3], kind) for name in "xyz"})
    assert rows(table) == [("1",) * 3, ("20",) * 3, ("3",) * 3]


def test_several_row_groups_are_one_table(tmp_path):
    pq.write_table(pa.table({"x": HEADS, "y": RELATIONS, "z": TAILS}), tmp_path / "x.parquet", row_group_size=1)
    assert rows(read_file(tmp_path / "x.parquet")) == EXPECTED


def test_usual_names_tell_the_columns_and_the_label(read):
    table = read({"weight": [0.5] * 3, "label": [1, -1, 1], "object": TAILS, "Subject": HEADS, "predicate": RELATIONS})
    assert rows(table) == EXPECTED
    assert table.labels.tolist() == [1, -1, 1]


@pytest.mark.parametrize("columns", [("to", "kind", "of"), (2, 0, 1)])
def test_columns_are_taken_by_name_and_position(read, columns):
    assert rows(read({"kind": RELATIONS, "of": TAILS, "to": HEADS, "when": [1, 2, 3]}, columns=columns)) == EXPECTED


@pytest.mark.parametrize("labels", [[1, -1, 1], [1.0, -1.0, 1.0], ["1", "-1", "1"]], ids=["whole", "float", "text"])
def test_a_fourth_column_is_the_label(read, labels):
    assert read({"x": HEADS, "y": RELATIONS, "z": TAILS, "label": labels}).labels.tolist() == [1, -1, 1]


def test_a_fourth_column_of_another_name_is_not_used_and_noted(read):
    table = read({"x": HEADS, "y": RELATIONS, "z": TAILS, "w": [1, -1, 1]})
    assert rows(table) == EXPECTED and table.labels is None
    assert (
        "'x' as head, 'y' as relation, 'z' as tail" in table.notes[0] and "not used: the column 'w'" in table.notes[1]
    )
    chosen = read({"x": HEADS, "y": RELATIONS, "z": TAILS, "w": [1, -1, 1]}, columns=("x", "y", "z"))
    assert "not used: the column 'w'" in chosen.notes[0]


@pytest.mark.parametrize("wrong", [0, 2, None, 0.5])
def test_other_labels_are_refused(read, wrong):
    with pytest.raises(InputError, match=rf"x.parquet, row 2: expected the label 1 or -1, found '{wrong}'"):
        read({"x": HEADS, "y": RELATIONS, "z": TAILS, "label": [1, wrong, 1]})


def test_frames_written_by_pandas_and_polars_are_read(tmp_path):
    frame = pd.DataFrame(EXPECTED, columns=["x", "y", "z"])
    frame.to_parquet(tmp_path / "pandas.parquet")
    frame.set_index(pd.Index([7, 3, 9])).astype("category").to_parquet(tmp_path / "index.parquet")
    pl.DataFrame(EXPECTED, schema=["x", "y", "z"], orient="row").write_parquet(tmp_path / "polars.parquet")
    for name in ("pandas", "index", "polars"):
        assert rows(read_file(tmp_path / f"{name}.parquet")) == EXPECTED


def test_an_index_that_is_asked_for_is_a_column(tmp_path):
    frame = pd.DataFrame(EXPECTED, columns=["head", "relation", "tail"]).set_index("head")
    frame.to_parquet(tmp_path / "x.parquet")
    assert rows(read_file(tmp_path / "x.parquet")) == EXPECTED


def test_the_folder_of_a_file_is_no_column(tmp_path):
    (tmp_path / "label=1").mkdir()
    pq.write_table(pa.table({"x": HEADS, "y": RELATIONS, "z": TAILS}), tmp_path / "label=1" / "x.parquet")
    table = read_file(tmp_path / "label=1" / "x.parquet")
    assert rows(table) == EXPECTED
    assert table.labels is None


@pytest.mark.parametrize("blank", ["", "  ", "\u2028", None])
def test_blank_names_are_refused(read, blank):
    with pytest.raises(InputError, match=r"x.parquet, row 2: a (blank|missing) name.* in column 'y'"):
        read({"x": HEADS, "y": ["r", blank, "r"], "z": TAILS})


def test_numbers_with_a_point_are_no_names(read):
    with pytest.raises(InputError, match="column 'z' holds double; expected strings or whole numbers"):
        read({"x": HEADS, "y": RELATIONS, "z": [1.0, 2.0, 3.0]})


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("x", "why", "z"), "no column 'why' among 'x', 'y', 'z'"),
        ((0, 1, 3), "no column 3: there are columns 0 to 2"),
        ((0, 1, 1), "column '1' is asked for twice"),
    ],
)
def test_columns_that_are_not_there_are_refused(read, columns, message):
    with pytest.raises(InputError, match=message):
        read({"x": HEADS, "y": RELATIONS, "z": TAILS}, columns=columns)


@pytest.mark.parametrize("names", ["xy", "uvxyz"])
def test_columns_that_cannot_be_told_are_refused(read, names):
    with pytest.raises(InputError, match=f"columns named head, relation and tail; found {', '.join(names)}"):
        read(dict.fromkeys(names, HEADS))


def test_no_rows_are_no_triples(read):
    with pytest.raises(InputError, match="the file holds no triple"):
        read(dict.fromkeys("xyz", pa.array([], pa.string())))


@pytest.mark.parametrize("content", [b"", b"a\tr\tb\n", b"PAR1" + b"x" * 100 + b"PAR1"])
def test_what_is_no_parquet_is_refused(tmp_path, content):
    (tmp_path / "x.parquet").write_bytes(content)
    with pytest.raises(InputError, match=r"x.parquet: "):
        load(tmp_path / "x.parquet")

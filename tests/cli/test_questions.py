"""`transa predict`, `check`, `discover`, `explain`, `neighbours`, `map`, `extend` and `export`: what they print, write and refuse."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.inference.runs import kept, line, on_a_line
from transa.training import RunFolder, recipe_from


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kept(tmp_path_factory.mktemp("runs") / "run", named=True)


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose graph has no validation triples."""
    return kept(tmp_path_factory.mktemp("runs") / "bare", valid=False)


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def test_predict_by_name_as_table_json_and_file(command, run: Path, tmp_path: Path) -> None:
    shown = command("predict", run, "--head", "ada", "--relation", "NEXT", "-k", 2)
    assert shown.code == 0 and "Bob (e1)" in shown.out and "known" in shown.out
    found = json.loads(command("predict", run, "--relation", "far", "--tail", "e5", "--json").out)
    assert found["questions"][0]["answers"][0]["key"] == "e3"
    assert found["questions"][0]["question"] == {"head": None, "relation": "far", "tail": "e5"}
    relation = json.loads(command("predict", run, "--head", "e2", "--tail", "e4", "--json").out)
    assert relation["questions"][0]["asked"] == "relation"
    for suffix in ("csv", "tsv", "parquet"):
        target = tmp_path / f"answers.{suffix}"
        assert command("predict", run, "--head", "e2", "--relation", "next", "--out", target).code == 0
    rows = list(csv.DictReader((tmp_path / "answers.csv").read_text().splitlines()))
    assert (rows[0]["head"], rows[0]["tail"], rows[0]["place"]) == ("e2", "e3", "1")
    again = command("predict", run, "--head", "e2", "--relation", "next", "--out", tmp_path / "answers.csv")
    assert again.code == 2 and "--overwrite" in again.err


def test_many_questions_from_a_file(command, run: Path, tmp_path: Path) -> None:
    questions = written(tmp_path / "q.csv", "head,relation,tail\nAda,next,\n,far,e5\ne2,,e4\n")
    found = json.loads(command("predict", run, "--queries", questions, "-k", 1, "--json").out)["questions"]
    assert [each["asked"] for each in found] == ["tail", "head", "relation"]
    pq.write_table(
        pa.table({"head": ["e0"], "relation": ["next"], "tail": pa.array([None], pa.string())}), tmp_path / "q.parquet"
    )
    found = json.loads(command("predict", run, "--queries", tmp_path / "q.parquet", "-k", 1, "--json").out)["questions"]
    assert found[0]["answers"][0]["key"] == "e1"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--head", "e1"), "expected two of head, relation and tail, the third being asked for; found head\n"),
        (("--head", "e1", "--relation", "next", "--tail", "e2"), "found head, relation, tail\n"),
        (("--head", "Dor", "--relation", "next"), "'e4' (Dora), 'e5' (Dorothea)"),
        (("--head", "Zoe", "--relation", "next"), "unknown entity 'Zoe'"),
        (("--head", "e1", "--relation", "nex_t"), "did you mean 'next'"),
        (("--head", "e1", "--relation", "next", "-k", "0"), "'--top' / '-k'"),
        (("--head", "e1", "--relation", "next", "--out", "answers.xls"), "unknown suffix"),
        (("--head", "e1", "--queries", "q.csv"), "not both"),
        (("--queries", "nowhere.csv"), "nowhere.csv"),
    ],
)
def test_wrong_questions(command, run: Path, arguments: tuple[str, ...], message: str) -> None:
    result = command("predict", run, *arguments)
    assert result.code == 2 and message in result.err and "Traceback" not in result.err


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("q.csv", "a,b,c\ne1,next,\n", "expected the columns head, relation, tail"),
        ("q.csv", "head,relation,tail\n\ne1,next,e2\n", "q.csv, line 3"),
        ("q.csv", "head,relation,tail\ne1,next\n", "expected 3 columns, found 2"),
        ("q.csv", "head,relation,tail\n", "no rows"),
        ("q.csv", "", "expected the columns"),
        ("q.parquet", "not parquet", "not a readable Parquet file"),
        ("q.xlsx", "x", "unknown suffix"),
        ("q.csv", "head,relation,tail\ne1,next,\nZoe,next,\n", "q.csv, line 3: unknown entity 'Zoe'"),
    ],
)
def test_wrong_files_of_questions(command, run: Path, tmp_path: Path, name: str, text: str, message: str) -> None:
    result = command("predict", run, "--queries", written(tmp_path / name, text))
    assert result.code == 2 and message in result.err


def test_nothing_left_to_answer_is_said(command, tmp_path: Path) -> None:
    import transa
    from transa.data import KnowledgeGraph

    graph = KnowledgeGraph.from_triples([("a", "r", "b"), ("b", "s", "a")])
    transa.TransE(dim=2, epochs=1).fit(graph).save(tmp_path / "run")
    asked = ("predict", tmp_path / "run", "--head", "a", "--relation", "r", "--in-range", "--new-only")
    result = command(*asked)
    assert (result.code, result.out) == (0, "") and "(a, r, ?): no answer is left that is new in range" in result.err
    assert json.loads(command(*asked, "--json").out)["questions"][0]["answers"] == []
    assert command(*asked, "--out", tmp_path / "none.csv").code == 0
    assert len((tmp_path / "none.csv").read_text().splitlines()) == 1
    result = command("discover", tmp_path / "run")
    assert (result.code, result.out) == (0, "") and "nothing was found" in result.err
    assert json.loads(command("discover", tmp_path / "run", "--json").out)["triples"] == []
    result = command("export", tmp_path / "run", "--to", tmp_path / "none.nt")
    assert result.code == 0 and "nothing was found" in result.err and (tmp_path / "none.nt").read_text() == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "RUN", "--head", "e1", "--relation", "next"),
        ("discover", "RUN"),
        ("explain", "RUN", "e1", "next", "e2"),
        ("neighbours", "RUN", "e1"),
        ("map", "RUN", "--picture", "OUT.png"),
        ("export", "RUN", "--to", "OUT.npz"),
        ("check", "RUN", "TRIPLES"),
        ("extend", "RUN", "TRIPLES", "--out", "OUT"),
        ("evaluate", "RUN"),
        ("classify", "RUN"),
        ("weights", "RUN"),
        ("figure", "1", "RUN", "--out", "OUT.png"),
    ],
)
def test_damaged_runs_are_refused_with_a_message(command, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    import torch

    triples = written(tmp_path / "t.csv", "head,relation,tail\ne1,next,e9\n")

    def refused(run: Path, message: str) -> None:
        places = {"RUN": run, "TRIPLES": triples, "OUT": tmp_path / "out"}
        given = [places.get(each, str(each).replace("OUT", str(tmp_path / "out"))) for each in arguments]
        result = command(*given)
        assert result.code == 2 and message in result.err and "Traceback" not in result.err, result.err

    refused(tmp_path / "nowhere", "there is no such run folder")
    run = kept(tmp_path / "run")
    weights = (run / "weights.safetensors").read_bytes()
    for cut in (0, 5, 40, len(weights) - 3):
        (run / "weights.safetensors").write_bytes(weights[:cut])
        refused(run, "damaged or not readable")
    (run / "weights.safetensors").unlink()
    refused(run, "weights.safetensors is missing")
    from transa.training import RunFolder

    RunFolder(run).write_tensors("weights.safetensors", {"entity.vector": torch.zeros(3, 2)})
    refused(run, "expected entity.vector of shape")
    RunFolder(run).write_tensors(
        "weights.safetensors", {"entity.vector": torch.full((8, 2), torch.nan), "relation.vector": torch.zeros(2, 2)}
    )
    refused(run, "NaN or infinit")
    (run / "weights.safetensors").write_bytes(weights)
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps({**config, "format": 99}))
    refused(run, "format 99")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("explain", "RUN", "Dor", "next", "e1"), "entity 'Dor' is ambiguous: 'e4' (Dora), 'e5' (Dorothea)"),
        (("explain", "RUN", "e1", "nextt", "e1"), "unknown relation 'nextt'; did you mean 'next'?"),
        (("explain", "RUN", "e1", "next", "e1", "-k", "0"), "'--top' / '-k'"),
        (("explain", "RUN", "e1", "next"), "'TAIL'"),
        (("neighbours", "RUN", "Doraa"), "unknown entity 'Doraa'; did you mean 'Dora'"),
        (("neighbours", "RUN", "BOB"), "entity 'BOB' is ambiguous: 'e1' (Bob), 'e2' (bob)"),
        (("neighbours", "RUN", "e1", "--relation", "near"), "unknown relation 'near'"),
        (("neighbours", "RUN", "e1", "-k", "-1"), "'--top' / '-k'"),
        (("discover", "RUN", "--relation", "near"), "unknown relation 'near'"),
        (("discover", "RUN", "--each", "0"), "'--each'"),
        (("discover", "RUN", "--errors", "--relation", "near"), "unknown relation 'near'"),
        (("export", "RUN", "--to", "OUT.nt", "--relation", "near"), "unknown relation 'near'"),
        (("export", "RUN", "--to", "OUT.nt", "-k", "0"), "'--top' / '-k'"),
        (("export", "RUN", "--to", "nowhere/x.npz"), "does not exist"),
        (("map", "RUN", "--picture", "OUT.bmp"), "unknown suffix '.bmp'"),
        (("map", "RUN", "--picture", "OUT.png", "--out", "OUT.txt"), "unknown suffix '.txt'"),
        (("map", "RUN", "--picture", "OUT.png", "--colour", "nextt"), "unknown relation 'nextt'; did you mean 'next'?"),
        (("map", "RUN", "--picture", "OUT.png", "--method", "tsne"), "'--method'"),
        (("check", "RUN", "nowhere.csv"), "nowhere.csv"),
        (("check", "RUN", "NARROW"), "narrow.csv"),
        (("check", "RUN", "AMBIGUOUS"), "two.csv, line 3: entity 'Dor' is ambiguous"),
        (("extend", "RUN", "nowhere.csv", "--out", "OUT"), "nowhere.csv"),
        (("extend", "RUN", "NARROW", "--out", "OUT"), "narrow.csv"),
        (("extend", "RUN", "AMBIGUOUS", "--out", "OUT", "--steps", "-1"), "'--steps'"),
        (("evaluate", "RUN", "--limit", "0"), "'--limit'"),
        (("evaluate", "RUN"), "no test triples"),
        (("weights", "RUN"), "transe has no metric"),
    ],
)
def test_wrong_input_has_a_message_and_exit_code_2(
    command, run: Path, tmp_path: Path, arguments: tuple[str, ...], message: str
) -> None:
    places = {
        "RUN": run,
        "NARROW": written(tmp_path / "narrow.csv", "head,tail\ne1,e2\n"),
        "AMBIGUOUS": written(tmp_path / "two.csv", "head,relation,tail\ne0,next,e1\nDor,next,e1\n"),
    }
    before = sorted(tmp_path.iterdir())
    result = command(*(places.get(each, each.replace("OUT", str(tmp_path / "out"))) for each in arguments))
    assert result.code == 2 and message in result.err and "Traceback" not in result.err, result.err
    assert sorted(tmp_path.iterdir()) == before


def test_check_and_its_exit_codes(command, run: Path, bare: Path, tmp_path: Path) -> None:
    triples = written(tmp_path / "t.csv", "head,relation,tail\ne0,next,e1\ne0,next,e6\n")
    found = command("check", run, triples, "--json")
    assert found.code == 0
    assert [each["decision"] for each in json.loads(found.out)["triples"]] == [True, False]
    failing = command("check", run, triples, "--fail-below", 0.5)
    assert failing.code == 1 and "1 of 2" in failing.err and "false" in failing.out
    good = written(tmp_path / "g.csv", "head,relation,tail\ne0,next,e1\n")
    assert command("check", run, good, "--fail-below", 0.5, "--out", tmp_path / "said.tsv").code == 0
    assert (tmp_path / "said.tsv").read_text().startswith("head\trelation\ttail\tscore\tthreshold")
    unknown = command("check", run, written(tmp_path / "u.csv", "head,relation,tail\ne0,next,Zoe\n"))
    assert unknown.code == 2 and "u.csv, line 2: unknown entity 'Zoe'" in unknown.err
    assert "no validation triples" in command("check", bare, good).err
    assert command("check", bare, good, "--fail-below", 0.5).code == 2
    assert command("check", run, good, "--fail-below", 7).code == 2


def test_discover_new_facts_and_doubtful_ones(command, run: Path, tmp_path: Path) -> None:
    found = json.loads(command("discover", run, "-k", 4, "--parts", tmp_path / "parts", "--json").out)["triples"]
    assert len(found) == 4 and not any(each["known"] for each in found)
    again = json.loads(command("discover", run, "-k", 4, "--parts", tmp_path / "parts", "--json").out)["triples"]
    assert again == found
    other = command("discover", run, "-k", 5, "--parts", tmp_path / "parts")
    assert other.code == 2 and "other settings" in other.err
    damaged = command("discover", run, "--parts", written(tmp_path / "damaged", "hello\n"))
    assert damaged.code == 2 and "Traceback" not in damaged.err
    assert all(each["known"] for each in json.loads(command("discover", run, "--errors", "--json").out)["triples"])
    assert "new" in command("discover", run, "--relation", "far", "-k", 2).out
    assert command("discover", run, "-k", 0).code == 2


@pytest.mark.slow
def test_explain_neighbours_and_map(command, run: Path, tmp_path: Path) -> None:
    text = command("explain", run, "Ada", "next", "Bob", "--picture", tmp_path / "why.png")
    assert text.code == 0 and "rank of the tail" in text.out
    assert (tmp_path / "why.png").read_bytes().startswith(b"\x89PNG")
    assert json.loads(command("explain", run, "e2", "next", "e3", "--json").out)["tail_rank"]["raw"] == 1
    assert command("explain", run, "e2", "next", "Zoe").code == 2
    assert command("explain", run, "e2", "next", "e3", "--picture", tmp_path / "why.bmp").code == 2
    near = json.loads(command("neighbours", run, "e3", "-k", 2, "--relation", "next", "--json").out)
    assert [each["key"] for each in near["neighbours"]] == ["e2", "e4"]
    assert command("neighbours", run, "e3", "-k", 0).code == 2
    drawn = command("map", run, "--picture", tmp_path / "map.svg", "--out", tmp_path / "map.csv")
    assert drawn.code == 0 and len((tmp_path / "map.csv").read_text().splitlines()) == 9
    assert command("map", run, "--picture", tmp_path / "map.svg").code == 2
    typed = command("map", run, "--picture", tmp_path / "t.svg", "--colour", "role", "--method", "umap", "--json")
    assert typed.code == 0, typed.err
    assert json.loads(typed.out)["explained"] is None and "tail of next" in (tmp_path / "t.svg").read_text()


def test_extend_writes_a_run_that_answers(command, run: Path, tmp_path: Path) -> None:
    news = written(tmp_path / "n.csv", "head,relation,tail\ne7,next,e8\ne6,far,e8\ne8,next,e9\n")
    grown = command("extend", run, news, "--out", tmp_path / "grown", "--json")
    assert grown.code == 0 and [each["key"] for each in json.loads(grown.out)["new_entities"]] == ["e8", "e9"]
    found = json.loads(
        command("predict", tmp_path / "grown", "--head", "e7", "--relation", "next", "--json", "-k", 2).out
    )
    assert "e8" in [each["key"] for each in found["questions"][0]["answers"]]
    assert json.loads((tmp_path / "grown" / "extension.json").read_text())["new_entities"] == 2
    assert command("extend", run, news, "--out", tmp_path / "refined", "--refine", 2).code == 0
    second = command("extend", run, news, "--out", tmp_path / "grown")
    assert second.code == 2 and "holds a run already" in second.err
    nothing = command("extend", tmp_path / "grown", news, "--out", tmp_path / "more")
    assert nothing.code == 2 and "nothing to add" in nothing.err and not (tmp_path / "more").exists()
    strange = written(tmp_path / "s.csv", "head,relation,tail\ne7,likes,e8\n")
    assert "unknown relation 'likes'" in command("extend", run, strange, "--out", tmp_path / "more").err


@pytest.mark.parametrize("suffix", ["parquet", "npz", "txt", "vec", "nt", "ttl"])
def test_export(command, run: Path, tmp_path: Path, suffix: str) -> None:
    target = tmp_path / f"x.{suffix}"
    assert command("export", run, "--to", target, "--top", 3).code == 0 and target.stat().st_size > 0
    assert command("export", run, "--to", target).code == 2
    assert command("export", run, "--to", target, "--overwrite", "--json").code == 0
    assert command("export", run, "--to", tmp_path / "x.pickle").code == 2


def test_triples_labelled_false_are_marked_and_never_new(command, tmp_path: Path) -> None:
    graph = line()
    false = [[5, 0, 7], [0, 1, 3]]
    labels = [1] * len(graph.valid) + [-1] * len(false)
    graph = replace(
        graph, valid=np.concatenate([graph.valid, false]).astype(np.int32), valid_labels=np.array(labels, np.int8)
    )
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    folder.write_start(graph, recipe_from({"model": "transe", "dim": 2}), source=None, engine="numba")
    folder.write_tensors("weights.safetensors", on_a_line(graph).tensors())
    asked = ("predict", folder.path, "--head", "e5", "--relation", "next", "-k", 20)
    found = json.loads(command(*asked, "--json").out)
    assert {each["key"]: each["note"] for each in found["questions"][0]["answers"]}[
        "e7"
    ] == "labelled false in the graph"
    (shown,) = [row for row in command(*asked).out.splitlines() if " e7 " in row]
    assert "false" in shown and "new" not in shown
    new = json.loads(command(*asked, "--new-only", "--json").out)["questions"][0]["answers"]
    assert "e7" not in {each["key"] for each in new}
    checked = command("check", folder.path, written(tmp_path / "claims.csv", "e5,next,e7\n"))
    assert "labelled false in the graph" in checked.err and "among labelled ones" in checked.err
    assert "labelled false in the graph" in command("explain", folder.path, "e5", "next", "e7").out

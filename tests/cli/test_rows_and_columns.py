"""Options for messy files: columns, confidence, literals, unknown names; and discoveries of many heads."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.inference.runs import kept, trained
from transa.data import KnowledgeGraph
from transa.data.writing import write_file
from transa.errors import InputError
from transa.inference import discover
from transa.inference.check import Checked

CLAIMS = "head,relation,tail\ne0,next,e1\nZoe,next,e1\ne0,next,e6\ne1,likes,e2\n"


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return kept(tmp_path_factory.mktemp("runs") / "run")


def written(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def key(fact: Checked) -> tuple[str, str, str]:
    return fact.head, fact.relation, fact.tail


def test_claims_with_unknown_names_are_skipped_on_request_and_listed(command, run: Path, tmp_path: Path) -> None:
    claims = written(tmp_path / "claims.csv", CLAIMS)
    refused = command("check", run, claims)
    assert refused.code == 2 and f"{claims}, line 3: unknown entity 'Zoe'" in refused.err
    assert "--skip-unknown leaves out such rows" in refused.err
    found = command("check", run, claims, "--skip-unknown", "--json")
    report = json.loads(found.out)
    assert [row["tail"] for row in report["triples"]] == ["e1", "e6"]
    assert [(each["row"], each["line"]) for each in report["skipped"]] == [(2, 3), (4, 5)]
    assert "unknown entity 'Zoe'" in report["skipped"][0]["reason"]
    assert "2 triples left out" in found.err and "line 5: unknown relation 'likes'" in found.err
    nothing = command(
        "check", run, written(tmp_path / "none.csv", "head,relation,tail\nZoe,next,e1\n"), "--skip-unknown"
    )
    assert nothing.code == 2 and "nothing is left" in nothing.err


def test_questions_with_unknown_names_are_skipped_on_request_and_listed(command, run: Path, tmp_path: Path) -> None:
    questions = written(tmp_path / "q.csv", "head,relation,tail\ne2,next,\nZoe,next,\nE3,next,\ne,next,\n")
    refused = command("predict", run, "--queries", questions)
    assert refused.code == 2 and "q.csv, line 3: unknown entity 'Zoe'" in refused.err
    found = command("predict", run, "--queries", questions, "-k", 1, "--skip-unknown", "--json")
    report = json.loads(found.out)
    assert [each["answers"][0]["key"] for each in report["questions"]] == ["e3", "e4"]
    assert [(each["row"], each["line"]) for each in report["skipped"]] == [
        (2, 3),
        (4, 5),
    ]  # a beginning is no name in a file
    assert "2 questions left out" in found.err
    assert command("predict", run, "--head", "e2", "--relation", "next", "--skip-unknown").code == 2


def test_columns_of_claims_and_news_can_be_chosen(command, run: Path, tmp_path: Path) -> None:
    claims = written(tmp_path / "claims.csv", "what,to,from_\nnext,e1,e0\n")
    found = json.loads(command("check", run, claims, "--columns", "from_,what,to", "--json").out)
    assert found["triples"][0]["head"] == "e0"
    news = written(tmp_path / "news.csv", "what,to,from_\nnext,e8,E7\n")
    grown = command(
        "extend", run, news, "--columns", "from_,what,to", "--out", tmp_path / "grown", "--steps", 0, "--json"
    )
    assert [row["key"] for row in json.loads(grown.out)["new_entities"]] == ["e8"]
    assert "'E7' for 'e7'" in grown.err and "'E7' for 'e7'" in json.loads(grown.out)["notes"][0]


NEWS = "head,relation,tail,score\n\ne7,next,e8,0.9\ne8,likes,e1,0.9\ne7,far,1999,0.9\ne6,far,e8,0.2\ne8,junk,e2,0.9\n"


def test_news_are_selected_as_graphs_are_and_named_by_line(command, run: Path, tmp_path: Path) -> None:
    news = written(tmp_path / "news.csv", NEWS)
    grow = ("extend", run, news, "--steps", 0, "--out", tmp_path / "grown")
    refused = command(*grow)
    assert refused.code == 2 and f"{news}, line 4: unknown relation 'likes'" in refused.err
    selected = ("--no-literals", "--minimum-confidence", "score=0.5", "--drop-relation", "junk", "--skip-unknown")
    found = command(*grow, *selected, "--json")
    report = json.loads(found.out)
    assert (report["triples"], [each["key"] for each in report["new_entities"]]) == (1, ["e8"])
    assert [each["line"] for each in report["skipped"]] == [4]
    assert "1 triple whose tail is a number" in found.err and "1 of 5 rows left out" in found.err
    assert "1 triple left out" in found.err and "line 4: unknown relation 'likes'" in found.err


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet", "nt"])
def test_a_wrong_claim_is_named_by_its_place_after_others_were_left_out(
    command, run: Path, tmp_path: Path, suffix: str
) -> None:
    rows = [("e0", "next", "1999"), ("e0", "next", "e1"), ("e0", "next", "Zoe")]
    graph = KnowledgeGraph.from_triples(rows)
    claims = write_file(graph, tmp_path / f"claims.{suffix}", ["train"])
    found = command("check", run, claims, "--no-literals")
    place = {"csv": "line 4", "jsonl": "line 3", "parquet": "row 3", "nt": "triple 3"}[suffix]
    assert found.code == 2 and f"{claims}, {place}: unknown entity 'Zoe'" in found.err


def test_new_entities_keep_their_labels(command, run: Path, tmp_path: Path) -> None:
    import transa

    news = written(
        tmp_path / "news.ttl",
        "@prefix : <urn:transa:> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        ':e7 :next :e8 . :e8 rdfs:label "Zoe"@en ; rdfs:comment "a new one" . :e0 rdfs:label "other" .\n',
    )
    found = command("extend", run, news, "--steps", 0, "--out", tmp_path / "grown")
    assert found.code == 0 and "Zoe (e8)" in found.out and "1 triple added" in found.out
    entities = transa.load_model(tmp_path / "grown").graph_.entities
    assert (entities.name(8), entities.descriptions[8].as_py(), entities.name(0)) == ("Zoe", "a new one", "e0")


def test_a_graph_is_read_without_what_is_to_be_left_out(command, tmp_path: Path) -> None:
    text = "drug,what,gene,score\na,binds,b,0.9\na,year,1999,0.9\nc,binds,d,0.2\na,junk,b,1\n"
    path = written(tmp_path / "x.csv", text)
    asked = ("--minimum-confidence", "score=0.5", "--no-literals", "--drop-relation", "junk", "--json")
    found = command("stats", path, *asked)
    report = json.loads(found.out)
    assert (report["entities"], report["relations"], report["triples"]["train"]) == (2, 1, 1)
    assert "1 of 4 rows left out" in found.err and "number or a date" in found.err and "1 triple of junk" in found.err
    wrong = command("stats", path, "--minimum-confidence", "0.5")
    assert wrong.code == 2 and "such as score=0.7" in wrong.err


def test_training_takes_the_seed_of_the_split(command, tmp_path: Path) -> None:
    import transa

    facts = "".join(f"e{i},r{i % 3},e{j}\n" for i in range(12) for j in range(12) if (i * j + i + j) % 3 == 0)
    path = written(tmp_path / "x.csv", "head,relation,tail\n" + facts)
    settings = ("--model", "transe", "--recipe", "paper", "--set", "dim=4", "--set", "epochs=1", "--engine", "torch")
    for seed in (0, 1):
        assert (
            command(
                "train",
                path,
                "--out",
                tmp_path / f"run{seed}",
                *settings,
                "--split",
                "0.8,0.1,0.1",
                "--split-seed",
                seed,
            ).code
            == 0
        )
    graphs = [transa.load_model(tmp_path / f"run{seed}").graph_ for seed in (0, 1)]
    assert graphs[1] == transa.load(path, split=(0.8, 0.1, 0.1), seed=1) and graphs[0] != graphs[1]


@pytest.mark.parametrize("number", [1, 2])
def test_discoveries_of_each_head_are_the_best_of_all(number: int, tmp_path: Path) -> None:
    one = trained()
    every = discover(one, top=1000, each=1000).checked
    seen: Counter[str] = Counter()
    expected = []
    for fact in every:  # by brute force: the best first, so many of each head
        seen[fact.head] += 1
        if seen[fact.head] <= number:
            expected.append(fact)
    parts = tmp_path / "parts"
    found = discover(one, top=5, each=1000, each_head=number, parts=parts)
    assert [key(fact) for fact in found.checked] == [key(fact) for fact in expected[:5]]
    again = discover(one, top=5, each=1000, each_head=number, parts=parts)  # from the finished parts
    assert [key(fact) for fact in again.checked] == [key(fact) for fact in found.checked]
    with pytest.raises(InputError, match="parts of another model or of other settings"):
        discover(one, top=5, each=1000, parts=parts)


def test_one_fact_of_each_head_on_the_command_line(command, run: Path) -> None:
    for errors in ([], ["--errors"]):
        found = json.loads(command("discover", run, "-k", 6, "--each-head", 1, "--json", *errors).out)["triples"]
        assert len(found) == len({row["head"] for row in found}) > 2

"""The API: the same JSON as the commands, searches, cards, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import client_of
from transa.server.limits import Limits

LINE = "/api/v1/runs/line"
UMLS = "/api/v1/runs/umls"
WEIRD = [
    "\x00",
    "\x1b[31m",
    "\u202eabc",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "%2e%2e",
    "a" * 999,
    "\ufeff",
    "'",
    '"',
    "🦠",
]


def asked(client: TestClient, run: str, *questions: dict[str, str], **options: object) -> dict:
    found = client.post(f"{run}/predict", json={"questions": questions, **options})
    assert found.status_code == 200, found.text
    return found.json()


def without_run(found: dict) -> dict:
    return {name: value for name, value in found.items() if name != "run"}


def test_answers_are_the_right_ones(client: TestClient) -> None:
    found = asked(client, LINE, {"head": "e2", "relation": "next"}, {"relation": "far", "tail": "e5"}, top=1)
    assert [each["answers"][0]["key"] for each in found["questions"]] == ["e3", "e3"]
    (relations,) = asked(client, LINE, {"head": "e2", "tail": "e4"})["questions"]
    assert relations["asked"] == "relation" and relations["answers"][0]["key"] == "far"


def test_reports_are_those_of_the_commands(client: TestClient, command, umls: Path, tmp_path: Path) -> None:
    def printed(*arguments: object) -> dict:
        return without_run(json.loads(command(*arguments, "--json").out))

    head, relation, _ = triple = ("virus", "causes", "disease_or_syndrome")
    assert without_run(asked(client, UMLS, {"head": head, "relation": relation}, top=5)) == printed(
        "predict", umls, "--head", head, "--relation", relation, "-k", 5
    )
    (tmp_path / "t.csv").write_text("head,relation,tail\n" + ",".join(triple) + "\n")
    named = dict(zip(("head", "relation", "tail"), triple, strict=True))
    found = client.post(f"{UMLS}/check", json={"triples": [named]}).json()
    assert without_run(found) == printed("check", umls, tmp_path / "t.csv")
    found = client.get(f"{UMLS}/explain", params=named).json()
    assert without_run(found) == printed("explain", umls, *triple)
    found = client.get(f"{UMLS}/neighbours", params={"entity": head, "top": 3}).json()
    assert without_run(found) == printed("neighbours", umls, head, "-k", 3)
    found = client.get(f"{UMLS}/metric", params={"relation": relation}).json()
    assert without_run(found) == printed("weights", umls, "--relation", relation, "--dimensions", 5)
    *progress, last = client.get(f"{UMLS}/discover", params={"top": 4}).text.splitlines()
    assert without_run(json.loads(last)) == printed("discover", umls, "-k", 4)
    told = [json.loads(each) for each in progress]
    assert told and told[-1]["searched"] == told[-1]["of"]
    found = client.get(f"{UMLS}/evaluation", params={"limit": 50}).json()
    ranks = printed("evaluate", umls, "--limit", 50, "--no-rules")
    assert without_run(found) == {name: value for name, value in ranks.items() if name != "seconds"}


def test_search_finds_beginnings_parts_and_close_spellings(client: TestClient) -> None:
    def keys(text: str, **more: object) -> list[str]:
        found = client.get(f"{UMLS}/entities", params={"search": text, **more}).json()
        return [each["key"] for each in found["items"]]

    assert keys("Viru") == ["virus"] and keys("vrius") == ["virus"] and keys("no such thing at all") == []
    assert keys("cell")[0] == "cell" and keys("cell")[1].startswith("cell_") and "body_part" not in keys("cell")
    first, second = (client.get(f"{UMLS}/entities", params={"limit": 5, "offset": at}).json() for at in (0, 5))
    assert first["total"] == 135 and not {each["key"] for each in first["items"]} & {
        each["key"] for each in second["items"]
    }
    assert [each["triples"] for each in first["items"]] == sorted(
        (each["triples"] for each in first["items"]), reverse=True
    )
    (causes,) = client.get(f"{UMLS}/relations", params={"search": "causes"}).json()["items"]
    assert causes["key"] == "causes"


def test_cards_hold_all_facts_of_all_splits(client: TestClient) -> None:
    import transa

    graph = transa.load("umls")
    virus = graph.entities.id("virus")
    rows = {tuple(row) for split in ("train", "valid", "test") for row in graph.triples(split).tolist()}
    found = client.get(f"{UMLS}/entity", params={"name": "virus", "limit": 500}).json()
    for side, place in (("out", 0), ("in", 2)):
        expected = {tuple(row) for row in rows if row[place] == virus}
        facts = found[side]["facts"]
        keys = {
            (graph.entities.id(f["head"]), graph.relations.id(f["relation"]), graph.entities.id(f["tail"]))
            for f in facts
        }
        assert keys == expected and found[side]["total"] == len(facts) == len(expected)
    assert client.get(f"{UMLS}/entity", params={"id": virus}).json()["key"] == "virus"
    card = client.get(f"{UMLS}/relation", params={"name": "causes"}).json()
    assert card["category"] == "N-N" and all(fact["relation"] == "causes" for fact in card["examples"])


def test_map_has_a_place_for_each_entity(client: TestClient) -> None:
    found = client.get(f"{UMLS}/map", params={"colour": "isa"}).json()
    assert len(found["x"]) == len(found["y"]) == len(found["type"]) == 135
    assert max(found["type"]) == len(found["types"]) - 1 and min(found["type"]) >= -1


def test_runs_and_figures(client: TestClient) -> None:
    found = client.get("/api/v1/runs").json()["runs"]
    assert [each["run"] for each in found] == ["umls", "line"] and found[0]["metric"] and not found[1]["metric"]
    figures = client.get(UMLS).json()
    assert [line["epoch"] for line in figures["curve"]] == [1, 2, 3] and figures["recipe"]["dim"] == 16
    assert client.get(LINE).json()["curve"] == []


def test_those_who_watch_see_states_and_figures(client: TestClient) -> None:
    assert client.get("/health").json() == {"status": "ok"}
    asked(client, LINE, {"head": "e2", "relation": "next"})
    assert client.get("/ready").json() == {"ready": True, "runs": {"umls": True, "line": True}}
    text = client.get("/metrics").text
    assert 'transa_requests_total{route="/health",status="200"}' in text and "transa_questions" in text


@pytest.mark.parametrize("name", WEIRD)
def test_strange_names_are_refused_or_come_back_as_text(client: TestClient, name: str) -> None:
    for path, values in (
        ("/entities", {"search": name}),
        ("/entity", {"name": name}),
        ("/relation", {"name": name}),
        ("/explain", {"head": name, "relation": "next", "tail": "e1"}),
        ("/neighbours", {"entity": name}),
        ("/map", {"colour": name}),
    ):
        found = client.get(LINE + path, params=values)
        assert found.status_code in (200, 400) and found.headers["content-type"] == "application/json"
        assert "Traceback" not in found.text and "\x1b" not in found.json().get("error", "")
    assert client.post(f"{LINE}/predict", json={"questions": [{"head": name, "relation": "next"}]}).status_code == 400
    for path in (f"/api/v1/runs/{quote(name[:50])}/entities", f"/{quote(name[:50])}"):
        assert client.get(path).status_code in (404, 405)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 422),
        (b"{", 422),
        (b"[" * 100_000, 400),
        (b'{"questions": [{"head": "\\ud800", "relation": "next"}]}', 422),
        (b'{"questions": [{"head": "e1", "relation": "next"}], "top": 1e400}', 422),
        (b'{"questions": [{"head": "e1", "relation": "next"}], "top": ' + b"9" * 5_000 + b"}", 422),
        (b'{"questions": [{"head": "e1"}]}', 422),
        (b'{"questions": [], "top": 1}', 422),
        (b'{"questions": [{"head": "e1", "relation": "next"}], "file": "/etc/passwd"}', 422),
        (b'{"questions": [{"head": "' + b"x" * 900_000 + b'", "relation": "next"}]}', 422),
        (b"x" * 1_000_001, 413),
    ],
)
def test_bad_bodies_are_refused(client: TestClient, body: bytes, status: int) -> None:
    found = client.post(f"{LINE}/predict", content=body, headers={"content-type": "application/json"})
    assert found.status_code in (status, 400 if status == 422 else status) and set(found.json()) == {"error"}
    assert len(found.content) < 1_000


def test_a_body_without_a_length_is_counted(client: TestClient) -> None:
    found = client.post(f"{LINE}/predict", content=(b"x" * 100_000 for _ in range(12)))
    assert found.status_code == 413


@pytest.mark.parametrize(
    ("path", "values"),
    [
        ("/predict", {"questions": [{"head": "e1", "relation": "next"}], "top": 1_001}),
        ("/predict", {"questions": [{"head": "e1", "relation": "next"}] * 1_001}),
        ("/predict", {"questions": [{"head": "e1", "relation": "next"}] * 100, "top": 1_000}),
        ("/check", {"triples": [{"head": "e1", "relation": "next", "tail": "e2"}] * 1_001}),
    ],
)
def test_what_is_too_much_is_refused(client: TestClient, path: str, values: dict) -> None:
    assert client.post(LINE + path, json=values).status_code == 422


def test_an_error_of_the_program_leaves_no_trace(line: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a secret")

    monkeypatch.setattr("transa.server.questions.explain", broken)
    with client_of(line) as client:
        found = client.get(f"{LINE}/explain", params={"head": "e1", "relation": "next", "tail": "e2"})
    assert found.status_code == 500 and "secret" not in found.text and "Zero" not in found.text


def test_work_that_takes_too_long_is_refused_with_a_time_to_ask_again(line: Path) -> None:
    with client_of(line, limits=Limits(seconds=0.0)) as client:
        found = client.get(f"{LINE}/explain", params={"head": "e1", "relation": "next", "tail": "e2"})
        assert found.status_code == 503 and int(found.headers["retry-after"]) > 0
        found = client.post(f"{LINE}/predict", json={"questions": [{"head": "e1", "relation": "next"}]})
        assert found.status_code == 503 and int(found.headers["retry-after"]) > 0


def test_what_cannot_wait_is_refused_with_a_time_to_ask_again(line: Path) -> None:
    with client_of(line, limits=Limits(waiting=0, searches=0)) as client:
        for path in ("/explain?head=e1&relation=next&tail=e2", "/entities", "/map", "/discover"):
            found = client.get(LINE + path)
            assert found.status_code == 429 and int(found.headers["retry-after"]) > 0
        found = client.post(f"{LINE}/predict", json={"questions": [{"head": "e1", "relation": "next"}]})
        assert found.status_code == 429

"""``transa serve`` as a process: its start, its end, and what it keeps."""

from __future__ import annotations

import json
import signal
import socket
import threading
import urllib.request
from pathlib import Path

import pytest

from tests.server.conftest import Served
from transa.server.serving import Address, listen

FACT = {"head": "virus", "relation": "causes", "tail": "organism"}


def get(url: str, body: object = None) -> dict:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"content-type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as answer:
        return json.load(answer)


@pytest.mark.slow
def test_a_signal_ends_it_after_what_it_has_begun(started: Served, umls: Path) -> None:
    process, url = started(umls)
    answers: list[dict] = []
    questions = {"questions": [FACT | {"tail": None}] * 200, "top": 100}
    asked = threading.Thread(target=lambda: answers.append(get(f"{url}/api/v1/runs/umls/predict", questions)))
    asked.start()
    while 'route="/api/v1/runs/{run}/predict"' not in metrics(url) and "transa_open_requests 2.0" not in metrics(url):
        pass
    process.send_signal(signal.SIGTERM)
    asked.join()
    assert process.wait(60) == 0 and len(answers[0]["questions"]) == 200
    with pytest.raises(OSError, match="refused"):
        get(f"{url}/health")


def metrics(url: str) -> str:
    with urllib.request.urlopen(f"{url}/metrics", timeout=120) as answer:
        return answer.read().decode()


@pytest.mark.slow
def test_a_verdict_that_was_confirmed_outlives_a_kill(started: Served, copied: Path) -> None:
    for times in (1, 2):
        process, url = started(copied)
        said = get(f"{url}/api/v1/runs/umls/verdicts", FACT | {"verdict": "accept", "note": f"time {times}"})
        assert said["verdict"] == "accept" and said["probability"] is not None
        process.kill()
        process.wait()
    _, url = started(copied)
    found = get(f"{url}/api/v1/runs/umls/verdicts")
    assert found["accepted"] == 1 and found["verdicts"][0]["note"] == "time 2"


def test_answers_are_sent_without_delay() -> None:
    with listen(Address("127.0.0.1", 0)) as listening:
        assert listening.proto == socket.IPPROTO_TCP  # by which asyncio decides on TCP_NODELAY


def test_what_cannot_be_served_ends_in_one_line(command, line: Path, tmp_path: Path) -> None:
    def refused(*arguments: object) -> str:
        found = command("serve", *arguments)
        assert found.code == 2 and found.err.startswith("error: ") and "Traceback" not in found.err
        return found.err

    assert "token" in refused(line, "--host", "0.0.0.0")
    assert "config.json" in refused(tmp_path)
    assert "twice" in refused(line, line)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "cannot listen" in refused(line, "--port", taken.getsockname()[1])
    assert "cannot listen" in refused(line, "--host", "no.such.host.invalid", "--token", "t")


def test_the_demo_never_deletes_verdicts(command, copied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    served: list[list[Path]] = []
    monkeypatch.setattr("transa.cli.train.start", lambda runs, _: served.append(runs))
    (copied / "verdicts.jsonl").write_text("")
    refused = command("demo", "--out", copied)
    assert refused.code == 2 and "verdicts" in refused.err
    assert command("demo", "--out", copied, "--serve").code == 0 and served == [[copied]]
    assert (copied / "weights.safetensors").exists()


def test_without_the_extra_it_says_what_to_install(command, line: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.delitem(sys.modules, "transa.server.serving", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    found = command("serve", line)
    assert found.code == 2 and "pip install 'transa[serve]'" in found.err

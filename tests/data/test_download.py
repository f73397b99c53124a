"""Downloads against a real server on this machine, well-behaved or not."""

from __future__ import annotations

import hashlib
import io
import random
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from transa import load
from transa.data import registry
from transa.data.download import ATTEMPTS, DownloadError, download
from transa.data.registry import DATASETS, RemoteFile, cache_folder, locate, whereabouts
from transa.errors import TransaError

CONTENT = random.Random(7).randbytes(300_000)
SUM = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Site:
    """What the server holds, how it misbehaves, and what it was asked."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=lambda: {"/file": CONTENT})
    redirects: dict[str, str] = field(default_factory=dict)
    ranges: bool = True
    tells_length: bool = True
    #: The next answers are these codes.
    failures: list[int] = field(default_factory=list)
    #: The next bodies break off after so many bytes.
    cuts: list[int] = field(default_factory=list)
    #: Path and Range header of each request.
    requests: list[tuple[str, str | None]] = field(default_factory=list)

    def url(self, path: str = "/file") -> str:
        return self.address + path


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        site: Site = self.server.site  # type: ignore[attr-defined]
        wanted = self.headers.get("Range")
        site.requests.append((self.path, wanted))
        if site.failures:
            self.answer(site.failures.pop(0), b"an excuse")
        elif self.path in site.redirects:
            self.answer(302, b"", Location=site.redirects[self.path])
        elif self.path not in site.files:
            self.answer(404, b"nothing here")
        elif wanted and site.ranges:
            content = site.files[self.path]
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])  # type: ignore[index]
            if start >= len(content):
                self.answer(416, b"")
            else:
                whole = f"bytes {start}-{len(content) - 1}/{len(content)}"
                self.answer(206, content[start:], **{"Content-Range": whole})
        else:
            self.answer(200, site.files[self.path])

    def answer(self, code: int, body: bytes, **headers: str) -> None:
        site: Site = self.server.site  # type: ignore[attr-defined]
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        if site.tells_length:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: site.cuts.pop(0)] if code < 300 and site.cuts else body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    monkeypatch.setenv("no_proxy", "*")
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.site = Site(f"http://127.0.0.1:{server.server_address[1]}")  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.site  # type: ignore[attr-defined]
        server.shutdown()
        thread.join()


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "cache" / "file"


@pytest.fixture
def dead_address(monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of a port on which nobody listens."""
    monkeypatch.setenv("no_proxy", "*")
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


fetch = partial(download, pause=0)


def part(target: Path) -> Path:
    return target.with_name(f"{target.name}.part")


def left_in_place(target: Path) -> set[str]:
    """The files beside the target that a reader of the folder could take for something."""
    return {entry.name for entry in target.parent.iterdir()} - {f"{target.name}.lock"}


# ---------------------------------------------------------------------- one file


def test_a_file_arrives_whole_with_its_folder(site: Site, target: Path) -> None:
    fetch(site.url(), target, SUM)
    assert target.read_bytes() == CONTENT
    assert left_in_place(target) == {"file"}


def test_progress_grows_to_the_whole_length(site: Site, target: Path) -> None:
    calls: list[tuple[int, int | None]] = []
    fetch(site.url(), target, SUM, lambda done, total: calls.append((done, total)))
    done = [call[0] for call in calls]
    assert len(calls) > 1
    assert done == sorted(set(done))
    assert calls[-1] == (len(CONTENT), len(CONTENT))
    assert {total for _, total in calls} == {len(CONTENT)}


def test_progress_without_a_known_length(site: Site, target: Path) -> None:
    site.tells_length = False
    calls: list[tuple[int, int | None]] = []
    fetch(site.url(), target, SUM, lambda done, total: calls.append((done, total)))
    assert calls[-1] == (len(CONTENT), None)
    assert target.read_bytes() == CONTENT


def test_a_broken_transfer_goes_on_where_it_broke_off(site: Site, target: Path) -> None:
    site.cuts = [100_000, 50_000]
    calls: list[tuple[int, int | None]] = []
    fetch(site.url(), target, SUM, lambda done, total: calls.append((done, total)))
    assert target.read_bytes() == CONTENT
    assert site.requests == [("/file", None), ("/file", "bytes=100000-"), ("/file", "bytes=150000-")]
    assert {total for _, total in calls} == {len(CONTENT)}


def test_a_later_call_goes_on_where_an_earlier_one_gave_up(site: Site, target: Path) -> None:
    site.cuts = [1_000] * ATTEMPTS
    with pytest.raises(DownloadError, match=rf"{ATTEMPTS} attempts.*broke off after 3,000 of 300,000 bytes"):
        fetch(site.url(), target, SUM)
    assert left_in_place(target) == {"file.part"}
    assert part(target).read_bytes() == CONTENT[: 1_000 * ATTEMPTS]
    fetch(site.url(), target, SUM)
    assert site.requests[-1] == ("/file", f"bytes={1_000 * ATTEMPTS}-")
    assert target.read_bytes() == CONTENT
    assert left_in_place(target) == {"file"}


def test_a_server_without_ranges_sends_it_all_again(site: Site, target: Path) -> None:
    site.ranges = False
    site.cuts = [100_000]
    calls: list[tuple[int, int | None]] = []
    fetch(site.url(), target, SUM, lambda done, total: calls.append((done, total)))
    assert target.read_bytes() == CONTENT
    assert calls[-1] == (len(CONTENT), len(CONTENT))


def test_a_part_that_is_complete_already_is_taken(site: Site, target: Path) -> None:
    target.parent.mkdir()
    part(target).write_bytes(CONTENT)
    fetch(site.url(), target, SUM)
    assert site.requests == [("/file", f"bytes={len(CONTENT)}-")]
    assert target.read_bytes() == CONTENT
    assert left_in_place(target) == {"file"}


@pytest.mark.parametrize("rubbish", [b"rubbish", b"rubbish" * 100_000], ids=["shorter", "longer"])
def test_a_part_of_something_else_is_found_out_and_not_used_twice(site: Site, target: Path, rubbish: bytes) -> None:
    target.parent.mkdir()
    part(target).write_bytes(rubbish)
    with pytest.raises(DownloadError, match="wrong checksum"):
        fetch(site.url(), target, SUM)
    assert left_in_place(target) == set()
    fetch(site.url(), target, SUM)
    assert target.read_bytes() == CONTENT


def test_a_wrong_checksum_is_an_error_that_names_both_sums(site: Site, target: Path) -> None:
    wanted = hashlib.sha256(b"something else").hexdigest()
    with pytest.raises(DownloadError) as caught:
        fetch(site.url(), target, wanted)
    assert wanted in str(caught.value)
    assert SUM in str(caught.value)
    assert left_in_place(target) == set()


def test_a_wrong_checksum_leaves_what_stood_there(site: Site, target: Path) -> None:
    target.parent.mkdir()
    target.write_bytes(b"of the user")
    with pytest.raises(DownloadError, match="wrong checksum"):
        fetch(site.url(), target, hashlib.sha256(b"something else").hexdigest())
    assert target.read_bytes() == b"of the user"


def test_an_outdated_target_is_replaced(site: Site, target: Path) -> None:
    target.parent.mkdir()
    target.write_bytes(b"outdated")
    fetch(site.url(), target, SUM)
    assert target.read_bytes() == CONTENT


def test_a_target_that_is_right_is_not_fetched_again(site: Site, target: Path) -> None:
    target.parent.mkdir()
    target.write_bytes(CONTENT)
    fetch(site.url(), target, SUM)
    assert site.requests == []


def test_a_redirect_is_followed_also_when_resuming(site: Site, target: Path) -> None:
    site.redirects = {"/old": "/file"}
    site.cuts = [100_000]
    fetch(site.url("/old"), target, SUM)
    assert target.read_bytes() == CONTENT
    assert site.requests[-2:] == [("/old", "bytes=100000-"), ("/file", "bytes=100000-")]


@pytest.mark.parametrize("code", [403, 404, 410, 416])
def test_a_refusal_is_an_error_at_once(site: Site, target: Path, code: int) -> None:
    site.failures = [code] * ATTEMPTS
    with pytest.raises(DownloadError, match=f"answered {code}"):
        fetch(site.url(), target, SUM)
    assert len(site.requests) == 1
    assert left_in_place(target) == set()


def test_a_server_that_recovers_is_asked_again(site: Site, target: Path) -> None:
    site.failures = [500, 503]
    fetch(site.url(), target, SUM)
    assert target.read_bytes() == CONTENT
    assert len(site.requests) == 3


def test_a_server_that_does_not_recover_is_given_up(site: Site, target: Path) -> None:
    site.failures = [500] * 10
    with pytest.raises(DownloadError, match="answered 500"):
        fetch(site.url(), target, SUM)
    assert len(site.requests) == ATTEMPTS


def test_a_dead_server_is_an_error_that_says_why(dead_address: str, target: Path) -> None:
    with pytest.raises(DownloadError, match=rf"{dead_address}/file: .*{ATTEMPTS} attempts.*[Rr]efused"):
        fetch(f"{dead_address}/file", target, SUM)
    assert left_in_place(target) == set()


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(site: Site, target: Path) -> None:
    target.parent.write_text("a file in its place")
    with pytest.raises(DownloadError, match=re.escape(str(target.parent))):
        fetch(site.url(), target, SUM)


# ---------------------------------------------------------------------- two at a time


def test_two_threads_that_want_the_same_file_fetch_it_once(site: Site, target: Path) -> None:
    together = threading.Barrier(2)
    errors: list[BaseException] = []

    def work() -> None:
        try:
            together.wait()
            fetch(site.url(), target, SUM)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert target.read_bytes() == CONTENT
    assert len(site.requests) == 1
    assert left_in_place(target) == {"file"}


def test_two_processes_that_want_the_same_file_fetch_it_once(site: Site, target: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from transa.data.download import download; "
        "download(sys.argv[1], Path(sys.argv[2]), sys.argv[3], pause=0)"
    )
    command = [sys.executable, "-c", code, site.url(), str(target), SUM]
    processes = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    messages = [process.communicate()[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], messages
    assert target.read_bytes() == CONTENT
    assert len(site.requests) == 1
    assert left_in_place(target) == {"file"}


# ---------------------------------------------------------------------- whole datasets

LINES = {
    "train.txt": b"ada\tknows\tbob\nbob\tknows\teve\n",
    "valid.txt": b"ada\tknows\teve\n",
    "test.txt": b"eve\tknows\tada\n",
}


def on_server(address: str) -> tuple[RemoteFile, ...]:
    return tuple(
        RemoteFile(name, f"{address}/{name}", hashlib.sha256(content).hexdigest()) for name, content in LINES.items()
    )


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and no other place where datasets are."""
    folder = tmp_path / "cache"
    monkeypatch.setattr(registry, "cache_folder", lambda: folder)
    monkeypatch.setattr(registry, "download", fetch)
    monkeypatch.delenv("TRANSA_DATA", raising=False)
    return folder


@pytest.fixture
def dataset(site: Site, cache: Path, monkeypatch: pytest.MonkeyPatch) -> Site:
    """WN18 as a small dataset of the local server."""
    site.files = {f"/{name}": content for name, content in LINES.items()}
    monkeypatch.setitem(DATASETS, "wn18", replace(DATASETS["wn18"], files=on_server(site.address)))
    return site


def test_a_dataset_is_downloaded_once(dataset: Site, cache: Path) -> None:
    assert whereabouts("wn18") is None
    assert locate("wn18") == cache / "wn18"
    assert {name: (cache / "wn18" / name).read_bytes() for name in LINES} == LINES
    assert [path for path, _ in dataset.requests] == ["/train.txt", "/valid.txt", "/test.txt"]
    dataset.failures = [500] * 10
    assert locate("wn18") == cache / "wn18"
    assert whereabouts("wn18") == cache / "wn18"
    assert len(dataset.requests) == 3


def test_progress_names_each_file_of_a_dataset(dataset: Site) -> None:
    calls: list[tuple[str, int, int | None]] = []
    locate("wn18", lambda file, done, total: calls.append((file, done, total)))
    assert calls == [(f"WN18/{name}", len(content), len(content)) for name, content in LINES.items()]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_load_shows_a_bar_for_each_file_on_a_terminal(dataset: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stderr", screen := Terminal())
    load("wn18")
    assert all(f"WN18/{name}" in screen.getvalue() for name in LINES)


def test_load_shows_nothing_elsewhere(
    dataset: Site, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    load("wn18")
    assert tuple(capfd.readouterr()) == ("", "")


def test_a_downloaded_dataset_loads_by_any_spelling(dataset: Site) -> None:
    graph = load("WN-18")
    assert list(graph.entities) == ["ada", "bob", "eve"]
    assert [len(graph.train), len(graph.valid), len(graph.test)] == [2, 1, 1]
    assert load("wn18") == graph
    assert len(dataset.requests) == 3


def test_a_dataset_cut_short_is_completed_and_not_fetched_from_the_start(dataset: Site, cache: Path) -> None:
    dataset.cuts = [1_000, 4, *[0] * (ATTEMPTS - 1)]
    with pytest.raises(TransaError, match=r"valid\.txt"):
        locate("wn18")
    assert whereabouts("wn18") is None
    dataset.requests.clear()
    assert locate("wn18") == cache / "wn18"
    assert dataset.requests == [("/valid.txt", "bytes=4-"), ("/test.txt", None)]
    assert {name: (cache / "wn18" / name).read_bytes() for name in LINES} == LINES


def test_without_a_network_the_error_says_what_to_put_where(
    dead_address: str, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DATASETS, "wn18", replace(DATASETS["wn18"], files=on_server(dead_address)))
    with pytest.raises(TransaError) as caught:
        load("wn18")
    message = str(caught.value)
    assert "train.txt, valid.txt, test.txt" in message
    assert str(cache / "wn18") in message
    assert "folder WN18" in message
    assert "TRANSA_DATA" in message


@pytest.mark.parametrize("place", ["cache", "TRANSA_DATA"])
def test_files_put_there_by_hand_need_no_network(
    place: str, cache: Path, dead_address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(DATASETS, "wn18", replace(DATASETS["wn18"], files=on_server(dead_address)))
    folder = cache / "wn18"
    if place == "TRANSA_DATA":
        folder = tmp_path / "mine" / "WN18"
        monkeypatch.setenv("TRANSA_DATA", str(folder.parent))
    folder.mkdir(parents=True)
    for name, content in LINES.items():
        (folder / name).write_bytes(content)
    assert locate("wn18") == folder
    assert len(load("wn18")) == 4


def test_a_dataset_missing_in_the_named_folder_is_downloaded_into_the_cache(
    dataset: Site, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mine" / "WN18RR").mkdir(parents=True)
    monkeypatch.setenv("TRANSA_DATA", str(tmp_path / "mine"))
    assert locate("wn18") == cache / "wn18"
    assert len(dataset.requests) == 3


def test_a_cache_that_cannot_be_made_is_an_error_that_names_it(dataset: Site, cache: Path) -> None:
    cache.write_text("a file in its place")
    with pytest.raises(TransaError, match=re.escape(str(cache))):
        locate("wn18")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="where Linux keeps caches")
def test_the_cache_is_where_the_user_keeps_caches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "transa" / "datasets"

"""Who may ask, and what browsers are told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from tests.server.conftest import client_of
from transa.errors import InputError
from transa.server.guard import is_loopback
from transa.server.runs import open_runs
from transa.server.serving import Address

TOKEN = "a token of some length"
PATHS = [
    "/",
    "/app.js",
    "/ready",
    "/metrics",
    "/api/v1/runs",
    "/api/v1/runs/line",
    "/api/v1/openapi.json",
    "/api/v1/runs/line/verdicts",
    "/nothing",
]


@pytest.fixture(scope="module")
def guarded(line: Path) -> Iterator[TestClient]:
    with client_of(line, token=TOKEN, local=False) as client:
        yield client


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "given", [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN} ", f"bearer  {TOKEN}x"]
)
def test_nobody_gets_anything_without_the_token(guarded: TestClient, path: str, given: str | None) -> None:
    found = guarded.get(path, headers={} if given is None else {"authorization": given})
    right = given is not None and given.removeprefix("Bearer ").strip() == TOKEN
    assert (found.status_code == 401) is not right


def test_health_needs_no_token_and_the_token_opens_everything_else(guarded: TestClient) -> None:
    assert guarded.get("/health").status_code == 200
    right = {"authorization": f"Bearer {TOKEN}"}
    assert guarded.get("/api/v1/runs", headers=right).status_code == 200
    assert guarded.post("/api/v1/runs/line/verdicts", json={}).status_code == 401


def test_a_browser_logs_in_by_a_form_and_keeps_a_cookie_that_is_not_the_token(line: Path) -> None:
    with client_of(line, token=TOKEN, local=False) as client:
        form = client.get("/", headers={"accept": "text/html"})
        assert form.status_code == 401 and 'action="/login"' in form.text
        assert client.post("/login", data={"token": "wrong"}).status_code == 401
        assert client.post("/login", content=b"token=" + b"x" * 20_000).status_code == 401
        entered = client.post("/login", data={"token": TOKEN}, follow_redirects=False)
        cookie = entered.headers["set-cookie"]
        assert (
            entered.status_code == 303 and TOKEN not in cookie and "HttpOnly" in cookie and "SameSite=Strict" in cookie
        )
        assert client.get("/api/v1/runs").status_code == 200
    with client_of(line, token="another token", local=False) as other:
        assert other.get("/api/v1/runs", headers={"cookie": cookie.split(";")[0]}).status_code == 401


def test_everything_forbids_foreign_scripts_and_frames(client: TestClient) -> None:
    for path in ("/", "/app.js", "/health", "/api/v1/runs", "/nothing"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff" and "frame-ancestors 'none'" in policy


def test_the_page_names_no_other_host() -> None:
    import transa.server

    page = Path(transa.server.__file__).parent / "page"
    for file in page.iterdir():
        text = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text and "https:" not in text and "//cdn" not in text
        assert "innerHTML" not in text and "insertAdjacentHTML" not in text and "eval(" not in text


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "192.0.2.1", "[::2]:8000"])
def test_a_local_server_answers_to_no_other_name(client: TestClient, host: str) -> None:
    assert client.get("/api/v1/runs", headers={"host": host}).status_code == 421


@pytest.mark.parametrize("host", ["localhost", "localhost:80", "127.0.0.1:8000", "[::1]:8000", "127.1.2.3"])
def test_a_local_server_answers_to_its_own_names(client: TestClient, host: str) -> None:
    assert client.get("/api/v1/runs", headers={"host": host}).status_code == 200


def test_no_other_origin_may_read_unless_it_was_allowed(client: TestClient, line: Path) -> None:
    origin = {"origin": "https://one.example"}
    assert "access-control-allow-origin" not in client.get("/api/v1/runs", headers=origin).headers
    with client_of(line, origins=["https://one.example"]) as open_client:
        assert (
            open_client.get("/api/v1/runs", headers=origin).headers["access-control-allow-origin"]
            == "https://one.example"
        )
        other = open_client.get("/api/v1/runs", headers={"origin": "https://two.example"})
        assert "access-control-allow-origin" not in other.headers


def test_a_form_of_another_site_cannot_judge(client: TestClient) -> None:
    body = '{"head": "e1", "relation": "next", "tail": "e2", "verdict": "accept"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        found = client.post("/api/v1/runs/line/verdicts", content=body, headers={"content-type": kind})
        assert found.status_code == 422


@pytest.mark.parametrize("name", ["..", ".", "../line", "line/..", "/etc", "../../etc/passwd", "config.json", "line\0"])
def test_no_parameter_reaches_a_file(client: TestClient, line: Path, name: str) -> None:
    coded = quote(name, safe="").replace(".", "%2e")  # as it is, the client itself would resolve it
    for path in (f"/api/v1/runs/{coded}/verdicts", f"/api/v1/runs/line/{coded}", f"/{coded}/config.json", f"/{coded}"):
        found = client.get(path)
        assert found.status_code in (200, 404) and str(line) not in found.text and "root:" not in found.text
        if found.status_code == 200:  # the page itself, for "/." and such
            assert found.headers["content-type"].startswith("text/html") and "app.js" in found.text


def test_a_link_in_the_page_or_the_run_leads_nowhere(line: Path, tmp_path: Path) -> None:
    import shutil

    run = tmp_path / "line"
    shutil.copytree(line, run)
    (tmp_path / "secret").write_text("secret")
    (run / "verdicts.jsonl").symlink_to(tmp_path / "secret")
    with client_of(run) as client:
        fact = {"head": "e1", "relation": "next", "tail": "e2", "verdict": "accept"}
        for found in (client.get("/api/v1/runs/line/verdicts"), client.post("/api/v1/runs/line/verdicts", json=fact)):
            assert found.status_code == 503 and str(tmp_path) not in found.text and "secret" not in found.text
    assert (tmp_path / "secret").read_text() == "secret"


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])
def test_an_address_that_others_reach_needs_a_token(host: str) -> None:
    with pytest.raises(InputError, match="token"):
        Address(host)
    assert Address(host, token="t").token == "t"


@pytest.mark.parametrize("token", ["", " ", "\n", "ü", "a\x00b"])
def test_a_token_is_printable(token: str) -> None:
    with pytest.raises(InputError, match="printable"):
        Address(token=token)


def test_loopback() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.9.9.9", "::1", "[::1]", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "", "localhost.evil", "10.0.0.1", "::", "1")))


def test_runs_are_called_by_their_folders_and_none_is_given_twice(line: Path, tmp_path: Path) -> None:
    import shutil

    other = Path(shutil.copytree(line, tmp_path / "line"))
    assert [run.name for run in open_runs([line, other])] == ["line", "line-2"]
    with pytest.raises(InputError, match="twice"):
        open_runs([line, line])
    odd = Path(shutil.copytree(line, tmp_path / "a b\n<c>"))
    assert [run.name for run in open_runs([odd])] == ["run"]

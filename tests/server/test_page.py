"""The page in a browser: from a search to an accepted fact and a file, through a killed server, by keyboard, on a phone.

These tests need Chromium (Debian: apt-get install chromium). Where it is not there they are skipped, unless TRANSA_BROWSER says
where it must be.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Route, expect, sync_playwright

import transa
from tests.server.conftest import Served
from transa.training import RunFolder, load_recipe

pytestmark = pytest.mark.slow
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
TIMEOUT = 120_000
VIEWS = ["", "/entity?name=virus", "/ask?head=virus&relation=causes", "/relation?name=causes", "/map", "/review"]
VIEWS.append("/explain?head=virus&relation=causes&tail=organism")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    path = os.environ.get("TRANSA_BROWSER") or shutil.which("chromium")
    if not path:
        pytest.skip("there is no Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that fails the test if a script fails or anything is loaded from another host."""
    page = browser.new_page(viewport={"width": 1280, "height": 900}, accept_downloads=True)
    page.set_default_timeout(TIMEOUT)
    expect.set_options(timeout=TIMEOUT)
    failed: list[str] = []
    foreign: list[str] = []
    page.on("pageerror", lambda error: failed.append(str(error)))
    page.on(
        "console",
        lambda said: failed.append(said.text) if said.type == "error" and "Failed to load" not in said.text else None,
    )
    page.on("request", lambda asked: foreign.append(asked.url) if "://127.0.0.1:" not in asked.url else None)
    yield page
    page.close()
    assert failed == [] and foreign == []


def shown(page: Page, address: str) -> None:
    """Open a view, and wait until it is there."""
    page.goto(address)
    expect(page.locator("body")).to_have_attribute("data-shown", f"#{address.partition('#')[2]}")


def test_from_a_search_to_a_file_through_a_killed_server(started: Served, copied: Path, page: Page) -> None:
    process, url = started(copied)
    shown(page, f"{url}/#/umls")
    page.keyboard.press("/")
    page.keyboard.type("vir")
    expect(page.get_by_role("option", name="virus")).to_be_visible()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="virus", level=1)).to_be_visible()
    expect(page.locator("svg .edge.predicted").first).to_be_attached()

    page.get_by_role("link", name="Ask about virus").click()
    page.get_by_role("combobox", name="relation").fill("caus")
    page.get_by_role("option", name="causes").first.click()
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("heading", name="(virus, causes, ?)")).to_be_visible()
    assert page.locator("tbody tr").count() == 10

    page.get_by_role("link", name="Why").first.click()
    expect(page.locator(".sentence")).to_contain_text("virus")
    expect(page.get_by_role("img", name="Parts of the score by dimension of the residual")).to_be_visible()

    page.get_by_role("link", name="Review", exact=True).click()
    expect(page.locator("tr[aria-current]")).to_be_visible()
    first = page.locator("tr[aria-current] a").inner_text()
    page.keyboard.press("a")
    expect(page.get_by_text("1 accepted, 0 rejected")).to_be_visible()

    process.kill()
    process.wait()
    _, url = started(copied)
    shown(page, f"{url}/#/umls/review")
    expect(page.get_by_text("1 accepted, 0 rejected")).to_be_visible()
    assert page.locator("tr[aria-current] a").inner_text() != first
    page.keyboard.press("j")
    page.keyboard.press("r")
    expect(page.get_by_text("1 accepted, 1 rejected")).to_be_visible()
    page.keyboard.press("u")
    expect(page.get_by_text("1 accepted, 0 rejected")).to_be_visible()
    with page.expect_download() as download:
        page.get_by_role("link", name="accepted (.csv)").click()
    (row,) = csv.DictReader(download.value.path().read_text().splitlines())
    assert row["verdict"] == "accept" and first.replace(" ", "_").startswith(row["head"])


def test_keys_faster_than_the_suggestions_take_what_was_typed(started: Served, umls: Path, page: Page) -> None:
    _, url = started(umls)
    shown(page, f"{url}/#/umls")
    held: list[Route] = []
    page.route(re.compile(r"/entities\?search=vir&"), lambda route: held.append(route))
    page.keyboard.press("/")
    page.keyboard.type("vi")
    expect(page.get_by_role("option", name="vitamin")).to_be_visible()
    with page.expect_request(re.compile(r"/entities\?search=vir&")):
        page.keyboard.type("r")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    held[0].continue_()
    expect(page.get_by_role("heading", name="virus", level=1)).to_be_visible()


def test_every_view_is_accessible_has_an_address_and_fits_a_phone(started: Served, umls: Path, page: Page) -> None:
    _, url = started(umls)
    for scheme, width in (("light", 1280), ("dark", 360)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})  # 360 is also 1280 at more than 300 %
        for view in VIEWS:
            shown(page, f"{url}/#/umls{view}")
            page.wait_for_load_state("networkidle")
            found = Axe().run(page).response["violations"]
            assert [each for each in found if each["impact"] in ("serious", "critical")] == [], view
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), view
    shown(page, f"{url}/#/umls/entity?name=no+such+thing")
    expect(page.get_by_role("alert")).to_contain_text("unknown entity")


def test_names_of_a_graph_are_never_markup(started: Served, tmp_path: Path, page: Page) -> None:
    evil = [
        "<img src=x onerror=alert(1)>",
        "</script><script>alert(2)</script>",
        "javascript:alert(3)",
        "\u202eabc",
        "a&amp;b\"'",
    ]
    rows = [(one, "<b>knows</b>", two) for one in evil for two in evil if one != two]
    graph = transa.KnowledgeGraph.from_triples(rows[4:], rows[:4])
    transa.TransE(dim=4, epochs=1, options=transa.Options(engine="torch")).trainer(
        graph, RunFolder(tmp_path / "evil")
    ).fit()
    _, url = started(tmp_path / "evil")
    alerts: list[str] = []
    page.on("dialog", lambda dialog: (alerts.append(dialog.message), dialog.dismiss()))
    for view in ("", "/map", "/review", "/review?kind=doubtful"):
        shown(page, f"{url}/#/evil{view}")
    for name in evil:
        shown(page, f"{url}/#/evil/entity?name={quote(name)}")
        expect(page.locator("h1")).to_have_text(name)
        page.wait_for_load_state("networkidle")
    assert alerts == [] and page.locator("main img").count() == 0


def test_a_map_of_100000_points_is_drawn_moved_and_opened_by_a_click(
    started: Served, tmp_path: Path, page: Page
) -> None:
    _, url = started(large_run(tmp_path / "large", 100_000))
    shown(page, f"{url}/#/large/map")
    canvas = page.locator("canvas")
    expect(canvas).to_have_attribute("data-frames", "1")
    before = canvas.screenshot()
    canvas.focus()
    page.keyboard.press("+")
    expect(canvas).to_have_attribute("data-frames", "2")
    assert canvas.screenshot() != before
    canvas.click()  # points are so many that one is near
    expect(page.locator("h1")).to_have_text(re.compile(r"\d+"))


def large_run(path: Path, size: int) -> Path:
    """A run with many entities, random vectors and hardly any facts."""
    graph = transa.KnowledgeGraph.from_ids([(i, 0, i + 1) for i in range(100)], entities=size)
    recipe = load_recipe("transe", "paper", None, {"dim": 4})
    folder = RunFolder(path)
    path.mkdir()
    folder.write_start(graph, recipe)
    folder.write_tensors("weights.safetensors", recipe.build_model(size, 1).initialise(0).tensors())
    return path


def test_a_token_is_asked_for_and_lets_in(started: Served, umls: Path, browser: Browser) -> None:
    _, url = started(umls, "--token", "a token")
    page = browser.new_context().new_page()
    page.set_default_timeout(TIMEOUT)
    assert page.goto(url).status == 401
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Enter").click()
    page.get_by_label("Token").fill("a token")
    page.get_by_role("button", name="Enter").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("TransA")
    page.context.close()

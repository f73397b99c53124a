"""What is installed: lower bounds that are tested, and one version of torch everywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent


def pins(name: str) -> dict[str, str]:
    lines = (ROOT / name).read_text().splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def release(version: str) -> tuple[int, ...]:
    found = [int(part) for part in version.split(".")]
    while found[-1] == 0:
        found.pop()
    return tuple(found)


def test_the_lowest_versions_that_are_tested_are_the_bounds() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    required = [*project["dependencies"], *project["optional-dependencies"]["plot"]]
    bounds = dict(re.fullmatch(r"([\w-]+)>=([\d.]+)(?:,<[\d.]+)?", each).groups() for each in required)  # type: ignore[union-attr]
    tested = pins("constraints-lowest.txt")
    assert bounds.keys() <= tested.keys()
    differing = {name for name, version in bounds.items() if release(tested[name]) != release(version)}
    assert differing == {"torch"}  # whose other versions come with gigabytes of GPU packages
    assert tested["torch"] == pins("constraints.txt")["torch"]

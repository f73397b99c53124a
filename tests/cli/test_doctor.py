"""`transa doctor`."""

from __future__ import annotations

import json
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest


def test_doctor_names_what_is_installed_and_how_fast_it_is(command: Any) -> None:
    found = json.loads(command("doctor", "--json").out)
    assert found["required"]["numpy"] == version("numpy")
    assert found["extras"]["plot"] == {"matplotlib": version("matplotlib")}
    assert "test" not in found["extras"]
    assert found["data"]["datasets"]["umls"] is True
    assert found["speed"]["triples_per_second"] > 0 and found["speed"]["ranks_per_second"] > 0
    assert found["kernels"]["folder"]


def test_doctor_says_what_is_missing(command: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def without(*names: str) -> Any:
        def look(package: str) -> str:
            if package in names:
                raise PackageNotFoundError
            return version(package)

        return look

    monkeypatch.setattr("transa.doctor.version", without("matplotlib"))
    extra = command("doctor", "--no-speed")
    assert extra.code == 0
    assert "pip install 'transa[plot]'" in extra.out
    assert "Speed" not in extra.out
    monkeypatch.setattr("transa.doctor.version", without("numba"))
    broken = command("doctor")
    assert broken.code == 1
    assert "numba is missing" in broken.err

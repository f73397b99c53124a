"""Every call of the OpenAPI document gets what it allows and what it forbids; nothing may answer in a way it does not document.

The long form is `python reliability/api.py`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from reliability.api import count_cases

CASES = 4


@pytest.mark.slow
def test_calls_answer_as_documented(line: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(line, tmp_path / "line"))
    counts = count_cases([run], cases=CASES, seed=0)
    assert len(counts) >= 20 and min(counts.values()) >= 1

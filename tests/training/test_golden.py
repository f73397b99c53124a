"""Run folders that earlier versions wrote, kept in tests/golden: they load, rank as they did, go on, or fail with advice."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.training.helpers import same_bits
from transa import InputError, __version__, load, load_model
from transa.evaluation import evaluate
from transa.training import RunFolder, Trainer

GOLDEN = Path(__file__).parents[1] / "golden"
#: Filtered ranks of the heads and tails of the test triples, as they were found when the folder was written.
RANKS = {
    "format1_transa": [[5, 2], [13, 9], [7, 10], [5, 5], [9, 9], [6, 6], [1, 1], [2, 11]],
    "format1_transr": [[1, 1], [10, 5], [2, 3], [5, 10], [6, 13], [3, 4], [10, 9], [4, 7]],
}
MRR = {"format1_transa": 0.2923347, "format1_transr": 0.3040140}


@pytest.mark.slow
@pytest.mark.parametrize("name", RANKS)
def test_a_golden_run_ranks_as_it_did(command: Callable[..., Any], tmp_path: Path, name: str) -> None:
    run = RunFolder(
        shutil.copytree(GOLDEN / name, tmp_path / name)
    )  # commands may add to a run, never to the golden one
    assert run.graph() == load(GOLDEN / "family")
    assert evaluate(run.model(), run.graph()).ranks().tolist() == RANKS[name]
    result = command("evaluate", run.path, "--json")
    assert json.loads(result.out)["both"]["filtered"]["mrr"] == pytest.approx(MRR[name], abs=1e-6)
    assert same_bits(load_model(run.path).model_.tensors(), run.read_tensors("weights.safetensors")[0])


@pytest.mark.slow
def test_a_golden_run_goes_on(tmp_path: Path) -> None:
    folder = RunFolder(shutil.copytree(GOLDEN / "format1_unfinished", tmp_path / "run"))
    losses = []
    trainer = Trainer(folder.graph(), folder.recipe(), folder=folder)
    trainer.fit(lambda progress: losses.append(progress.loss), resume=True)
    assert losses == pytest.approx([1.2260415, 1.2256547, 1.2350646], rel=1e-4)


@pytest.mark.parametrize("name", [*RANKS, "format1_unfinished"])
def test_a_run_states_its_format_and_version(name: str) -> None:
    config = RunFolder(GOLDEN / name).config()
    assert (config["format"], config["transa"]) == (1, "0.1.0")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": 99, "transa": "9.0"}, r"format 99 by transa 9\.0; .*install the version that wrote it, or a later"),
        ({"format": 0, "transa": "0.0.1"}, r"format 0 by transa 0\.0\.1; .*with the version that wrote it, or train"),
        ({"format": "one"}, "states no format"),
        ({"recipe": {"dimension": 4}}, rf"config\.json: unknown setting 'dimension'.*this is transa {__version__}"),
    ],
)
def test_another_format_is_an_error_with_advice(
    command: Callable[..., Any], tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    run = shutil.copytree(GOLDEN / "format1_transa", tmp_path / "run")
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps(config | change))
    with pytest.raises(InputError, match=message):
        load_model(run)
    assert command("evaluate", run).code == 2
    assert command("train", GOLDEN / "family", "--out", run, "--resume").code == 2

"""Run folders made to do harm: what they hold is looked at before it is used, and nothing outside them is touched."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from reliability.mutation import with_header
from tests.conftest import Result
from tests.inference.runs import kept
from transa.cli.train import read_setting
from transa.data.loading import read_folder
from transa.errors import InputError
from transa.inference import Trained
from transa.training import RunFolder, recipe_from
from transa.training.recipe_files import read_recipe
from transa.training.state import plain, put_in_place


def refused(run: Path, match: str) -> None:
    with pytest.raises(InputError, match=match) as caught:
        Trained.open(run)
    assert str(run) in str(caught.value)
    assert len(str(caught.value)) < 1000


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return kept(tmp_path / "run")


def configure(run: Path, **values: Any) -> None:
    config = json.loads((run / "config.json").read_text())
    (run / "config.json").write_text(json.dumps(config | values))


# ---------------------------------------------------------------------- links, pipes and paths


@pytest.mark.parametrize("name", ["config.json", "weights.safetensors", "graph", "graph/train.parquet"])
def test_a_link_that_leads_out_of_the_run_is_not_followed(tmp_path: Path, run: Path, name: str) -> None:
    outside = tmp_path / "outside"
    (run / name).rename(outside)
    (run / name).symlink_to(outside)
    refused(run, "is a link that leads out of the run folder")


def test_a_link_inside_the_run_is_followed_and_a_run_may_be_a_link_itself(tmp_path: Path, run: Path) -> None:
    (run / "weights.safetensors").rename(run / "final.safetensors")
    (run / "weights.safetensors").symlink_to("final.safetensors")
    (tmp_path / "latest").symlink_to(run)
    assert Trained.open(tmp_path / "latest").model.num_entities == 8


@pytest.mark.parametrize("name", ["calibration.json", "log.jsonl", ".lock", "graph", "best.safetensors"])
def test_nothing_is_written_through_a_link(tmp_path: Path, run: Path, name: str) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    folder = RunFolder(run)
    if name == "graph":
        (run / name).rename(run / "former")
    (run / name).symlink_to(victim)
    trained_graph = read_folder(run / ("former" if name == "graph" else "graph"))
    writes: dict[str, Callable[[], object]] = {
        "calibration.json": lambda: folder.write_json(name, {}),
        "log.jsonl": lambda: folder.log({}),
        ".lock": lambda: folder.open(resume=True),
        "graph": lambda: folder.write_start(trained_graph, recipe_from({})),
        "best.safetensors": lambda: folder.write_tensors(name, {}),
    }
    with pytest.raises(InputError, match="leads out of the run folder"):
        writes[name]()
    assert victim.read_text() == "mine"


def test_predicting_does_not_write_a_calibration_through_a_link(tmp_path: Path, run: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (run / "calibration.json").symlink_to(victim)
    assert Trained.open(run).confidence is not None
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", ["config.json", "weights.safetensors", "graph/entities.parquet"])
def test_a_pipe_in_a_run_is_not_waited_for(run: Path, name: str) -> None:
    (run / name).unlink()
    os.mkfifo(run / name)
    refused(run, "is a pipe")


def test_a_configuration_cannot_name_files(tmp_path: Path, run: Path) -> None:
    (tmp_path / "other.tsv").write_text("not\tthis\tgraph\n")
    configure(run, source=str(tmp_path / "other.tsv"))
    assert "not" not in Trained.open(run).graph.entities
    config = json.loads((run / "config.json").read_text())
    configure(run, recipe=config["recipe"] | {"model": "../../evil"})
    refused(run, "unknown model")
    configure(run, recipe=config["recipe"] | {"weights": "/etc/passwd"})
    refused(run, "unknown setting 'weights'")


# ---------------------------------------------------------------------- JSON and TOML


@pytest.mark.parametrize(
    "text", ["[" * 1_000_000, '{"a":' * 500_000, "9" * 5000, '{"format": NaN}', '{"format": 1e999}', "\ufeff{}"]
)
def test_json_without_end_or_sense(run: Path, text: str) -> None:
    (run / "config.json").write_text(text)
    refused(run, "not readable|expected a JSON object")


def test_a_configuration_that_is_too_large(run: Path) -> None:
    with (run / "config.json").open("wb") as file:
        file.truncate(1 << 33)  # a hole: no disk is used
    refused(run, "larger than")


@pytest.mark.parametrize("value", [10**400, -1, 1e300, "x", None, [], {}, "8" * 5000])
def test_sizes_that_lie(run: Path, value: Any) -> None:
    configure(run, graph={"entities": value, "relations": 2})
    refused(run, "expected the numbers of entities|expected entity.vector of shape")


@pytest.mark.parametrize("value", [10**400, -1, 0, 1e300, None, [], {}, "x" * 100_000, [[[[]]]], 2**31])
def test_dimensions_that_lie(run: Path, value: Any) -> None:
    config = json.loads((run / "config.json").read_text())
    configure(run, recipe=config["recipe"] | {"dim": value})
    refused(run, "dim: ")


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, "dim = " + "9" * 5000, "dim = 0x" + "f" * 5000, "\xff\0"])
def test_recipes_without_end_or_sense(tmp_path: Path, text: str) -> None:
    (tmp_path / "r.toml").write_text(text, "latin-1")
    with pytest.raises(InputError, match=r"r\.toml|dim: ") as caught:
        recipe_from(read_recipe(tmp_path / "r.toml"))
    assert len(str(caught.value)) < 1000
    with pytest.raises(InputError):
        recipe_from(dict([read_setting("dim=" + text.rpartition("= ")[2])]))


# ---------------------------------------------------------------------- weights


def header_of(run: Path) -> tuple[dict[str, Any], bytes]:
    content = (run / "weights.safetensors").read_bytes()
    length = int.from_bytes(content[:8], "little")
    return json.loads(content[8 : 8 + length]), content[8 + length :]


@pytest.mark.parametrize("length", [0, 1, 7, 2**20, 2**31, 2**63, 2**64 - 1])
def test_a_header_that_lies_about_its_length(run: Path, length: int) -> None:
    header, rest = header_of(run)
    (run / "weights.safetensors").write_bytes(with_header(json.dumps(header).encode(), rest, length))
    refused(run, "damaged or not readable")


LIES: dict[str, dict[str, Any]] = {
    "a shape that is larger than the file": {"shape": [2**40, 2]},
    "a shape whose size overflows": {"shape": [2**40, 2**40]},
    "a shape of another size": {"shape": [2, 8]},
    "a negative shape": {"shape": [-8, 2]},
    "a type that is none": {"dtype": "F13"},
    "a type of another size": {"dtype": "F64"},
    "offsets beyond the end": {"data_offsets": [0, 2**40]},
    "offsets that go back": {"data_offsets": [64, 0]},
    "offsets that overlap": {"data_offsets": [8, 72]},
    "whole numbers": {"dtype": "I32"},
}


@pytest.mark.parametrize("lie", LIES)
def test_a_header_that_lies(run: Path, lie: str) -> None:
    header, rest = header_of(run)
    header["entity.vector"] |= LIES[lie]
    (run / "weights.safetensors").write_bytes(with_header(json.dumps(header).encode(), rest))
    refused(run, "damaged or not readable|expected entity.vector")


def test_weights_that_are_cut_short(run: Path) -> None:
    whole = (run / "weights.safetensors").read_bytes()
    for place in range(0, len(whole), 13):
        (run / "weights.safetensors").write_bytes(whole[:place])
        refused(run, "damaged or not readable")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_weights_that_are_no_numbers(run: Path, value: float) -> None:
    tables = load_file(run / "weights.safetensors")
    tables["relation.vector"][1, 0] = value
    save_file(tables, run / "weights.safetensors")
    refused(run, "relation.vector holds NaN or infinity")


@pytest.mark.parametrize("kind", [torch.int64, torch.float16, torch.bfloat16, torch.bool, torch.float8_e5m2])
def test_weights_of_another_type(run: Path, kind: torch.dtype) -> None:
    tables = load_file(run / "weights.safetensors")
    save_file({name: table.to(kind) for name, table in tables.items()}, run / "weights.safetensors")
    refused(run, "expected entity.vector in float32 or float64|damaged or not readable")


def test_tables_of_two_precisions_do_not_mix(run: Path) -> None:
    tables = load_file(run / "weights.safetensors")
    tables["relation.vector"] = tables["relation.vector"].double()
    save_file(tables, run / "weights.safetensors")
    refused(run, "expected relation.vector in float32 or float64, as all tables")


# ---------------------------------------------------------------------- calibration and state


@pytest.mark.parametrize("value", [10**400, "9" * 400, "nan", None, [], "x", {"0": None}, {"0": 10**400}, {"x": 1.0}])
def test_a_calibration_that_is_none_is_made_anew(run: Path, value: Any) -> None:
    whole = Trained.open(run).confidence
    assert whole is not None
    for name in ("thresholds", "global_threshold", "calibrator"):
        kept_one = json.loads((run / "calibration.json").read_text())
        (run / "calibration.json").write_text(json.dumps(kept_one | {name: value}))
        found = Trained.open(run).confidence
        assert found is not None
        assert found.to_dict() == whole.to_dict()


def test_a_state_is_taken_up_only_where_it_fits() -> None:
    table = {"a": torch.zeros(2, 3)}
    put_in_place(table, {"x.a": torch.ones(2, 3)}, "x.")
    assert bool((table["a"] == 1).all())
    for wrong in ({}, {"a": torch.ones(3, 2)}, {"a": torch.ones(2, 3).double()}, {"a": torch.full((2, 3), torch.nan)}):
        with pytest.raises(InputError, match="a"):
            put_in_place(table, wrong)
    assert plain(None) is None
    assert plain({"a": 1, "b": "x", "c": None}) == {"a": 1, "b": "x", "c": None}
    for odd in ([], "x", {"a": []}, {"a": float("nan")}):
        with pytest.raises(ValueError, match=r"another kind|not a number"):
            plain(odd)


# ---------------------------------------------------------------------- the command line


@pytest.mark.parametrize("arguments", [("predict", "--head", "e0", "--relation", "next"), ("evaluate",), ("classify",)])
def test_commands_end_in_one_line_and_code_2(
    command: Callable[..., Result], run: Path, arguments: tuple[str, ...]
) -> None:
    (run / "config.json").write_text("[" * 100_000)
    result = command(arguments[0], run, *arguments[1:])
    assert result.code == 2
    assert result.err.startswith("error: ")
    assert "Traceback" not in result.err
    assert len(result.err.strip().splitlines()) == 1

"""A model with a compiled score, neither of them part of the package: what stands in this file is enough."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numba
import pytest
from torch import Tensor

import transa
from tests.training.helpers import largest_difference, same_bits, settings, train
from transa.kernels import scores
from transa.kernels.scores import RowScore, add_gradients, inlined
from transa.models import MODELS, Kernel, Rows, register
from transa.models.residual_model import ResidualModel
from transa.training.engine import choose_engine
from transa.training.row_engine import RowEngine
from transa.training.trainer import start_model

UMLS = transa.load("umls")


@inlined
def cubed(vectors, head, relation, tail, extra, row):
    total = vectors.dtype.type(0)
    for i in range(vectors.shape[1]):
        total += abs(vectors[head, i] + vectors[relation, i] - vectors[tail, i]) ** 3
    return total


@inlined
def cubed_gradient(vectors, head, relation, tail, extra, row, value, factor, gradients, places, extra_gradients, b):
    for i in range(vectors.shape[1]):
        e = vectors[head, i] + vectors[relation, i] - vectors[tail, i]
        g = 3 * factor * e * abs(e)
        add_gradients(gradients, places, i, g, g, -g)


class Cubed(ResidualModel):
    """``f_r(h, t) = sum |h + r - t|^3``"""

    name, label, formula, size, cost = "cubed", "Cubed", "sum |h + r - t|^3", "n k + m k", "2 k"

    def parts(self, residual: Tensor, relation: Rows) -> Tensor:
        return residual.abs() ** 3

    def kernel(self) -> Kernel:
        return Kernel("cubed")


@pytest.fixture(autouse=True, scope="module")
def registered() -> Iterator[None]:
    register(Cubed)
    scores.register(RowScore("cubed", cubed, cubed_gradient))
    yield
    del MODELS["cubed"], scores._SCORES["cubed"]


@pytest.mark.parametrize(
    "how",
    [
        {"loss": "margin", "negatives": 2},
        {"loss": "self_adversarial", "negatives": 4, "optimizer": "adam", "entity_norm": "ball"},
    ],
)
def test_both_engines_give_the_same_parameters(how: dict[str, object]) -> None:
    recipe = settings(model="cubed", init_range=0.5, **how)
    assert isinstance(choose_engine(start_model(UMLS, recipe), UMLS, recipe), RowEngine)
    ours, our_reports = train(UMLS, recipe, "numba")
    theirs, their_reports = train(UMLS, recipe, "torch")
    assert largest_difference(ours, theirs) < 1e-5
    assert [one.loss for one in our_reports] == pytest.approx([one.loss for one in their_reports])
    assert largest_difference(ours, start_model(UMLS, recipe)) > 1e-4  # it did train


def test_the_same_bits_for_one_and_two_threads() -> None:
    recipe = settings(model="cubed", init_range=0.5, precision="float32", negatives=3)
    before, results = numba.get_num_threads(), []
    try:
        for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(threads)
            results.append(train(UMLS, recipe, "numba")[0].tensors())
    finally:
        numba.set_num_threads(before)
    assert same_bits(*results)


def test_the_estimator_is_there_and_its_run_opens(tmp_path: Path) -> None:
    model = transa.Cubed(8, epochs=20, learning_rate=0.05, optimizer="adagrad", init_range=0.5)  # type: ignore[attr-defined]
    model.fit(UMLS)
    again = transa.load_model(model.save(tmp_path / "run"))
    assert again.evaluate(limit=50).summary() == model.evaluate(limit=50).summary()
    assert [one.name for one in again.predict(head="virus", relation="causes", top=3)]

"""Both engines do the same, for every model, loss, constraint and optimiser."""

from __future__ import annotations

import numba
import pytest

import transa
from tests.training.helpers import largest_difference, same_bits, settings, train
from transa.data import KnowledgeGraph
from transa.errors import InputError
from transa.training.engine import choose_engine
from transa.training.trainer import start_model

pytestmark = pytest.mark.slow  # every kernel is compiled

UMLS = transa.load("umls")
#: Some of its triples, in as many batches: enough for both engines to part ways.
SOME = KnowledgeGraph.from_ids(UMLS.train[::8], entities=UMLS.entities, relations=UMLS.relations)

MODELS = {
    "transe-l1": {"model": "transe", "norm": 1},
    "transe-l2": {"model": "transe", "norm": 2},
    "transe-squared": {"model": "transe", "norm": 2, "squared": True},
    "um": {"model": "um"},
    "transm": {"model": "transm"},
    "transh-l1": {"model": "transh", "norm": 1},
    "transh-l2": {"model": "transh", "norm": 2, "root": True, "soft_penalty": 0.0},
    "transh-squared": {"model": "transh", "norm": 2, "table_learning_rate": 0.001, "table_penalty": 0.01},
    "transr": {"model": "transr", "norm": 1, "relation_dim": 5, "table_learning_rate": 0.001},
    "transr-squared": {
        "model": "transr",
        "norm": 2,
        "relation_dim": 5,
        "init_range": 0.5,
        "soft_penalty": 0.1,
        "table_penalty": 0.01,
    },
    "se": {"model": "se"},
    "se-l2": {"model": "se", "norm": 2},
    "slm": {"model": "slm"},
    "ntn": {"model": "ntn", "hidden": 3},
    "rescal": {"model": "rescal"},
    "transa-diagonal": {"model": "transa", "metric": "diagonal", "metric_update": "gradient"},
    "transa-signed": {"model": "transa", "metric": "signed", "metric_update": "gradient"},
    "transa-lowrank": {"model": "transa", "metric": "lowrank", "rank": 3, "metric_update": "gradient"},
    "transa-rank-one-root": {"model": "transa", "metric": "lowrank", "root": True, "metric_update": "gradient"},
    "transa-signed-lowrank": {
        "model": "transa",
        "metric": "signed_lowrank",
        "rank": 2,
        "metric_update": "gradient",
        "metric_learning_rate": 0.0001,
    },
    "transa-full": {"model": "transa", "metric": "full"},
    "transa-full-root": {"model": "transa", "metric": "full", "root": True},
    "adaptive_metric": {"model": "adaptive_metric"},
    "adaptive_metric-lowrank": {
        "model": "adaptive_metric",
        "metric": "lowrank",
        "rank": 2,
        "root": True,
        "metric_update": "gradient",
    },
    "adaptive_metric-signed-lowrank": {
        "model": "adaptive_metric",
        "metric": "signed_lowrank",
        "metric_update": "gradient",
    },
}
OBJECTIVES = {
    "margin": {"loss": "margin"},
    "logistic": {"loss": "logistic", "negatives": 3, "margin": 2.0},
    "self_adversarial": {"loss": "self_adversarial", "negatives": 4, "temperature": 0.5},
    "softmax": {"loss": "softmax", "negatives": 4},
    "negligible": {"loss": "self_adversarial", "negatives": 6, "temperature": 2.0, "negligible": 0.2},
}
STEPS = {
    "adagrad_row": {"optimizer": "adagrad_row", "negatives": 2, "schedule": "linear"},
    "adagrad, unit and ball": {"optimizer": "adagrad", "entity_norm": "unit", "relation_norm": "ball", "penalty": 0.01},
    "adam, ball": {"optimizer": "adam", "entity_norm": "ball", "schedule": "cosine", "loss": "logistic"},
    "sgd, penalty on all rows": {"penalty": 0.01, "penalty_rows": "all", "metric_penalty": 0.1, "sampling": "uniform"},
}


@pytest.mark.parametrize("how", [*OBJECTIVES, *STEPS])
@pytest.mark.parametrize("model", MODELS)
def test_both_engines_give_the_same_parameters(model: str, how: str) -> None:
    recipe = settings(**MODELS[model], **(OBJECTIVES | STEPS)[how], batch_size=64)
    ours, our_reports = train(SOME, recipe, "numba")
    theirs, their_reports = train(SOME, recipe, "torch")
    assert largest_difference(ours, theirs) < 1e-5
    for one, other in zip(our_reports, their_reports, strict=True):
        assert one.loss == pytest.approx(other.loss, rel=1e-6)
        assert one.violations == pytest.approx(other.violations, abs=1e-4)
    assert largest_difference(ours, start_model(SOME, recipe)) > 1e-4  # it did train


@pytest.mark.parametrize("model", ["transe-l1", "transa-rank-one-root", "transa-full"])
def test_single_precision_stays_close_to_double(model: str) -> None:
    single, _ = train(UMLS, settings(**MODELS[model], precision="float32"), "numba", epochs=1)
    double, _ = train(UMLS, settings(**MODELS[model]), "numba", epochs=1)
    assert largest_difference(single, double) < 1e-4


@pytest.mark.parametrize(
    "model",
    ["transe-l1", "transe-l2", "transh-squared", "transr", "ntn", "transa-lowrank", "transa-full", "adaptive_metric"],
)
@pytest.mark.parametrize("how", ["margin", "self_adversarial", "adam, ball"])
def test_the_same_bits_for_one_and_two_threads(model: str, how: str) -> None:
    recipe = settings(**MODELS[model], **(OBJECTIVES | STEPS)[how], precision="float32")
    before = numba.get_num_threads()
    try:
        results = []
        for threads in (1, min(2, numba.config.NUMBA_NUM_THREADS)):
            numba.set_num_threads(threads)
            results.append(train(UMLS, recipe, "numba")[0].tensors())
    finally:
        numba.set_num_threads(before)
    assert same_bits(*results)


def test_negligible_negatives_are_left_out() -> None:
    """A part of 0 leaves out none, one just below 1 all but the hardest, and the result depends on it."""
    how = {"model": "transe", "loss": "self_adversarial", "negatives": 8, "margin": 3.0}
    all_of_them, none_out, hardest = (
        train(UMLS, settings(**how, negligible=part), "numba")[0] for part in (0.0, 1e-12, 0.999)
    )
    assert largest_difference(all_of_them, none_out) < 1e-9
    assert largest_difference(all_of_them, hardest) > 1e-3


def test_another_seed_gives_other_parameters() -> None:
    first, second = (train(UMLS, settings(model="transe", seed=seed), "numba")[0] for seed in (0, 1))
    assert largest_difference(first, second) > 0.01


def test_lock_free_training_learns_as_much() -> None:
    recipe = settings(model="transe", precision="float32", learning_rate=0.01)
    losses = []
    for lock_free in (False, True):
        engine = choose_engine(start_model(UMLS, recipe), UMLS, recipe, lock_free=lock_free)
        losses.append([engine.train_epoch(number).loss for number in range(1, 6)])
    assert losses[1][-1] < 0.8 * losses[1][0]
    assert losses[1][-1] == pytest.approx(losses[0][-1], rel=0.2)


@pytest.mark.parametrize(
    ("values", "options", "named"),
    [
        ({"model": "transa", "metric_update": "gradient"}, {"engine": "numba"}, "engine"),
        ({"model": "transe"}, {"engine": "numba", "device": "cuda"}, "engine"),
        ({"model": "transe", "biases": True}, {"engine": "numba"}, "engine: .* biases"),
        ({"model": "transa"}, {"lock_free": True}, "lock_free"),
        ({"model": "transh"}, {"lock_free": True}, "lock_free"),
        ({"model": "transe"}, {"lock_free": True, "engine": "torch"}, "lock_free"),
        ({"model": "transe", "penalty": 0.01}, {"lock_free": True}, "lock_free: a penalty"),
    ],
)
def test_what_an_engine_cannot_do_is_said(values: dict[str, str], options: dict[str, object], named: str) -> None:
    recipe = settings(**values)
    with pytest.raises(InputError, match=named):
        choose_engine(start_model(UMLS, recipe), UMLS, recipe, **options)  # type: ignore[arg-type]


def test_a_full_metric_learned_by_gradient_stays_non_negative() -> None:
    recipe = settings(model="transa", metric="full", metric_update="gradient", metric_learning_rate=0.05)
    model, _ = train(UMLS, recipe, "auto", epochs=2)
    assert float(model.relation.metric.min()) >= 0
    assert not bool((model.relation.metric == start_model(UMLS, recipe).relation.metric).all())

"""Numbers under stress, for every model: a defined result or a clear error, never NaN."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from transa.data import KnowledgeGraph
from transa.errors import InputError, TransaError
from transa.evaluation import classify, evaluate, link_prediction
from transa.inference import Question, Trained, answer
from transa.inference.check import check_ids
from transa.models import MODELS, Model, build
from transa.training import Trainer, recipe_from

pytestmark = pytest.mark.slow  # every model is trained, and its kernels compiled

#: Entities in a row; the relation next leads to the one on the right, far two to the right.
LINE = [(i, 0, i + 1) for i in range(9)] + [(i, 1, i + 2) for i in range(8)]


def graph(train: Any, entities: int = 10, relations: int = 2, held: Any = ((0, 0, 2), (3, 0, 4))) -> KnowledgeGraph:
    return KnowledgeGraph.from_ids(train, held, held, entities=entities, relations=relations)


GRAPHS = {
    "a usual graph": graph(LINE),
    "one entity": graph([(0, 0, 0)], entities=1, relations=1, held=[(0, 0, 0)]),
    "two entities": graph([(0, 0, 1)], entities=2, relations=1, held=[(0, 0, 1)]),
    "one relation": graph(LINE[:9], relations=1),
    "a relation with one triple": graph([*LINE[:9], (0, 1, 5)]),
    "a relation without triples": graph(LINE, relations=3, held=[(0, 2, 1), (1, 0, 2)]),
    "one triple many times": graph([(0, 0, 1)] * 50),
    "only loops": graph([(i, 0, i) for i in range(10)]),
    "entities without triples": graph(LINE[:2], entities=200),
    "every triple there can be": graph([(h, 0, t) for h in range(4) for t in range(4)], 4, 1, [(0, 0, 1)]),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "a tiny learning rate": {"learning_rate": 1e-30},
    "a huge learning rate": {"learning_rate": 1e6},
    "the largest learning rate": {"learning_rate": 1e38},
    "one dimension": {"dim": 1},
    "a tiny spread": {"init_range": 1e-30},
    "a huge spread": {"init_range": 1e30},
    "a huge margin": {"margin": 1e30},
    "adam with a huge learning rate": {"optimizer": "adam", "learning_rate": 1e30},
}


def finite(value: Any) -> bool:
    """Tell whether no number in plain values is NaN or infinite."""
    if isinstance(value, dict):
        return all(map(finite, value.values()))
    if isinstance(value, list | tuple):
        return all(map(finite, value))
    return not isinstance(value, float) or math.isfinite(value)


def use(model: Model, graph: KnowledgeGraph) -> None:
    """Evaluate, classify and predict; each gives numbers or a clear error."""
    trained = Trained(model, graph)
    questions = [Question(head="0", relation="0"), Question(tail="0", relation="0"), Question(head="0", tail="0")]
    for what in (
        lambda: evaluate(model, graph, "test").summary(),
        lambda: classify(model, graph, "test").summary(),
        lambda: classify(model, graph, "test", calibration="platt").summary(),
        lambda: [answers.rows() for answers in answer(trained, questions, top=3)],
        lambda: check_ids(trained, graph.test).rows(),
    ):
        try:
            found = what()
        except TransaError as error:
            assert str(error)
        else:
            assert finite(found), found


def stressed(name: str, graph: KnowledgeGraph, **values: Any) -> Model | None:
    """Train a few epochs and use the model; None where training ended in an error that says why."""
    small = {"hidden": 2} if "hidden" in MODELS[name].options else {}
    recipe = recipe_from(
        {"model": name, "dim": 4, "epochs": 2, "batch_size": 8, "learning_rate": 0.01, **small, **values}
    )
    try:
        model = Trainer(graph, recipe).fit()
    except TransaError as error:
        assert str(error)
        return None
    assert all(bool(torch.isfinite(table).all()) for table in model.tensors().values())
    use(model, graph)
    return model


#: The models that have vectors; rules alone have none.
VECTORS = [name for name, model in MODELS.items() if model.has_vectors]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", GRAPHS)
@pytest.mark.parametrize("name", VECTORS)
def test_strange_graphs(name: str, case: str) -> None:
    model = stressed(name, GRAPHS[case])
    assert model is not None or case in ("one entity", "every triple there can be")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", SETTINGS)
@pytest.mark.parametrize("name", VECTORS)
def test_strange_settings(name: str, case: str) -> None:
    model = stressed(name, GRAPHS["a usual graph"], **SETTINGS[case])
    assert model is not None or "huge" in case or "largest" in case


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", VECTORS)
def test_a_thousand_dimensions(name: str) -> None:
    assert stressed(name, graph(LINE[:9], relations=1), dim=1000, epochs=1) is not None


#: Models whose scores are matrix products, which a library may round otherwise at the edge of a block than within.
PRODUCTS = {name for name, model in MODELS.items() if model.products} | {"ntn", "slm"}


@pytest.mark.parametrize("value", [0.0, 1.0, -1e9])
@pytest.mark.parametrize("name", [name for name in VECTORS if name not in PRODUCTS and not MODELS[name].by_paths])
def test_vectors_that_are_all_equal_tie(name: str, value: float) -> None:
    known = GRAPHS["a usual graph"]
    model = build(name, 10, 2, 4).initialise()
    for table in model.entity.values():
        table.fill_(value)
    ranks = link_prediction(model, known.test, known.known()).ranks(filtered=False)
    assert np.array_equal(ranks, np.full((2, 2), 5.5))
    use(model, known)


@pytest.mark.parametrize("value", [math.nan, math.inf, 3e38])
@pytest.mark.parametrize("name", VECTORS)
def test_a_model_of_no_numbers_ranks_nothing(name: str, value: float) -> None:
    known = GRAPHS["a usual graph"]
    model = build(name, 10, 2, 4).initialise()
    for table in (*model.entity.values(), *model.relation.values()):
        table[0] = value
    if not math.isfinite(value):
        with pytest.raises(InputError, match="NaN or infinit"):
            link_prediction(model, known.test, known.known())
    use(model, known)

"""From texts to the space of a model: an affine map, learned on the entities that the model was trained on.

With v the vector of an entity's text and e what the model has learned of it (its vector and, if there is one, its bias), the map is
``A v + c``. It minimises the squared error of each entry times how much the entity's relations weigh it, and a ridge that
cross-validation chooses. Where the score is linear in a candidate (`Model.linear`), the map then goes down the loss of the model
itself: entities as their texts place them are to answer, and to be answers, as those that were trained.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from transa.data.graph import Triples
from transa.errors import InputError
from transa.inference.trained import Trained
from transa.models import Model, Rows
from transa.models.text_map import TextMap, with_one
from transa.training.engine import training_graph

Floats = npt.NDArray[np.float64]

#: The ridges that are tried, relative to the mean square of a text's vector; and in how many parts entities are divided for it.
RIDGES, PARTS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0), 5
#: Steps of conjugate gradients with weights, and when they end: the residual relative to the first.
STEPS, ENOUGH = 30, 1e-3
#: Training of the map: epochs, triples in a step, further entities to choose from, and the learning rate of Adam at the start.
EPOCHS, BATCH, OTHERS, LEARNING_RATE = 6, 1024, 1000, 0.01
#: No more triples than this are trained on in an epoch.
MOST = 100_000


def learn_text_map(
    trained: Trained, texts: npt.NDArray[np.float32], *, weighted: bool = True, epochs: int = EPOCHS, seed: int = 0
) -> TextMap:
    """Learn the map on the entities that the model was trained on.

    Parameters
    ----------
    trained
        The model and its graph.
    texts
        The vector of each entity's text, a row for each entity of the graph. Entities whose vector is 0 have no text.
    weighted
        Whether errors count as the metrics of the entity's relations weigh them; plain otherwise. No matter without a metric.
    epochs
        Of training by the loss of the model, if its score is linear in a candidate; with 0, the closed form is all.
    seed
        Of cross-validation and training.
    """
    model, recipe = trained.model, trained.recipe
    told, wanted, weights = examples(trained, np.asarray(texts.any(axis=1)), weighted=weighted)
    given = with_one(texts[told]).numpy().astype(np.float64)
    found = map_of(trained, _least_squares(given, wanted, weights, _best_ridge(given, wanted, seed)))
    if epochs and model.linear and recipe is not None:
        whole = training_graph(trained.graph, recipe)
        keep = np.zeros(model.num_entities, bool)
        keep[told] = True
        rows = whole.train[keep[whole.train[:, 0]] & keep[whole.train[:, 2]]]
        return _trained_map(found, model, with_one(texts), rows, recipe.temperature, epochs, seed)
    return found


def examples(
    trained: Trained, has_text: npt.NDArray[np.bool_], *, weighted: bool
) -> tuple[npt.NDArray[np.int64], Floats, Floats | None]:
    """Return the entities that a map is learned on, what the model has learned of them, and how much each entry weighs."""
    told = np.flatnonzero(trained.seen[0] & has_text)
    if len(told) < 2 * PARTS:
        raise InputError(
            f"texts: {len(told)} entities with training triples have a text, too few to learn where texts lead to"
        )
    wanted = _targets(trained.model)[told]
    weights = entity_weights(trained) if weighted else None
    if weights is not None:  # those of vectors; other entries, such as biases, weigh 1
        weights = np.pad(weights[told], ((0, 0), (0, wanted.shape[1] - trained.model.dim)), constant_values=1.0)
    return told, wanted, weights


def map_of(trained: Trained, matrix: Floats) -> TextMap:
    """Return a matrix as a map to the tables of a model."""
    shapes = {name: tuple(table.shape[1:]) for name, table in trained.model.entity.items()}
    unit = trained.recipe is not None and trained.recipe.entity_norm == "unit"
    return TextMap(torch.from_numpy(matrix).to(trained.model.entity.vector.dtype), shapes, unit)


def entity_weights(trained: Trained) -> Floats | None:
    """Return how much the relations of each entity weigh the entries of its vector, with mean 1; None without a metric.

    Of a metric W_r, the entry i counts by the sum of the absolute values of row i: e^T W_r e is at most the sum of e_i^2 times that,
    and of a diagonal metric, the absolute weights are the row sums. An entity has the mean over its training triples.
    """
    model, recipe = trained.model, trained.recipe
    if recipe is None or model.metric_matrix(0) is None:
        return None
    train = training_graph(trained.graph, recipe).train
    of_relation = np.stack([np.abs(_metric(model, each)).sum(axis=1) for each in range(model.num_relations)])
    total = np.zeros((model.num_entities, model.dim))
    for side in (0, 2):
        np.add.at(total, train[:, side], of_relation[train[:, 1]])
    count = np.bincount(train[:, [0, 2]].ravel(), minlength=model.num_entities)
    found: Floats = total / np.maximum(count, 1)[:, None]
    return found / max(float(found[count > 0].mean()), 1e-12)


def _metric(model: Model, relation: int) -> Floats:
    found = model.metric_matrix(relation)
    assert found is not None  # noqa: S101
    return found


def _targets(model: Model) -> Floats:
    """Return what the model has learned of each entity, all tables side by side."""
    parts = [table.detach().double().reshape(len(table), -1) for table in model.entity.values()]
    return torch.cat(parts, dim=1).cpu().numpy()


def _best_ridge(given: Floats, wanted: Floats, seed: int) -> float:
    """Return the ridge of least squares that does best on entities left out."""
    part = np.random.default_rng(seed).integers(0, PARTS, len(given))
    squares = np.stack([given[part == each].T @ given[part == each] for each in range(PARTS)])
    products = np.stack([given[part == each].T @ wanted[part == each] for each in range(PARTS)])
    ridges = [each * float(np.square(given[:, :-1]).sum()) / given.shape[1] for each in RIDGES]
    errors = np.zeros(len(ridges))
    for each in range(PARTS):
        rest, right = squares.sum(axis=0) - squares[each], products.sum(axis=0) - products[each]
        for number, ridge in enumerate(ridges):
            found = np.linalg.solve(rest + _held(len(rest), ridge), right)
            errors[number] += np.square(given[part == each] @ found - wanted[part == each]).sum()
    return float(ridges[int(errors.argmin())])


def _held(size: int, ridge: float) -> Floats:
    """Return the ridge as a matrix; the constant, at the end, is free."""
    held = np.full(size, ridge)
    held[-1] = 1e-9
    return np.diag(held)


def _least_squares(given: Floats, wanted: Floats, weights: Floats | None, ridge: float) -> Floats:
    """Return the map with the least squared errors, each times its weight, plus the ridge.

    With weights, these are conjugate gradients from the plain map, with the plain problem as preconditioner: the weights of an entry
    are its own, so that no two columns share a system of equations.
    """
    held = _held(given.shape[1], ridge)
    inverse = np.linalg.inv(given.T @ given + held)
    found: Floats = inverse @ (given.T @ wanted)
    if weights is None:
        return found
    residual = given.T @ (weights * (wanted - given @ found)) - held @ found
    return conjugate_gradients(
        found,
        residual,
        lambda direction: given.T @ (weights * (given @ direction)) + held @ direction,
        lambda residual: inverse @ residual,
    )


def conjugate_gradients(
    found: Floats, residual: Floats, applied: Callable[[Floats], Floats], conditioned: Callable[[Floats], Floats]
) -> Floats:
    """Solve a system of equations for each column, from a first guess and what it leaves over, and return the solution."""
    direction = better = conditioned(residual)
    size = first = np.einsum("ij,ij->j", residual, better)
    for _ in range(STEPS):
        change = applied(direction)
        step = size / np.maximum(np.einsum("ij,ij->j", direction, change), 1e-300)
        found = found + step * direction
        residual = residual - step * change
        better = conditioned(residual)
        before, size = size, np.einsum("ij,ij->j", residual, better)
        if size.sum() <= ENOUGH**2 * first.sum():
            break
        direction = better + size / np.maximum(before, 1e-300) * direction
    return found


def _trained_map(
    start: TextMap, model: Model, texts: Tensor, triples: Triples, temperature: float, epochs: int, seed: int
) -> TextMap:
    """Return the map after some epochs down the loss of the model, whose own tables stay as they are.

    A question asks with the place of its entity's text, and all candidates are where they were trained; and once more the other way
    round, with the place of the right answer's text. Answers of the same batch and some entities that are drawn are the candidates.
    """
    matrix = start.matrix.clone().requires_grad_()
    moving = TextMap(matrix, start.tables, start.unit)
    adam = torch.optim.Adam([matrix], lr=LEARNING_RATE)
    texts, random = texts.to(matrix), np.random.default_rng(seed)
    size = min(len(triples), MOST)
    steps, done = epochs * -(-size // BATCH), 0
    for _ in range(epochs):
        order = random.permutation(len(triples))[:size]
        for begin in range(0, size, BATCH):
            heads, relations, tails = torch.from_numpy(triples[order[begin : begin + BATCH]].astype(np.int64)).unbind(1)
            answers, right = torch.unique(tails, return_inverse=True)
            others = torch.from_numpy(random.integers(0, model.num_entities, OTHERS))
            known, drawn = model.gather("entity", answers), model.gather("entity", others)
            asked, placed = moving.place_told(texts[heads]), moving.place_told(texts[answers])
            edges, at_head = model.gather("relation", relations), torch.zeros(len(heads), dtype=torch.bool)
            loss = matrix.new_zeros(())
            for given, candidates in ((asked, known), (model.gather("entity", heads), placed)):
                every = Rows({name: torch.cat([table, drawn[name]]) for name, table in candidates.items()})
                loss = loss + cross_entropy(temperature * model.linear_scores(given, edges, every, at_head), right)
            for group in adam.param_groups:
                group["lr"] = LEARNING_RATE * (1 - done / steps)
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            adam.step()
            done += 1
    return TextMap(matrix.detach(), start.tables, start.unit)

"""From words to the space of a model: a vector for each word and stem, learned on the entities that the model was trained on.

An entity is where the words of its text lead to: the sum of their vectors, weighted by TF-IDF, and a constant. They minimise the
squared error of each entry times how much the entity's relations weigh it, and a ridge that is chosen on entities left out. Rare words
count here, which a projection of texts on few directions loses: they say most about where an entity belongs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from transa.data.text_vectors import TfIdf
from transa.inference.text_map import PARTS, Floats, conjugate_gradients, examples, map_of
from transa.inference.trained import Trained
from transa.models.text_map import WordMap

if TYPE_CHECKING:
    from scipy import sparse

#: The ridges that are tried. Texts have length 1.
RIDGES = (0.001, 0.1, 0.3, 1.0, 3.0)


def learn_word_map(
    trained: Trained, words: TfIdf, texts: Sequence[str], *, weighted: bool = True, seed: int = 0
) -> WordMap:
    """Learn where words lead to.

    Parameters
    ----------
    trained
        The model and its graph.
    words
        Which words count, and how rare they are.
    texts
        Of each entity of the graph.
    weighted
        Whether errors count as the metrics of the entity's relations weigh them; plain otherwise. No matter without a metric.
    seed
        Of the choice of the ridge.
    """
    from scipy import sparse  # takes a while to load

    counts = words.weights(texts)
    told, wanted, weights = examples(trained, np.diff(counts.indptr) > 0, weighted=weighted)
    given = sparse.hstack([counts[told], np.ones((len(told), 1))], format="csr")
    even = np.ones_like(wanted) if weights is None else weights
    left = np.random.default_rng(seed).integers(0, PARTS, len(told)) == 0
    errors = [
        float(
            (
                even[left] * (given[left] @ _ridge(given[~left], wanted[~left], even[~left], ridge) - wanted[left]) ** 2
            ).sum()
        )
        for ridge in RIDGES
    ]
    found = _ridge(given, wanted, even, RIDGES[int(np.argmin(errors))])
    rows = map_of(trained, np.vstack([np.eye(wanted.shape[1]), found[-1:]]))
    return WordMap(replace(words, directions=found[:-1].astype(np.float32)), rows)


def _ridge(given: sparse.csr_array, wanted: Floats, weights: Floats, ridge: float) -> Floats:
    """Return the vectors of words, and the constant, with the least squared errors, each times its weight, plus the ridge."""
    held = np.full((given.shape[1], 1), ridge)
    held[-1] = 1e-9  # the constant is free
    start = np.zeros((given.shape[1], wanted.shape[1]))
    start[-1] = (weights * wanted).sum(axis=0) / weights.sum(axis=0)
    scale = given.multiply(given).T @ weights + held
    return conjugate_gradients(
        start,
        given.T @ (weights * (wanted - start[-1])),
        lambda direction: given.T @ (weights * (given @ direction)) + held * direction,
        lambda residual: residual / scale,
    )

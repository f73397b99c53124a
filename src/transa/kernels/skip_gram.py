"""Skip-gram with negative sampling over texts: words that stand together come together (Wang et al. 2014, after Mikolov et al. 2013).

The score of two words is z(w, v) = b - |w - v|^2 / 2. A word of a text is to tell a word near it, log s(z), from words that are drawn
by frequency to the power of 3/4, log s(-z), where s is the logistic function.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from transa.kernels.arguments import Array
from transa.kernels.cache import kernel
from transa.kernels.random import below, draw, half_bits, shuffled_position, unit

#: Added to the root of the sum of squares in steps of Adagrad.
TINY = 1e-10


class WordSequences(NamedTuple):
    """Texts as sequences of words.

    Attributes
    ----------
    words
        All texts, one after another.
    starts, stops
        Where the text of each word begins and ends.
    chances
        By which negatives are drawn: the chance that a word or one before it is drawn, for each word of the vocabulary.
    """

    words: npt.NDArray[np.int64]
    starts: npt.NDArray[np.int64]
    stops: npt.NDArray[np.int64]
    chances: npt.NDArray[np.float64]


class SkipGram(NamedTuple):
    """How an epoch goes.

    Attributes
    ----------
    window, negatives
        How far apart two words stand at most, and how many words are drawn against each pair.
    bias
        b of the score.
    weight, rate
        What gradients are multiplied with, and the learning rate of Adagrad.
    """

    window: int
    negatives: int
    bias: float
    weight: float
    rate: float


def skip_gram_epoch(texts: WordSequences, how: SkipGram, key: np.uint64, vectors: Array, squares: Array) -> float:
    """Take every word of the texts once, in an order that the key selects, and return the mean loss of a pair.

    Parameters
    ----------
    texts, how
        What to train on, and how.
    key
        Of the random numbers.
    vectors, squares
        The vectors of words and Adagrad's sums of squares, which are changed in place.
    """
    return float(_skip_gram_epoch(texts, how, key, vectors, squares))


@kernel()
def _skip_gram_epoch(texts, how, key, vectors, squares):
    count, size = len(texts.words), vectors.shape[1]
    half, draws = half_bits(count), np.uint64(how.negatives + 1)
    total, pairs = 0.0, 0
    own = np.empty(size, vectors.dtype)
    for position in range(count):
        place = shuffled_position(position, count, half, key)
        first = np.uint64(position) * draws
        lowest = max(texts.starts[place], place - how.window)
        others = min(texts.stops[place], place + how.window + 1) - lowest - 1
        if not others:
            continue
        beside = lowest + below(draw(key, first), others)
        beside += beside >= place
        word = texts.words[place]
        own[:] = 0
        pairs += 1
        for number in range(how.negatives + 1):
            near = number == 0
            if near:
                other = texts.words[beside]
            else:
                other = np.searchsorted(texts.chances, unit(draw(key, first + np.uint64(number))), side="right")
            if other == word:
                continue
            distance = 0.0
            for i in range(size):
                distance += (vectors[word, i] - vectors[other, i]) ** 2
            score = how.bias - distance / 2
            signed = score if near else -score
            total += np.log1p(np.exp(-abs(signed))) + max(-signed, 0.0)
            factor = how.weight * ((1.0 if near else 0.0) - 1 / (1 + np.exp(-score)))
            for i in range(size):
                gradient = factor * (vectors[word, i] - vectors[other, i])
                own[i] += gradient
                squares[other, i] += gradient * gradient
                vectors[other, i] += how.rate * gradient / (np.sqrt(squares[other, i]) + TINY)
        for i in range(size):
            squares[word, i] += own[i] * own[i]
            vectors[word, i] -= how.rate * own[i] / (np.sqrt(squares[word, i]) + TINY)
    return total / max(pairs, 1)

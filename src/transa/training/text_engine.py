"""Words, entities and relations in one space: entities are where the words of their texts put them.

Wang et al. (*Knowledge Graph and Text Jointly Embedding*, EMNLP 2014) and Zhong et al. (2015), who align both by descriptions, train
vectors of words and of entities side by side and pull those together that belong together. Here an entity is the sum of its words,
weighted by rarity and scaled to length 1. So an entity that nobody has seen is as well placed as any other. To this sum the recipe may
add what a sentence encoder says of the text (`text_encoder`) and a vector of the entity's own (`own_vectors`); and a skip-gram may
train the words on the texts themselves (`skip_gram`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag, normalize

from transa.data import KnowledgeGraph
from transa.data.streams import check_exists
from transa.data.text_files import text_lines
from transa.data.text_vectors import SentenceEncoder, TfIdf, entity_texts, words_of
from transa.kernels.purposes import SKIP_GRAM, TEXTS_ALONE
from transa.kernels.random import stream
from transa.kernels.skip_gram import SkipGram, WordSequences, skip_gram_epoch
from transa.models import Model, Rows
from transa.models.text_map import TextMap, WordMap
from transa.training.engine import EpochReport
from transa.training.query_batches import QueryBatch
from transa.training.recipe import Recipe
from transa.training.torch_softmax_engine import TorchSoftmaxEngine

#: Added to the root of the sum of squares in steps of Adagrad.
TINY = 1e-10
#: Which share of the entities of a batch does without a vector of its own.
ALONE = 0.5
#: How far apart words stand together, and how many are drawn against each pair; b of their score (Wang et al. 2014).
WINDOW, NEGATIVES, BIAS = 5, 5, 7.0


class TextEngine(TorchSoftmaxEngine):
    """Trains vectors of words and all that relations have by cross-entropy over entities, with Adagrad for words.

    Parameters
    ----------
    model, graph, recipe
        What to train, on what, and how. Words that stand in two texts of the graph, or of the corpus, get a vector.
    """

    name = "torch, texts"

    def __init__(self, model: Model, graph: KnowledgeGraph, recipe: Recipe) -> None:
        super().__init__(model, graph, recipe)
        texts = entity_texts(graph.entities)
        every = texts if recipe.text_corpus is None else texts + _read_corpus(Path(recipe.text_corpus))
        counted = TfIdf.learn(every)
        random, kind = np.random.default_rng(recipe.seed), model.entity.vector.dtype
        self._weights = counted.weights(texts)
        self._words = _start(random, len(counted.words), model.dim).to(kind)
        trained = {"words": self._words}
        self._vectors: Tensor | None = None
        if recipe.text_encoder is not None:
            self._vectors = torch.from_numpy(SentenceEncoder(recipe.text_encoder).encode(texts)).to(kind)
            trained["encoded"] = _start(random, self._vectors.shape[1], model.dim).to(kind)
        if recipe.own_vectors:
            trained["own"] = torch.zeros_like(model.entity.vector)
        self._trained, self._squares = trained, {name: torch.zeros_like(table) for name, table in trained.items()}
        shapes = {name: tuple(table.shape[1:]) for name, table in model.entity.items()}
        width = sum(int(np.prod(shape)) for shape in shapes.values())
        matrix = torch.zeros(model.dim + 1, width, dtype=kind)
        matrix[: model.dim, : model.dim] = torch.eye(model.dim, dtype=kind)
        words = TfIdf(counted.words, counted.rarity, self._words.numpy())
        model.words = WordMap(words, TextMap(matrix, shapes, unit=True), trained.get("encoded"))
        self._sequences = word_sequences(counted, every) if recipe.skip_gram else None
        self._position = (0, 0)
        self._placed = self._place(torch.arange(0))
        self._place_all()

    def train_epoch(self, number: int) -> EpochReport:
        """Train one epoch; the loss is that of the triples."""
        report = super().train_epoch(number)
        if self._sequences is not None:
            rate = self.recipe.learning_rate * self.recipe.learning_rate_factor(number)
            how = SkipGram(WINDOW, NEGATIVES, BIAS, self.recipe.skip_gram, rate)
            key = stream(self.recipe.seed, SKIP_GRAM, number)
            skip_gram_epoch(self._sequences, how, key, self._words.numpy(), self._squares["words"].numpy())
        self._place_all()
        return report

    def _train_queries(self, batch: QueryBatch, number: int, factor: float) -> float:
        self._position = (number, batch.start)
        return super()._train_queries(batch, number, factor)

    def _place_all(self) -> None:
        every = torch.arange(self.model.num_entities)
        for some in torch.split(every, 1 << 14):
            self.model.entity["vector"][some] = self._place(some)[0]

    def _place(self, ids: Tensor, *, trained: bool = False) -> tuple[Tensor, dict[str, tuple[Tensor | slice, Tensor]]]:
        """Return where some entities are, and the rows that put them there by table: their numbers, and the rows themselves.

        Entities of which nothing is known are at 0. If they are trained, the rows collect gradients.
        """
        weights = self._weights[ids.numpy()]
        touched, places = np.unique(weights.indices, return_inverse=True)
        chosen: dict[str, Tensor | slice] = {"words": torch.from_numpy(touched.astype(np.int64))}
        chosen |= {"encoded": slice(None), "own": ids}
        used = {
            name: (chosen[name], table[chosen[name]].clone().requires_grad_(trained))
            for name, table in self._trained.items()
        }
        _, words = used["words"]
        rarity = torch.from_numpy(weights.data).to(words)
        starts = torch.from_numpy(weights.indptr[:-1].astype(np.int64))
        sums = embedding_bag(torch.from_numpy(places), words, starts, mode="sum", per_sample_weights=rarity)
        if self._vectors is not None:
            sums = sums + self._vectors[ids] @ used["encoded"][1]
        if "own" in used:
            own = used["own"][1]
            sums = sums + (own * self._with_own(len(ids)).to(own) if trained else own)
        return normalize(sums, dim=1), used

    def _with_own(self, size: int) -> Tensor:
        """Draw which entities of a batch have their own vectors."""
        random = np.random.default_rng([self.recipe.seed, TEXTS_ALONE, *self._position])
        return torch.from_numpy(random.random((size, 1)) >= ALONE)

    def _leaves(self, role: str, ids: Tensor | None) -> Rows:
        """Return rows of the tables; those of entities come from their texts."""
        rows = super()._leaves(role, ids)
        if role == "entity":
            self._placed = self._place(torch.arange(self.model.num_entities) if ids is None else ids, trained=True)
            rows["vector"] = self._placed[0].detach().requires_grad_()
        return rows

    def _step(
        self, role: str, ids: Tensor | slice, places: Tensor | slice, leaves: Rows, learning_rate_factor: float
    ) -> None:
        if role == "entity":
            placed, used = self._placed
            placed.backward(leaves.pop("vector").grad)  # type: ignore[no-untyped-call]
            rate = self.recipe.learning_rate * learning_rate_factor
            for name, (chosen, rows) in used.items():
                assert rows.grad is not None  # noqa: S101
                squares = self._squares[name][chosen] + rows.grad.square()
                self._trained[name][chosen] = rows.detach() - rate * rows.grad / (squares.sqrt() + TINY)
                self._squares[name][chosen] = squares
        super()._step(role, ids, places, leaves, learning_rate_factor)

    def state(self) -> dict[str, Tensor]:
        """Return the optimiser's state and the entities' own vectors; words and what the encoder says are kept with the model."""
        own = {"own": self._trained["own"]} if "own" in self._trained else {}
        return {**super().state(), **own, **{f"squares.{name}": table for name, table in self._squares.items()}}

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Load the state that `state` returned after an epoch."""
        super().load_state(state)
        if "own" in self._trained:
            self._trained["own"].copy_(state["own"])
        for name, table in self._squares.items():
            table.copy_(state[f"squares.{name}"])


def word_sequences(known: TfIdf, texts: list[str]) -> WordSequences:
    """Return texts as sequences of known words, and the chances of words by frequency to the power of 3/4."""
    places = {word: place for place, word in enumerate(known.words)}
    rows = [[places[word] for word in words_of(text) if word in places] for text in texts]
    sizes = np.array([len(row) for row in rows])
    words = np.array([word for row in rows for word in row], np.int64)
    stops = np.cumsum(sizes)
    often = np.bincount(words, minlength=len(known.words)) ** 0.75
    chances = np.cumsum(often) / max(float(often.sum()), 1e-12)
    chances[chances == chances[-1]] = 1.0  # whatever was rounded, no number is drawn beyond the last word
    return WordSequences(words, np.repeat(stops - sizes, sizes), np.repeat(stops, sizes), chances)


def _start(random: np.random.Generator, rows: int, dim: int) -> Tensor:
    return torch.from_numpy(random.standard_normal((rows, dim)) / (2 * np.sqrt(dim)))


def _read_corpus(path: Path) -> list[str]:
    """Read a file with a text on each line."""
    check_exists(path)
    return [line for line in text_lines(path) if line.strip()]

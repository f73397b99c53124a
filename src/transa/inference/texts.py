"""Entities that come with a text instead of triples: where the text puts them, and which of its words speak for a triple."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from transa.data import KnowledgeGraph
from transa.data.graph import Triples
from transa.data.side_files import read_descriptions
from transa.data.streams import check_exists
from transa.data.text_vectors import CUT, SentenceEncoder, TfIdf, entity_texts, read_vectors, stem_of
from transa.errors import InputError, quote
from transa.evaluation.queries import Side
from transa.evaluation.scores import answer_scores
from transa.inference.text_map import learn_text_map
from transa.inference.trained import Trained
from transa.inference.word_map import learn_word_map
from transa.models import Model, Rows
from transa.models.text_map import WordMap

#: With how many entities at the other end of a triple words are compared.
COMPARED = 50


@dataclass(frozen=True, eq=False)
class NewTexts:
    """Texts of entities that a model was not trained on, and how they become vectors.

    Attributes
    ----------
    texts
        By key.
    encoder
        The folder of a sentence encoder. Without it, TF-IDF and a truncated SVD are learned on the texts of the graph.
    vectors
        In place of both, an array or a .npy file with the vectors of texts: a row for each entity of the graph, in the order of its
        ids, and then a row for each of `texts`.
    weighted
        Whether the map weighs errors as the metrics of an entity's relations do.
    """

    texts: Mapping[str, str]
    encoder: str | Path | None = None
    vectors: str | Path | npt.NDArray[Any] | None = None
    weighted: bool = True

    def __post_init__(self) -> None:
        if not self.texts:
            raise InputError("texts: there is none")
        if self.encoder is not None and self.vectors is not None:
            raise InputError("texts: an encoder and vectors exclude each other")
        for key, text in self.texts.items():
            if not text.strip():
                raise InputError(f"texts: that of {quote(key)} is empty")

    @classmethod
    def read(cls, path: Path, encoder: Path | None = None, vectors: Path | None = None) -> NewTexts:
        """Read a file with a key, a tab and a text on each line."""
        check_exists(path)
        return cls(read_descriptions(path) or {}, encoder, vectors)


@dataclass(frozen=True)
class WordEffect:
    """A word of an entity's text, and by how much it improves the score of a triple beside those of others."""

    entity: str
    word: str
    effect: float


def with_texts(graph: KnowledgeGraph, texts: NewTexts) -> KnowledgeGraph:
    """Return a graph whose entities have the texts as descriptions; other descriptions stay."""
    entities = graph.entities
    old = [None] * len(entities) if entities.descriptions is None else entities.descriptions.to_pylist()
    told = {key: text for key, text in zip(entities, old, strict=True) if text is not None} | dict(texts.texts)
    names = None if entities.names is None else dict(zip(entities, entities.names.to_pylist(), strict=True))
    named = None if names is None else {key: name for key, name in names.items() if name is not None}
    return replace(graph, entities=entities.described(named, told))


def place_by_texts(
    trained: Trained, model: Model, graph: KnowledgeGraph, texts: NewTexts, seed: int
) -> tuple[npt.NDArray[np.int64], WordMap | None]:
    """Give entities the rows of a grown model that their texts lead to. Return these entities, and where words lead to by TF-IDF.

    Parameters
    ----------
    trained
        The model and graph before they grew; the map is learned on them.
    model, graph
        After they grew. The rows of the entities with texts change.
    texts
        What to place. An entity that the model was trained on stays where it is.
    seed
        Of the map.
    """
    ids = graph.entities.ids(texts.texts).astype(np.int64)
    old = len(trained.graph.entities)
    chosen = np.array([each >= old or not trained.seen[0][each] for each in ids.tolist()])
    if not chosen.any():
        raise InputError("texts: the model was trained on all of these entities; there is nothing to place")
    if trained.recipe is not None and trained.recipe.entity_texts and trained.model.words is not None:
        learned, folder = trained.model.words, texts.encoder or trained.recipe.text_encoder
        if texts.vectors is not None or (texts.encoder is not None and learned.encoded is None):
            raise InputError("texts: the model has learned its own words; it takes no encoder and no vectors")
        every = entity_texts(graph.entities)
        told = [every[each] for each in ids[chosen].tolist()]
        encoder = SentenceEncoder(folder) if folder is not None and learned.encoded is not None else None
        _put(model, ids[chosen], learned.place(told, encoder))
        return ids[chosen], learned
    told = entity_texts(graph.entities)
    asked = [told[each] for each in ids.tolist()]
    if texts.encoder is None and texts.vectors is None:
        words = TfIdf.learn([told[each] for each in np.flatnonzero(trained.seen[0]).tolist()])
        mapped = learn_word_map(trained, words, told[:old], weighted=texts.weighted, seed=seed)
        _put(model, ids[chosen], mapped.place([each for each, new in zip(asked, chosen, strict=True) if new]))
        return ids[chosen], mapped
    if texts.vectors is not None:
        given = _given(texts.vectors, old + len(ids))
        known, placed = given[:old], given[old:]
    else:
        encoder = SentenceEncoder(str(texts.encoder))
        known, placed = encoder.encode(told[:old]), encoder.encode(asked)
    found = learn_text_map(trained, known, weighted=texts.weighted, seed=seed)
    _put(model, ids[chosen], found.place(placed[chosen]))
    return ids[chosen], None


def _put(model: Model, ids: npt.NDArray[np.int64], rows: Rows) -> None:
    """Set the rows of some entities."""
    for name, table in rows.items():
        model.entity[name][torch.from_numpy(ids)] = table.to(model.entity[name])


def _given(vectors: str | Path | npt.NDArray[Any], rows: int) -> npt.NDArray[np.float32]:
    if isinstance(vectors, str | Path):
        return read_vectors(vectors, rows)
    found = np.asarray(vectors)
    if found.ndim != 2 or len(found) != rows or not np.isfinite(found).all():
        raise InputError(
            f"vectors: expected {rows:,} rows of finite numbers, one for each entity of the graph and then one for each text, "
            f"found an array of shape {found.shape}"
        )
    return found.astype(np.float32)


def word_effects(trained: Trained, triple: Triples, side: Side, top: int) -> tuple[WordEffect, ...]:
    """Return the words of head and tail that speak most for a triple, for entities that were placed by their texts.

    Each word is taken out of the text with its stem, and with the other words of this stem, and the entity placed anew. What counts
    is the score beside the mean of those with other entities that train has at the other end, so that words of all texts say nothing.
    """
    words = trained.model.words
    if words is None:
        return ()
    every = trained.recipe is not None and trained.recipe.entity_texts
    found: list[WordEffect] = []
    for place in (0, 2):
        entity = int(triple[0, place])
        if not every and entity not in trained.told:
            continue
        weights = words.words.weights([entity_texts(trained.graph.entities.take([entity]))[0]]).toarray()[0]
        groups = _by_stem(words.words, np.flatnonzero(weights).tolist())
        rows = np.repeat(weights[None], len(groups) + 1, axis=0)
        for row, features in zip(rows, groups.values(), strict=False):
            row[features] = 0
        rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        others = trained.range_of(int(triple[0, 1]), "tail" if place == 0 else "head")
        compared = others[:: max(1, len(others) // COMPARED)]
        placed = words.rows.place(rows @ words.words.directions)
        scores = _leads(trained.model, placed, triple, place, side, compared)
        key = trained.graph.entities[entity]
        found += [WordEffect(key, word, float(scores[at] - scores[-1])) for at, word in enumerate(groups)]
    return tuple(sorted((each for each in found if each.effect > 0), key=lambda each: -each.effect)[:top])


def _by_stem(words: TfIdf, features: list[int]) -> dict[str, list[int]]:
    """Return the words and stems of a text that belong together, by what people read: its words, or the stem of unknown ones."""
    groups: dict[str, list[int]] = {}
    for each in features:
        groups.setdefault(stem_of(words.words[each]), []).append(each)
    found = {}
    for stem, members in groups.items():
        whole = [words.words[each] for each in members if words.words[each] != stem or not stem.endswith(CUT)]
        found[", ".join(whole) or stem] = members
    return found


def _leads(
    model: Model, rows: Rows, triple: Triples, place: int, side: Side, others: npt.NDArray[np.int32]
) -> npt.NDArray[np.float64]:
    """Return how far a triple's score is from the mean of those with others at its other end, with each of some rows in a place."""
    more = copy(model)
    first, size = model.num_entities, len(rows.vector)
    more.num_entities = first + size
    more.evidence = more.penalty = None  # words change neither
    more.entity = Rows({name: torch.cat([table, rows[name].to(table)]) for name, table in model.entity.items()})
    ends = np.concatenate([triple[0, [2 - place]], others])
    triples = np.tile(triple, (size * len(ends), 1))
    triples[:, place] = np.repeat(first + np.arange(size), len(ends))
    triples[:, 2 - place] = np.tile(ends, size)
    scores = answer_scores(more, triples, side).reshape(size, len(ends))
    leads: npt.NDArray[np.float64] = scores[:, 0] - scores.mean(axis=1)
    return leads

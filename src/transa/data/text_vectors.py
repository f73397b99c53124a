"""Vectors of texts: TF-IDF that is learned on the texts of a graph, a sentence encoder, or an array."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
from numpy.lib.format import open_memmap

from transa.data.vocabulary import Vocabulary
from transa.errors import InputError

if TYPE_CHECKING:
    from scipy import sparse

Vectors = npt.NDArray[np.float32]

#: In how many texts a word must stand.
TEXTS = 2
#: Words: letters and digits of any script. Scripts without spaces between words are cut into pairs of characters.
_WORD = re.compile(r"[^\W_]+")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")


#: How many letters a stem has, and what it ends in.
STEM, CUT = 5, "…"


class TextEncoder(Protocol):
    """Turns texts into vectors."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text."""


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, in their order."""
    found: list[str] = []
    for word in _WORD.findall(text.casefold()):
        if len(word) > 1 and _UNSPACED.search(word):
            found += [word[place : place + 2] for place in range(len(word) - 1)]
        else:
            found.append(word)
    return found


def features_of(text: str) -> list[str]:
    """Return the words of a text, and the stems of the longer ones: ``breathing`` has the stem ``breat…``."""
    words = words_of(text)
    return words + [stem_of(word) for word in words if len(word) >= STEM]


def stem_of(word: str) -> str:
    """Return the stem of a word; a shorter word, and a stem, is its own."""
    return f"{word[:STEM]}{CUT}" if len(word) >= STEM else word


def entity_texts(entities: Vocabulary) -> list[str]:
    """Return what is said of each entity: its name and its description.

    Without a name, the key serves; but where other entities have names, keys are mere codes, and a description is enough.
    """
    told = [None] * len(entities) if entities.descriptions is None else entities.descriptions.to_pylist()
    coded = () if entities.names is None else set(np.flatnonzero(entities.names.is_null()).tolist())
    return [
        text if text and each in coded else ". ".join(filter(None, (entities.name(each), text)))
        for each, text in enumerate(told)
    ]


@dataclass(frozen=True, eq=False)
class TfIdf:
    """Words and stems weighted by how rare they are, and a vector for each that training or a map gives it.

    A text counts each of its words and stems as 1 + log of how often it has it, times log((1 + n) / (1 + texts with the word)) + 1, and
    is then scaled to length 1. Its vector is linear in these numbers.

    Attributes
    ----------
    words
        Sorted.
    rarity
        The second factor of each word.
    directions
        The vector of each word, of shape (words, dimensions); without dimensions at first.
    """

    words: tuple[str, ...]
    rarity: npt.NDArray[np.float64]
    directions: Vectors

    @classmethod
    def learn(cls, texts: Sequence[str]) -> TfIdf:
        """Learn from the texts of the entities of a graph which words count, and how rare they are."""
        counts = Counter(word for text in texts for word in set(features_of(text)))
        words = tuple(sorted(word for word, times in counts.items() if times >= TEXTS))
        if not words:
            raise InputError(f"no word stands in {TEXTS} texts of the graph; its entities need names or descriptions")
        rarity = np.log((1 + len(texts)) / (1 + np.array([counts[word] for word in words]))) + 1
        return cls(words, rarity, np.empty((len(words), 0), np.float32))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {word: place for place, word in enumerate(self.words)}

    def knows(self, word: str) -> bool:
        """Tell whether the word itself or its stem counts."""
        return any(each in self._places for each in features_of(word))

    def weights(self, texts: Sequence[str]) -> sparse.csr_array:
        """Return the weights of words in texts, a row for each text."""
        from scipy import sparse  # takes a while to load

        rows, columns, values = [], [], []
        for row, text in enumerate(texts):
            for word, times in Counter(features_of(text)).items():
                place = self._places.get(word)
                if place is not None:
                    rows.append(row)
                    columns.append(place)
                    values.append((1 + np.log(times)) * self.rarity[place])
        found = sparse.csr_array((values, (rows, columns)), shape=(len(texts), len(self.words)), dtype=np.float32)
        lengths = np.sqrt(np.asarray(found.multiply(found).sum(axis=1)).ravel())
        return sparse.csr_array(sparse.diags_array(1 / np.maximum(lengths, 1e-12)) @ found, dtype=np.float32)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return a vector for each text; a text without a known word has zeros."""
        return np.asarray(self.weights(texts) @ self.directions, np.float32)


class SentenceEncoder:
    """A sentence encoder in a local folder, read by sentence-transformers (the extra ``transa[text]``). Nothing is ever fetched.

    Parameters
    ----------
    folder
        As `SentenceTransformer.save` writes it.
    """

    def __init__(self, folder: str | Path) -> None:
        path = Path(folder)
        if not (path / "modules.json").is_file():
            raise InputError("no folder of a sentence encoder (it has no modules.json)", path=path)
        os.environ["HF_HUB_OFFLINE"] = "1"
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise InputError("a sentence encoder needs sentence-transformers: pip install 'transa[text]'") from None
        try:
            self._model: Any = SentenceTransformer(str(path), device="cpu", local_files_only=True)
        except (OSError, ValueError, KeyError, RuntimeError) as error:
            raise InputError(f"the sentence encoder cannot be read ({error})", path=path) from None

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Return a vector of length 1 for each text."""
        found = self._model.encode(list(texts), normalize_embeddings=True, show_progress_bar=False)
        return np.asarray(found, np.float32)


def read_vectors(path: str | Path, rows: int) -> Vectors:
    """Read vectors of texts that somebody made: a .npy file with a row for each of `rows` entities.

    Raises
    ------
    InputError
        If the file is no array of numbers, has another number of rows, or holds a number that is not finite.
    """
    path = Path(path)
    try:
        found = open_memmap(path, mode="r")  # refuses objects, and sizes that the file does not have
    except (OSError, ValueError, EOFError, SyntaxError) as error:
        raise InputError(f"no array that could be read ({error})", path=path) from None
    if found.ndim != 2 or not np.issubdtype(found.dtype, np.number):
        raise InputError(
            f"expected an array of numbers with a row for each entity, found {found.dtype} {found.shape}", path=path
        )
    if len(found) != rows or not found.shape[1]:
        raise InputError(
            f"expected {rows:,} rows, one for each entity of the graph and then one for each new text, found {found.shape}",
            path=path,
        )
    wrong = np.flatnonzero(~np.isfinite(found).all(axis=1))
    if len(wrong):
        raise InputError("a number that is not finite", path=path, line=int(wrong[0]) + 1, unit="row")
    return found.astype(np.float32)

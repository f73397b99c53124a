"""Where texts put entities: affine maps from vectors of texts, or of words, to rows of a model's tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn.functional import normalize

from transa.data.text_vectors import TextEncoder, TfIdf
from transa.errors import InputError
from transa.models.tables import Rows, Tables


@dataclass(frozen=True, eq=False)
class TextMap:
    """An affine map from vectors of texts to rows of a model's tables of entities.

    Attributes
    ----------
    matrix
        A with c as its last row, of shape (dimensions of texts + 1, entries of all tables of entities).
    tables
        The tables of entities and the shapes of their rows, in the order of the entries.
    unit
        Whether vectors are scaled to length 1, as training did.
    """

    matrix: Tensor
    tables: dict[str, tuple[int, ...]]
    unit: bool

    def place(self, texts: npt.NDArray[np.float32] | Tensor) -> Rows:
        """Return the rows of entities with such texts."""
        return self.place_told(with_one(texts).to(self.matrix))

    def place_told(self, texts: Tensor) -> Rows:
        """Return the same of vectors that end in a 1 already."""
        found = texts @ self.matrix
        sizes = [int(np.prod(shape)) for shape in self.tables.values()]
        parts = zip(self.tables.items(), torch.split(found, sizes, dim=1), strict=True)
        rows = Rows({name: part.reshape(len(found), *shape) for (name, shape), part in parts})
        if self.unit:
            rows["vector"] = normalize(rows.vector, dim=1)
        return rows


@dataclass(frozen=True, eq=False)
class WordMap:
    """Where words put an entity: a text's rows of the tables are the sum over its words, plus a constant.

    Attributes
    ----------
    words
        The words and how rare they are.
    rows
        What leads from the vectors of words to tables.
    encoded
        What the vectors of a sentence encoder are multiplied with before they are added to those of words; None without an encoder.
    """

    words: TfIdf
    rows: TextMap
    encoded: Tensor | None = None

    def place(self, texts: Sequence[str], encoder: TextEncoder | None = None) -> Rows:
        """Return the rows of entities with such texts. The encoder is that of training, if there was one."""
        found = torch.from_numpy(self.words.encode(texts)).to(self.rows.matrix)
        if self.encoded is not None and encoder is not None:
            found += torch.from_numpy(encoder.encode(texts)).to(found) @ self.encoded
        return self.rows.place(found)

    def tensors(self) -> dict[str, Tensor]:
        """Return everything as tensors, which are saved with the model."""
        return {
            "words": torch.frombuffer(bytearray("\n".join(self.words.words).encode()), dtype=torch.uint8),
            "rarity": torch.from_numpy(self.words.rarity),
            "directions": torch.from_numpy(self.words.directions),
            "matrix": self.rows.matrix,
            "unit": torch.tensor(self.rows.unit),
            **({} if self.encoded is None else {"encoded": self.encoded}),
        }

    @classmethod
    def of_tensors(cls, tensors: Mapping[str, Tensor], model: Tables) -> WordMap:
        """Return the map that `tensors` kept, for a model."""
        try:
            words = tuple(bytes(tensors["words"].numpy()).decode().split("\n"))
            known = TfIdf(words, tensors["rarity"].numpy(), tensors["directions"].numpy())
            shapes = {name: tuple(table.shape[1:]) for name, table in model.entity.items()}
            rows = TextMap(tensors["matrix"], shapes, bool(tensors["unit"]))
            sizes = len(words), known.directions.shape[1] + 1, sum(int(np.prod(shape)) for shape in shapes.values())
            encoded = tensors.get("encoded")
            wide = encoded is None or (encoded.ndim == 2 and encoded.shape[1] == known.directions.shape[1])
            if (len(known.rarity), *rows.matrix.shape) != sizes or len(known.directions) != len(words) or not wide:
                raise InputError("the words do not fit the model")
        except (KeyError, UnicodeDecodeError, ValueError, IndexError, TypeError) as error:
            raise InputError(f"weights: the words cannot be read ({error})") from None
        return cls(known, rows, encoded)


def with_one(texts: npt.NDArray[np.float32] | Tensor) -> Tensor:
    """Return vectors with a 1 at the end, which the constant of the map is multiplied with."""
    table = torch.as_tensor(texts)
    return torch.cat([table, table.new_ones(len(table), 1)], dim=1)

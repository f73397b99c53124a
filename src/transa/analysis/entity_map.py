"""A map of the entities: their vectors in the plane by PCA or UMAP, with their degrees and types."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from transa.choices import Layout
from transa.data import Vocabulary
from transa.data.graph import SPLITS, Triples
from transa.errors import InputError
from transa.inference.neighbours import degrees_of
from transa.inference.trained import Trained
from transa.readable import short

Method = Layout


@dataclass(frozen=True, eq=False)
class EntityMap:
    """Entities in the plane.

    Attributes
    ----------
    places
        Coordinates, of shape (entities, 2).
    explained
        With PCA, the share of the variance along each of the two directions; otherwise None.
    degrees
        The number of training triples of each entity.
    entities
        The vocabulary of the graph.
    types
        The type of each entity, None for one without a type. None as a whole where types were not asked for.
    """

    places: npt.NDArray[np.float64]
    explained: tuple[float, float] | None
    degrees: npt.NDArray[np.int64]
    entities: Vocabulary = field(repr=False)
    types: list[str | None] | None = field(default=None, repr=False)

    def frame(self) -> pa.Table:
        """Return key, name, x, y, degree and, where they were asked for, type of each entity as an Arrow table."""
        columns = {
            "key": self.entities.keys,
            "name": [self.entities.name(each) for each in range(len(self.entities))],
            "x": self.places[:, 0],
            "y": self.places[:, 1],
            "degree": self.degrees,
        }
        return pa.table(columns if self.types is None else columns | {"type": pa.array(self.types, pa.string())})


def entity_map(trained: Trained, method: Method = "pca", colour: str = "degree", *, seed: int = 0) -> EntityMap:
    """Lay out the vectors of all entities in the plane.

    Parameters
    ----------
    trained
        The model and its graph.
    method
        ``"pca"`` takes the two directions in which vectors differ most. ``"umap"`` keeps near neighbours near; it needs the extra
        ``transa[umap]``.
    colour
        Where types come from. ``"degree"``: there are none. ``"type"``: the types of the graph. ``"role"``: the relation and side, such
        as ``tail of causes``, where an entity occurs most often in the known facts of all splits. Otherwise the key or name of a
        relation that leads from entities to their types in these facts, such as ``rdf:type``. Of several types, an entity gets the one
        that most entities have.
    seed
        The seed of UMAP.
    """
    trained.model.need_vectors("map")
    vectors = trained.model.entity.vector.detach().double().cpu().numpy()
    if len(vectors) < 2:
        raise InputError(f"a map needs at least two entities, and there are {len(vectors)}")
    types = None if colour == "degree" else _types(trained, colour)
    if method == "umap":
        places, explained = _umap(vectors, seed), None
    else:
        places, explained = _pca(vectors)
    return EntityMap(places, explained, degrees_of(trained), trained.graph.entities, types)


def _pca(vectors: npt.NDArray[np.float64]) -> tuple[npt.NDArray[np.float64], tuple[float, float]]:
    """Project on the first two principal directions, each with its largest entry positive, since its sign is arbitrary."""
    centred = vectors - vectors.mean(axis=0)
    _, values, directions = np.linalg.svd(centred, full_matrices=False)
    two = np.zeros((2, vectors.shape[1]))
    two[: len(directions[:2])] = directions[:2]  # in one dimension, the second is 0
    two *= np.where(two[np.arange(2), np.abs(two).argmax(axis=1)] < 0, -1.0, 1.0)[:, None]
    shares = np.append(np.square(values) / max(float(np.square(values).sum()), 1e-300), 0.0)
    return centred @ two.T, (float(shares[0]), float(shares[1]))


def _umap(vectors: npt.NDArray[np.float64], seed: int) -> npt.NDArray[np.float64]:
    """Run UMAP from the places of PCA. One thread is used, so that the same seed gives the same map."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # umap warns of optional parts that are not installed
        try:
            from umap import UMAP
        except ImportError:
            raise InputError("the method umap needs umap-learn: pip install 'transa[umap]'") from None
        near = min(15, len(vectors) - 1)
        if near < 2:
            raise InputError(f"UMAP needs at least three entities, and there are {len(vectors)}")
        start, _ = _pca(vectors)
        start *= 10 / max(float(np.abs(start).max()), 1e-12)
        laid = UMAP(n_neighbors=near, init=start, random_state=seed, n_jobs=1).fit_transform(vectors)
    places = np.asarray(laid, dtype=np.float64)
    if not np.isfinite(places).all():
        raise InputError("UMAP found no places for these vectors; use the method pca")
    return places


def _types(trained: Trained, colour: str) -> list[str | None]:
    """Return a name for the type of each entity."""
    graph = trained.graph
    facts = np.concatenate([graph.positives(split) for split in SPLITS])
    if colour == "role":
        sides = np.concatenate([facts[:, :2], facts[:, :0:-1]]).astype(np.int64)  # (head, r), (tail, r)
        codes = 2 * sides[:, 1] + np.repeat([0, 1], len(facts))
        names = [
            f"{side} of {graph.relations.name(r)}" for r in range(len(graph.relations)) for side in ("head", "tail")
        ]
        chosen = _most_frequent(np.stack([sides[:, 0], codes], axis=1), len(graph.entities))
        return [None if each < 0 else names[each] for each in chosen.tolist()]
    if colour == "type" and graph.types is None and colour not in graph.relations:
        raise InputError("the graph has no types; role colours by the sides of relations")
    if colour == "type" and graph.types is not None:
        often = graph.types.counts
        pairs = graph.types.entities[np.argsort(-often[graph.types.entities[:, 1]], kind="stable")]
        first = np.full(len(graph.entities), -1)
        entities, rows = np.unique(pairs[:, 0], return_index=True)
        first[entities] = pairs[rows, 1]
        return [None if each < 0 else short(graph.types.names[each]) for each in first.tolist()]
    relation = trained.relations.id(colour)
    led: Triples = facts[facts[:, 1] == relation]
    often = np.bincount(led[:, 2], minlength=len(graph.entities))
    order = np.argsort(-often[led[:, 2]], kind="stable")
    first = np.full(len(graph.entities), -1)
    entities, rows = np.unique(led[order, 0], return_index=True)
    first[entities] = led[order][rows, 2]
    return [None if each < 0 else graph.entities.name(each) for each in first.tolist()]


def _most_frequent(pairs: npt.NDArray[np.int64], number: int) -> npt.NDArray[np.int64]:
    """Return for each number in the first column the one that most often stands beside it in the second; -1 where there is none."""
    distinct, counts = np.unique(pairs, axis=0, return_counts=True)
    order = np.lexsort((distinct[:, 1], -counts, distinct[:, 0]))
    firsts, rows = np.unique(distinct[order, 0], return_index=True)
    found = np.full(number, -1)
    found[firsts] = distinct[order][rows, 1]
    return found

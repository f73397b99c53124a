"""From scores to probabilities: the thresholds and the calibration that the validation split gives, kept beside a run."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from transa.data import KnowledgeGraph
from transa.data.graph import Triples
from transa.errors import InputError
from transa.evaluation import Calibrator, classify
from transa.models import Model
from transa.training import RunFolder

#: Where a run folder keeps it.
FILE = "calibration.json"


@dataclass(frozen=True)
class Confidence:
    """Thresholds of relations, and the probability that a margin (threshold - score) stands for.

    Attributes
    ----------
    thresholds
        Of each relation that has validation triples, by id.
    global_threshold
        Of all other relations.
    calibrator
        From margins to probabilities.
    sampled
        Whether the false triples were drawn, because valid has no labels.
    """

    thresholds: dict[int, float]
    global_threshold: float
    calibrator: Calibrator
    sampled: bool

    @classmethod
    def fit(cls, model: Model, graph: KnowledgeGraph, seed: int = 0) -> Confidence:
        """Choose thresholds and a calibration on the validation split, as `transa classify` does."""
        found = classify(model, graph, "valid", seed=seed)
        assert found.calibrator is not None  # noqa: S101
        return cls(found.thresholds, found.global_threshold, found.calibrator, found.sampled)

    def threshold(self, relations: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the threshold of each relation."""
        return np.array([self.thresholds.get(int(relation), self.global_threshold) for relation in relations], float)

    def probability(self, relations: npt.NDArray[Any], scores: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the probability that triples of these relations and scores are true."""
        margins = np.nan_to_num(self.threshold(relations) - scores, neginf=-1e300, posinf=1e300)
        return self.calibrator.probability(margins)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "thresholds": {str(relation): threshold for relation, threshold in self.thresholds.items()},
            "global_threshold": self.global_threshold,
            "calibrator": self.calibrator.to_dict(),
            "sampled": self.sampled,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Confidence:
        """Return what `to_dict` described."""
        try:
            thresholds = {int(relation): float(value) for relation, value in values["thresholds"].items()}
            elsewhere = float(values["global_threshold"])
            if not np.isfinite([*thresholds.values(), elsewhere]).all():
                raise ValueError("a threshold is NaN or infinite")
            calibrator = Calibrator.from_dict(values["calibrator"])
            return cls(thresholds, elsewhere, calibrator, bool(values["sampled"]))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"not a calibration ({error})") from None

    @classmethod
    def of_run(cls, folder: RunFolder, model: Model, graph: KnowledgeGraph) -> Confidence:
        """Return what is kept in a run folder, or fit it and keep it there.

        What was fitted to other weights or other validation triples is fitted again, and so is what cannot be read. Where the folder
        cannot be written, nothing is kept.
        """
        origin = _origin(folder, graph)
        try:
            kept = folder.read_json(FILE)
            if kept.get("origin") == origin:
                return cls.from_dict(kept)
        except InputError:
            pass
        found = cls.fit(model, graph)
        with suppress(InputError):
            folder.write_json(FILE, {"origin": origin, **found.to_dict()})
        return found


def _origin(folder: RunFolder, graph: KnowledgeGraph) -> str:
    digest = hashlib.sha256()
    try:
        digest.update((folder.path / "weights.safetensors").read_bytes())
    except OSError as error:
        raise InputError(f"weights.safetensors cannot be read ({error.strerror})", path=folder.path) from None
    for triples in (graph.valid, graph.labels("valid")):
        digest.update(b"" if triples is None else triples.tobytes())
    return digest.hexdigest()


def margins(
    confidence: Confidence | None, triples: Triples, scores: npt.NDArray[np.float64], usual: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return by how much triples are plausible, comparable between relations.

    With thresholds that is threshold - score. Without, how far a score lies below the mean of the relation's training triples, in
    their standard deviations; `usual` holds both for each relation.
    """
    relations = triples[:, 1]
    if confidence is not None:
        return confidence.threshold(relations) - scores
    mean, deviation = usual[:, relations]
    found: npt.NDArray[np.float64] = (mean - scores) / deviation
    return found

"""From scores to probabilities: thresholds and a calibration, fitted to the validation split and kept in the run folder."""

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

#: The file of a run folder that keeps them.
FILE = "calibration.json"


@dataclass(frozen=True)
class Confidence:
    """A threshold for each relation, and the probability that belongs to a margin (threshold - score).

    Attributes
    ----------
    thresholds
        By the id of the relation, for relations with validation triples.
    global_threshold
        For all other relations.
    calibrator
        Turns margins into probabilities.
    sampled
        Whether false triples had to be drawn, because valid has no labels.
    """

    thresholds: dict[int, float]
    global_threshold: float
    calibrator: Calibrator
    sampled: bool

    @classmethod
    def fit(cls, model: Model, graph: KnowledgeGraph, seed: int = 0) -> Confidence:
        """Fit thresholds and a calibration to the validation split, as `transa classify` does."""
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
        """Return the object that `to_dict` described."""
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
    def of_run(cls, folder: RunFolder, model: Model, graph: KnowledgeGraph, fingerprint: str) -> Confidence:
        """Return the calibration that a run folder keeps, or fit one and keep it there.

        A kept one that is damaged, or was fitted to other weights or other validation triples, is fitted again. If the folder cannot
        be written, nothing is kept.

        Parameters
        ----------
        folder
            The run.
        model, graph, fingerprint
            What the run holds, and the checksum of its tables (`Trained.fingerprint`).
        """
        origin = _origin(fingerprint, graph)
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


def _origin(fingerprint: str, graph: KnowledgeGraph) -> str:
    """Return a checksum of everything that a calibration is fitted to."""
    digest = hashlib.sha256(fingerprint.encode())
    for triples in (graph.valid, graph.labels("valid")):
        digest.update(b"" if triples is None else triples.tobytes())
    return digest.hexdigest()


def margins(
    confidence: Confidence | None, triples: Triples, scores: npt.NDArray[np.float64], usual: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return how plausible triples are, comparable between relations.

    With thresholds, this is threshold - score. Without, it is how many standard deviations a score lies below the mean of the
    relation's training triples; `usual` holds the mean and the deviation of each relation.
    """
    relations = triples[:, 1]
    if confidence is not None:
        return confidence.threshold(relations) - scores
    mean, deviation = usual[:, relations]
    found: npt.NDArray[np.float64] = (mean - scores) / deviation
    return found

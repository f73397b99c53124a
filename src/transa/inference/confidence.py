"""From scores to decisions and probabilities: what is learned from the validation split and kept in the run folder."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from transa.data import KnowledgeGraph
from transa.data.graph import Triples
from transa.errors import InputError
from transa.evaluation import Calibrator, classify
from transa.evaluation.calibration import best_calibrator
from transa.inference.answer_chances import AnswerChances
from transa.inference.held_out_questions import learn

if TYPE_CHECKING:
    from transa.inference.trained import Trained
    from transa.training import RunFolder

#: The file of a run folder that keeps them.
FILE = "calibration.json"


@dataclass(frozen=True)
class Confidence:
    """A threshold for each relation, and the probabilities of answers.

    Attributes
    ----------
    thresholds
        By the id of the relation, for relations with validation triples.
    global_threshold
        For all other relations.
    answers
        The probability that an answer to a question is true.
    calibrator
        If valid has labels: the probability that belongs to a margin (threshold - score) among triples mixed like these. None if
        false triples had to be drawn.
    labelled
        How many labelled triples of valid the calibrator was fitted to.
    """

    thresholds: dict[int, float]
    global_threshold: float
    answers: AnswerChances
    calibrator: Calibrator | None
    labelled: int

    @classmethod
    def fit(cls, trained: Trained) -> Confidence:
        """Fit thresholds to the validation split as `transa classify` does, and learn the probabilities of answers."""
        found = classify(trained.model, trained.graph, "valid", calibration=None)
        calibrator, rows = None, ~found.barred
        if not found.sampled and rows.any():
            calibrator = best_calibrator(found.margins[rows], found.labels[rows])
        return cls(found.thresholds, found.global_threshold, learn(trained), calibrator, int(rows.sum()))

    def threshold(self, relations: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """Return the threshold of each relation."""
        return np.array([self.thresholds.get(int(relation), self.global_threshold) for relation in relations], float)

    def classified(self, relations: npt.NDArray[Any], scores: npt.NDArray[Any]) -> list[float]:
        """Return the probability that triples of these relations and scores are true, where they are mixed like those of valid."""
        assert self.calibrator is not None  # noqa: S101
        margins = np.nan_to_num(self.threshold(relations) - scores, neginf=-1e300, posinf=1e300)
        edge = 1 / (self.labelled + 2)  # of n triples, none says that the next is impossible
        found: list[float] = np.clip(self.calibrator.probability(margins), edge, 1 - edge).tolist()
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "thresholds": {str(relation): threshold for relation, threshold in self.thresholds.items()},
            "global_threshold": self.global_threshold,
            "answers": self.answers.to_dict(),
            "calibrator": None if self.calibrator is None else self.calibrator.to_dict(),
            "labelled": self.labelled,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Confidence:
        """Return the object that `to_dict` described."""
        try:
            thresholds = {int(relation): float(value) for relation, value in values["thresholds"].items()}
            elsewhere = float(values["global_threshold"])
            if not np.isfinite([*thresholds.values(), elsewhere]).all():
                raise ValueError("a threshold is NaN or infinite")
            given = values["calibrator"]
            calibrator = None if given is None else Calibrator.from_dict(given)
            answers = AnswerChances.from_dict(values["answers"])
            return cls(thresholds, elsewhere, answers, calibrator, int(values["labelled"]))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise InputError(f"not a calibration ({error})") from None

    @classmethod
    def of_run(cls, trained: Trained) -> Confidence:
        """Return the calibration that the run folder of a trained model keeps, or fit one and keep it there.

        A kept one that is damaged, or was fitted to other weights or other validation triples, is fitted again. If there is no folder
        or it cannot be written, nothing is kept.
        """
        folder = trained.folder
        if folder is None:
            return cls.fit(trained)
        origin = _origin(trained.fingerprint, trained.graph)
        kept = trained.agreed(_kept(folder, origin))
        with suppress(InputError):
            if kept is not None:
                return cls.from_dict(kept)
        found = cls.fit(trained)
        with suppress(InputError):
            folder.write_json(FILE, {"origin": origin, **found.to_dict()})
        return found


def _kept(folder: RunFolder, origin: str) -> dict[str, Any] | None:
    """Return what a run folder keeps of an origin, if it is readable."""
    try:
        kept = folder.read_json(FILE)
    except InputError:
        return None
    return kept if kept.get("origin") == origin else None


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

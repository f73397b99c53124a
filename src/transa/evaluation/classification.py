"""Triple classification: a triple is classified as true if its score is below the threshold of its relation.

A relation gets the threshold with the highest accuracy on its validation triples; a relation without any gets the threshold that is
best over all of them. The margin of a triple is threshold - score.

Decided by questions, a triple is compared with the other answers to its two questions (`transa.evaluation.context`). Its score is then
the negative of its log-odds, and all thresholds are 0.

Loops that the model's loop prior bars are false whatever their score, so they take no part in choosing thresholds and probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from transa.choices import DecidedBy
from transa.data.graph import KnowledgeGraph, Labels, Split, Triples
from transa.data.relations import by_relation
from transa.data.result_files import write_table
from transa.data.vocabulary import Vocabulary
from transa.errors import InputError
from transa.evaluation.calibration import Calibrator, Method, Reliability, brier_score, calibrator_class
from transa.evaluation.labelled import LabelledTriples
from transa.evaluation.measures import average_precision, decision_measures, roc_auc, wilson_interval
from transa.evaluation.scores import check_sizes
from transa.evaluation.thresholds import Decision, row_values
from transa.frames import Framed
from transa.models import Model
from transa.models.loop_prior import barred_triples
from transa.readable import counted, short
from transa.table import Table, figure


@dataclass(frozen=True, eq=False, repr=False)
class Classification(Framed):
    """The decisions of triple classification on a split.

    Attributes
    ----------
    triples
        Rows of (head, relation, tail).
    labels, decisions
        1 (true) or -1 (false): the truth, and what the model decided.
    scores
        The model's scores; lower is more plausible.
    barred
        Which triples are loops that the loop prior bars: decided to be false, with probability 0.
    probabilities
        The probability that a triple is true, from its margin; None without calibration.
    shares
        The share of true triples of each relation that has validation triples, there, by its id.
    global_share
        The share over all validation triples.
    thresholds
        The threshold of each relation that has validation triples, by its id.
    global_threshold
        The threshold of all other relations.
    sampled
        Whether false triples were drawn because valid or the evaluated split has no labels.
    seed
        Seed of the drawn triples.
    decided_by
        What the scores are: the model's, or negative log-odds from the questions of a triple.
    split
        The split that was evaluated.
    population
        How many triples the split has; more than `triples` holds if this is a sample.
    calibrator
        Turns margins into probabilities.
    notes
        Warnings for readers of the figures.
    entities, relations
        The vocabularies.
    """

    triples: Triples
    labels: Labels
    scores: npt.NDArray[np.float64]
    barred: npt.NDArray[np.bool_]
    decisions: Labels
    probabilities: npt.NDArray[np.float64] | None
    shares: dict[int, float]
    global_share: float
    thresholds: dict[int, float]
    global_threshold: float
    sampled: bool
    seed: int
    decided_by: DecidedBy
    split: Split
    population: int
    calibrator: Calibrator | None
    notes: tuple[str, ...]
    entities: Vocabulary = field(repr=False)
    relations: Vocabulary = field(repr=False)

    @cached_property
    def margins(self) -> npt.NDArray[np.float64]:
        """Threshold - score: above 0 if a triple is classified as true; minus infinity for a barred loop."""
        margins = row_values(self.triples, self.thresholds, self.global_threshold) - self.scores
        return np.where(self.barred, -np.inf, margins)

    @cached_property
    def by_share(self) -> npt.NDArray[np.bool_]:
        """What one would decide without a model: true where at least half of the relation's validation triples are."""
        return row_values(self.triples, self.shares, self.global_share) >= 0.5

    def summary(self) -> dict[str, Any]:
        """Return all measures as fractions, over all triples and for each relation; an undefined measure is None.

        ``by_share`` is the accuracy without a model, by the share of true triples that the relation has in valid.
        AUC and average precision over all relations use margins, since scores of two relations do not compare.
        """
        relations: dict[str, Any] = {}
        for relation, rows in by_relation(self.triples):
            relations[self.relations[relation]] = {
                "threshold": self.thresholds.get(relation, self.global_threshold),
                **self._measures(rows),
                "own_threshold": relation in self.thresholds,
            }
        return {
            "split": self.split,
            "decided_by": self.decided_by,
            **self._measures(np.arange(len(self.triples))),
            "sampled": self.sampled,
            "seed": self.seed,
            "global_threshold": self.global_threshold,
            "barred_loops": int(self.barred.sum()),
            "estimate": self._estimate(),
            "relations": relations,
            "calibration": self._calibration(),
            "notes": list(self.notes),
        }

    def table(self) -> Table:
        """Return the measures as people read them, over all triples and for each relation."""
        names = {
            "accuracy": "accuracy",
            "precision": "precision",
            "recall": "recall",
            "f1": "F1",
            "by_share": "by share",
        }
        found = self.summary()
        rows = [("all", found), *((short(key), each) for key, each in found["relations"].items())]
        cells = ((name, str(each["n"]), *(figure(each[column]) for column in names)) for name, each in rows)
        title = f"decisions on {counted(len(self.triples), f'{self.split} triple')}"
        return Table(title, ("relation", "triples", *names.values()), tuple(cells), "; ".join(self.notes))

    def __repr__(self) -> str:
        return str(self.table())

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()

    def _measures(self, rows: npt.NDArray[np.int64]) -> dict[str, Any]:
        labels, margins = self.labels[rows], self.margins[rows]
        return {
            **decision_measures(labels, self.decisions[rows]),
            "by_share": float(((labels == 1) == self.by_share[rows]).mean()) if len(rows) else None,
            "auc": roc_auc(labels, margins),
            "average_precision": average_precision(labels, margins),
            "n": len(rows),
        }

    def _estimate(self) -> dict[str, Any] | None:
        if self.population == len(self.triples):
            return None
        right = int((self.labels == self.decisions).sum())
        return {
            "population": self.population,
            "confidence": 0.95,
            "accuracy_interval": list(wilson_interval(right, len(self.triples))),
        }

    def _calibration(self) -> dict[str, Any] | None:
        if self.calibrator is None or self.probabilities is None:
            return None
        return {
            "method": self.calibrator.method,
            "brier": brier_score(self.probabilities, self.labels),
            "ece": Reliability.of(self.probabilities, self.labels).error,
        }

    def frame(self) -> pa.Table:
        """Return every decision as an Arrow table: keys, label, score, threshold, decision and probability."""
        heads, relations, tails = self.triples.T
        return pa.table(
            {
                "head": self.entities.keys.take(pa.array(heads)),
                "relation": self.relations.keys.take(pa.array(relations)),
                "tail": self.entities.keys.take(pa.array(tails)),
                "label": pa.array(self.labels),
                "score": pa.array(self.scores),
                "threshold": pa.array(row_values(self.triples, self.thresholds, self.global_threshold)),
                "decision": pa.array(self.decisions),
                "probability": pa.nulls(len(self.triples), pa.float64())
                if self.probabilities is None
                else pa.array(self.probabilities),
            }
        )

    def write(self, path: Path, *, overwrite: bool = False) -> Path:
        """Write every decision to a .csv, .tsv or .parquet file."""
        return write_table(self.frame(), path, overwrite=overwrite)


def classify(
    model: Model,
    graph: KnowledgeGraph,
    split: Split = "test",
    *,
    seed: int = 0,
    calibration: Method | None = "isotonic",
    limit: int | None = None,
    by: DecidedBy = "score",
) -> Classification:
    """Tell the true triples of a split from false ones.

    Thresholds and calibration come from the validation split only.

    Parameters
    ----------
    model
        A trained model.
    graph
        The graph it was trained on. Labels are used as they are. For a split without labels, a false triple that is not in the graph
        is drawn for each true one (see `transa.evaluation.labelled`).
    split
        ``"test"`` or ``"valid"``.
    seed
        Seed of the false triples and of the sample.
    calibration
        How margins become probabilities: ``"isotonic"``, ``"platt"``, or None for no probabilities.
    limit
        Evaluate a random sample of this many triples; the summary then has a confidence interval for the accuracy.
    by
        ``"score"``: a triple is true if its score is below the threshold of its relation. ``"questions"``: by its score, its ranks and
        the best other answers to its two questions (`transa.evaluation.context`), which takes as long as link prediction.
    """
    _check(model, graph, split, seed, limit, by)
    kind = None if calibration is None else calibrator_class(calibration)
    valid = LabelledTriples.of(graph, "valid", seed)
    fitted = valid.take(~barred_triples(model, valid.triples))
    rule = Decision.fit(model, fitted.triples, fitted.labels, by)
    calibrator = None
    if kind is not None:
        margins = rule.of_rows(fitted.triples) - rule.fitted_scores
        calibrator = kind.fit(margins, fitted.labels)
    whole = valid if split == "valid" else LabelledTriples.of(graph, split, seed)
    part = whole if limit is None else whole.sample(limit, seed)
    scores, barred = rule.scores(model, part.triples), barred_triples(model, part.triples)
    margins = rule.of_rows(part.triples) - scores
    return Classification(
        triples=part.triples,
        labels=part.labels,
        scores=scores,
        barred=barred,
        decisions=np.where((margins > 0) & ~barred, 1, -1).astype(np.int8),
        probabilities=None if calibrator is None else np.where(barred, 0.0, calibrator.probability(margins)),
        shares={relation: float((valid.labels[rows] == 1).mean()) for relation, rows in by_relation(valid.triples)},
        global_share=float((valid.labels == 1).mean()),
        thresholds=rule.thresholds,
        global_threshold=rule.fallback,
        sampled=valid.sampled or whole.sampled,
        seed=seed,
        decided_by=by,
        split=split,
        population=len(whole),
        calibrator=calibrator,
        notes=(*_notes(split, valid, whole, part, seed, calibrator), *_note_of_loops(int(barred.sum()))),
        entities=graph.entities,
        relations=graph.relations,
    )


def _note_of_loops(count: int) -> Iterator[str]:
    if count:
        yield f"{count:,} triples from an entity to itself are called false: their relations have hardly any in train"


def _check(model: Model, graph: KnowledgeGraph, split: Split, seed: int, limit: int | None, by: object) -> None:
    if split not in ("valid", "test"):
        raise InputError(f"split: expected 'test' or 'valid', found {split!r}")
    if by not in get_args(DecidedBy):
        raise InputError(f"by: expected 'score' or 'questions', found {by!r}")
    if not 0 <= seed < 2**63:
        raise InputError(f"expected a seed from 0 to 2^63 - 1, found {seed}")
    if limit is not None and limit < 1:
        raise InputError(f"limit: expected at least 1, found {limit}")
    check_sizes(model, graph)
    if not len(graph.valid):
        raise InputError("the graph has no validation triples, from which thresholds are chosen")
    if not len(graph.triples(split)):
        raise InputError(f"the graph has no {split} triples")


def _notes(
    split: Split,
    valid: LabelledTriples,
    whole: LabelledTriples,
    part: LabelledTriples,
    seed: int,
    calibrator: Calibrator | None,
) -> Iterator[str]:
    unlabelled = [name for name, rows in {"valid": valid, split: whole}.items() if rows.sampled]
    if unlabelled:
        have = "has" if len(unlabelled) == 1 else "have"
        yield f"{' and '.join(unlabelled)} {have} no labels: one false triple was drawn for each true one (seed {seed})"
    if split == "valid":
        fitted = "thresholds were" if calibrator is None else "thresholds and calibration were"
        yield f"{fitted} chosen on these very triples: the figures flatter the model"
    if len(part) < len(whole):
        yield f"an estimate from {len(part):,} of {len(whole):,} triples, drawn at random (seed {seed})"

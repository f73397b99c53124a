"""What a trained model can be asked: evaluation and questions, as methods of every estimator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from transa.choices import Calibration, DecidedBy, Side, Split
from transa.data import KnowledgeGraph
from transa.data.constraints import Constraints
from transa.evaluation import Classification, Evaluation, classify, evaluate
from transa.inference import (
    Answers,
    Audit,
    Checks,
    Completion,
    Explanation,
    Neighbours,
    Question,
    Trained,
    answer,
    audit,
    check,
    complete,
    discover,
    doubtful,
    explain,
    neighbours,
)
from transa.inference.consistent import SECONDS, TRUST
from transa.models import Model
from transa.training import Recipe


class Asking(ABC):
    """Whatever has a trained model answers questions about its graph."""

    @property
    @abstractmethod
    def trained_(self) -> Trained:
        """The trained model with its graph and its recipe."""

    @property
    def model_(self) -> Model:
        """The trained model."""
        return self.trained_.model

    @property
    def graph_(self) -> KnowledgeGraph:
        """The graph that the model was trained on."""
        return self.trained_.graph

    @property
    def recipe_(self) -> Recipe:
        """The recipe that the model was trained by, with all its settings."""
        recipe = self.trained_.recipe
        assert recipe is not None  # noqa: S101
        return recipe

    # ------------------------------------------------------------------ evaluation

    def evaluate(
        self,
        graph: KnowledgeGraph | None = None,
        split: Split = "test",
        *,
        known: Sequence[Split] | None = None,
        limit: int | None = None,
        seed: int = 0,
        chunk: int | None = None,
        callback: Callable[[int], None] | None = None,
        loop_prior: bool = True,
        rules: bool = False,
    ) -> Evaluation:
        """Rank the head and the tail of each true triple of a split among all entities.

        Parameters
        ----------
        graph
            By default the graph that the model was trained on. Entities and relations of any other are found by their keys, and
            the model must know all that stand in its triples.
        split, known, limit, seed, chunk, callback, loop_prior, rules
            See `transa.evaluation.evaluate`.
        """
        chosen = self.graph_ if graph is None else self.trained_.aligned(graph)
        return evaluate(
            self.model_,
            chosen,
            split,
            known=known,
            limit=limit,
            seed=seed,
            chunk=chunk,
            callback=callback,
            loop_prior=loop_prior,
            rules=rules,
        )

    def classify(
        self,
        graph: KnowledgeGraph | None = None,
        split: Split = "test",
        *,
        seed: int = 0,
        calibration: Calibration | None = "isotonic",
        limit: int | None = None,
        by: DecidedBy | None = None,
    ) -> Classification:
        """Tell the true triples of a split from false ones, with thresholds from the validation split.

        Parameters
        ----------
        graph
            By default the graph that the model was trained on. Entities and relations of any other are found by their keys, and
            the model must know all that stand in its triples.
        split, seed, calibration, limit
            See `transa.evaluation.classify`.
        by
            The same; by default what the recipe has as `decided_by`.
        """
        chosen = self.graph_ if graph is None else self.trained_.aligned(graph)
        decided_by = self.recipe_.decided_by if by is None else by
        return classify(self.model_, chosen, split, seed=seed, calibration=calibration, limit=limit, by=decided_by)

    # ------------------------------------------------------------------ questions

    def predict(
        self,
        *,
        relation: str | None = None,
        head: str | None = None,
        tail: str | None = None,
        top: int = 10,
        new_only: bool = False,
        in_range: bool = False,
        loop_prior: bool = True,
    ) -> Answers:
        """Answer (head, relation, ?), (?, relation, tail) or (head, ?, tail), the most plausible answer first.

        Parameters
        ----------
        relation, head, tail
            Two of the three, by key or by name.
        top, new_only, in_range, loop_prior
            See `transa.inference.answer`, which also answers many questions at once.
        """
        question = Question(head, relation, tail)
        return self.answer([question], top=top, new_only=new_only, in_range=in_range, loop_prior=loop_prior)[0]

    def answer(
        self,
        questions: Sequence[Question],
        *,
        top: int = 10,
        new_only: bool = False,
        in_range: bool = False,
        loop_prior: bool = True,
    ) -> list[Answers]:
        """Answer many questions at once; see `transa.inference.answer`."""
        return answer(self.trained_, questions, top=top, new_only=new_only, in_range=in_range, loop_prior=loop_prior)

    def check(self, triples: Any) -> Checks:
        """Decide whether triples are true, with thresholds from the validation split.

        Parameters
        ----------
        triples
            Heads, relations and tails by key or by name, as rows, an array or a pandas, polars or Arrow frame.
        """
        return check(self.trained_, triples)

    def discover(
        self,
        *,
        top: int = 100,
        each: int = 10,
        each_head: int | None = None,
        relations: Sequence[str] | None = None,
        errors: bool = False,
        parts: Path | None = None,
        callback: Callable[[int], None] | None = None,
        loop_prior: bool = True,
    ) -> Checks:
        """Return the most probable new facts of the whole graph, or with `errors` the least probable facts of train.

        Parameters
        ----------
        top, each, each_head, relations, parts, callback, loop_prior
            See `transa.inference.discover`; all but `top`, `each_head` and `relations` are for new facts.
        errors
            Return facts of train that look wrong.
        """
        if errors:
            return doubtful(self.trained_, top=top, each_head=each_head, relations=relations)
        return discover(
            self.trained_,
            top=top,
            each=each,
            each_head=each_head,
            relations=relations,
            parts=parts,
            callback=callback,
            loop_prior=loop_prior,
        )

    def complete(
        self,
        constraints: Constraints | str | Path | None = None,
        *,
        each: int = 10,
        candidates: int = 10_000,
        trust: float = TRUST,
        seconds: float = SECONDS,
        callback: Callable[[int], None] | None = None,
    ) -> Completion:
        """Return the best set of new facts that breaks no constraint; see `transa.inference.complete`."""
        return complete(
            self.trained_,
            constraints,
            each=each,
            candidates=candidates,
            trust=trust,
            seconds=seconds,
            callback=callback,
        )

    def audit(
        self,
        constraints: Constraints | str | Path | None = None,
        *,
        top: int = 100,
        relations: Sequence[str] | None = None,
        trust: float = TRUST,
        seconds: float = SECONDS,
    ) -> Audit:
        """Return the training facts that look wrong, the most doubtful first; see `transa.inference.audit`."""
        return audit(self.trained_, constraints, top=top, relations=relations, trust=trust, seconds=seconds)

    def explain(self, head: str, relation: str, tail: str, *, top: int = 5, side: Side = "tail") -> Explanation:
        """Explain the score of a triple; see `transa.inference.explain`."""
        return explain(self.trained_, head, relation, tail, top=top, side=side)

    def neighbours(self, entity: str, relation: str | None = None, *, top: int = 10) -> Neighbours:
        """Return the nearest entities by Euclidean distance, or by the distance of a relation."""
        return neighbours(self.trained_, entity, relation, top=top)

"""Why a model gives a triple its score: first the reasons that people understand, and last what its metric weighs."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from transa.data.graph import KnowledgeGraph, Triples
from transa.errors import InputError
from transa.evaluation import link_prediction
from transa.evaluation.queries import SIDES, Side
from transa.inference.answers import Prediction, Question
from transa.inference.check import Checked, check_ids
from transa.inference.explanation_text import sentence_of, tables_of
from transa.inference.neighbours import distances
from transa.inference.predict import answer
from transa.inference.reasons import Against, Path, Similar, against, paths, similar
from transa.inference.residual import Parts, Transformed, parts, transformed
from transa.inference.rule_reasons import RuleReason, rule_reasons
from transa.inference.texts import WordEffect, word_effects
from transa.inference.trained import Trained
from transa.readable import one_line
from transa.table import Table


@dataclass(frozen=True)
class Rank:
    """The rank of the triple's own entity among all entities: raw, and filtered of other known facts."""

    raw: float
    filtered: float


@dataclass(frozen=True)
class Support:
    """A training triple of the same relation, and how far its two ends are from those of the explained triple."""

    head: str
    tail: str
    distance: float
    head_name: str = ""
    tail_name: str = ""


@dataclass(frozen=True)
class Without:
    """What the same vectors predict without the metric.

    Attributes
    ----------
    norm
        ``"L1"`` or ``"L2"``: the norm in the metric's place.
    head_rank, tail_rank
        The ranks of the triple's own entities then.
    answers
        The best answers to the question that is asked.
    """

    norm: str
    head_rank: Rank
    tail_rank: Rank
    answers: tuple[Prediction, ...]


@dataclass(frozen=True)
class About:
    """What the graph says of an entity: its types, the rarest first, and its description."""

    types: tuple[str, ...] = ()
    description: str | None = None

    @classmethod
    def of(cls, graph: KnowledgeGraph, entity: int) -> About:
        """Look it up."""
        told = None if graph.entities.descriptions is None else graph.entities.descriptions[entity].as_py()
        return cls(() if graph.types is None else tuple(graph.types.of(entity)), told)


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why a triple scores as it does. It prints as a sentence and tables, in a terminal and in a notebook.

    Attributes
    ----------
    triple
        Its score, threshold, probability, and whether it is known.
    splits
        The splits that hold it.
    like_head, like_tail
        Entities near the head that have the relation to this tail in train; entities near the tail to which this head has it.
    paths
        Short paths of training triples from the head to the tail.
    against
        Known answers that speak against this one, since the relation hardly ever has two.
    rules
        The strongest rules that speak for it, with the facts they rest on; none for a model without rules.
    support
        The nearest training triples of the relation.
    head_rank, tail_rank
        The ranks of its entities among all.
    answers
        The best answers to (head, relation, ?), or to (?, relation, tail) if heads were asked for.
    without
        What the vectors predict without the metric; None for a model without one.
    parts
        What each dimension of the residual adds.
    transformed
        The same in the dimensions of W_r = L D L^T; None for a model without a metric.
    entities
        How many entities there are.
    side
        Which side is asked for in `answers`, and by a directional model in `parts` and `transformed`.
    about_head, about_tail
        Their types and descriptions.
    words
        Of an entity that was placed by its text, the words that speak for the triple.
    """

    triple: Checked
    splits: tuple[str, ...]
    like_head: tuple[Similar, ...]
    like_tail: tuple[Similar, ...]
    paths: tuple[Path, ...]
    against: tuple[Against, ...]
    rules: tuple[RuleReason, ...]
    support: tuple[Support, ...]
    head_rank: Rank
    tail_rank: Rank
    answers: tuple[Prediction, ...]
    without: Without | None
    parts: Parts
    transformed: Transformed | None
    entities: int
    side: Side = "tail"
    words: tuple[WordEffect, ...] = ()
    about_head: About = field(default_factory=lambda: About())
    about_tail: About = field(default_factory=lambda: About())

    @property
    def sentence(self) -> str:
        """What the graph and the model say of the triple, and the best reasons, in one sentence."""
        return sentence_of(self)

    def tables(self, *, top: int = 5, full: bool = False) -> list[Table]:
        """Return the explanation as people read it, without the sentence: reasons first, dimensions last.

        Parameters
        ----------
        top
            How many dimensions.
        full
            Whether to show IRIs in full.
        """
        return tables_of(self, top=top, full=full)

    def __repr__(self) -> str:
        return "\n\n".join([one_line(self.sentence), *map(str, self.tables())])

    def _repr_html_(self) -> str:
        return "".join([f"<p>{escape(self.sentence)}</p>", *(each._repr_html_() for each in self.tables())])

    def dimensions(self) -> list[dict[str, Any]]:
        """Return the dimensions, those that add most to the score first; the transformed ones if there is a metric."""
        if self.transformed is None:
            return self.residual_dimensions()
        found = self.transformed
        return _sorted(dimension=found.pivots, value=found.values, weight=found.weights, part=found.shares)

    def residual_dimensions(self) -> list[dict[str, Any]]:
        """Return the dimensions of the residual, those that add most to the score first."""
        values = self.parts.values
        return _sorted(dimension=np.arange(len(values)), value=values, part=self.parts.shares)

    def frame(self) -> pa.Table:
        """Return the dimensions as an Arrow table."""
        return pa.Table.from_pylist(self.dimensions())

    def report(self) -> dict[str, Any]:
        """Return everything as plain values."""
        return {
            "sentence": self.sentence,
            **asdict(self.triple),
            "splits": list(self.splits),
            "asked": self.side,
            "like_head": [asdict(each) for each in self.like_head],
            "like_tail": [asdict(each) for each in self.like_tail],
            "paths": [{"text": str(each), **asdict(each)} for each in self.paths],
            "against": [asdict(each) for each in self.against],
            "rules": [{"text": str(each), **asdict(each)} for each in self.rules],
            "about_head": asdict(self.about_head),
            "about_tail": asdict(self.about_tail),
            "words": [asdict(each) for each in self.words],
            "support": [asdict(each) for each in self.support],
            "head_rank": asdict(self.head_rank),
            "tail_rank": asdict(self.tail_rank),
            "answers": [asdict(each) for each in self.answers],
            "without_metric": None if self.without is None else asdict(self.without),
            "dimensions_of": self.parts.what if self.transformed is None else "L^T |e| of W_r = L D L^T",
            "dimensions": self.dimensions(),
            "residual_of": self.parts.what,
            "residual": self.residual_dimensions(),
            "total": self.parts.total,
        }


def explain(trained: Trained, head: str, relation: str, tail: str, *, top: int = 5, side: Side = "tail") -> Explanation:
    """Explain the score of a triple.

    Parameters
    ----------
    trained
        Whose score.
    head, relation, tail
        By key or by name; the triple need not be known.
    top
        How many supporting triples, similar entities and answers.
    side
        Explain the triple as an answer to (head, relation, ?) or, with ``"head"``, to (?, relation, tail). To a directional model,
        these are different questions; for others only the best answers differ.
    """
    if top < 1:
        raise InputError(f"top: expected at least 1, found {top}")
    if side not in SIDES:
        raise InputError(f"side: expected 'head' or 'tail', found {side!r}")
    triple = trained.triple(head, relation, tail)
    h, r, t = triple[0].tolist()
    head_rank, tail_rank = _ranks(trained, triple)
    model = trained.model
    asked = model.inverted(triple) if model.directional and side == "head" else triple
    return Explanation(
        triple=check_ids(trained, triple).checked[0],
        splits=tuple(trained.splits_of(triple)),
        like_head=similar(trained, h, r, t, top) if model.has_vectors else (),
        like_tail=similar(trained, t, r + trained.adjacency.relations, h, top) if model.has_vectors else (),
        paths=paths(trained, triple, top),
        against=against(trained, triple),
        rules=rule_reasons(trained, h, r, t, top),
        support=_support(trained, triple, top) if model.has_vectors else (),
        head_rank=head_rank,
        tail_rank=tail_rank,
        answers=_answers(trained, triple, side, top),
        without=_without(trained, triple, side, top),
        parts=parts(model, asked),
        transformed=transformed(model, asked),
        entities=model.num_entities,
        side=side,
        words=word_effects(trained, triple, side, top),
        about_head=About.of(trained.graph, h),
        about_tail=About.of(trained.graph, t),
    )


def _sorted(**columns: npt.NDArray[Any]) -> list[dict[str, Any]]:
    plain = [column.tolist() for column in columns.values()]
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*plain, strict=True)]
    return sorted(rows, key=lambda row: -abs(row["part"]))


def _answers(trained: Trained, triple: Triples, side: Side, top: int) -> tuple[Prediction, ...]:
    head, relation, tail = triple[0].tolist()
    entities, key = trained.graph.entities, trained.graph.relations[relation]
    question = Question(entities[head], key) if side == "tail" else Question(None, key, entities[tail])
    return answer(trained, [question], top=top)[0].predictions


def _ranks(trained: Trained, triple: Triples) -> tuple[Rank, Rank]:
    found = link_prediction(trained.ranker, triple, trained.facts)
    raw, filtered = found.ranks(filtered=False)[0], found.ranks(filtered=True)[0]
    return Rank(float(raw[0]), float(filtered[0])), Rank(float(raw[1]), float(filtered[1]))


def _support(trained: Trained, triple: Triples, top: int) -> tuple[Support, ...]:
    """Return the training triples of the relation whose ends are nearest: root of the sum of both squared distances."""
    head, relation, tail = triple[0].tolist()
    train = trained.graph.train
    rows = np.unique(train[(train[:, 1] == relation) & (train != triple).any(axis=1)], axis=0)
    away = np.hypot(distances(trained, head)[rows[:, 0]], distances(trained, tail)[rows[:, 2]])
    names = trained.graph.entities
    order = np.argsort(away, kind="stable")[:top].tolist()
    ends = [(int(rows[i, 0]), int(rows[i, 2]), float(away[i])) for i in order]
    return tuple(Support(names[one], names[two], far, names.name(one), names.name(two)) for one, two, far in ends)


def _without(trained: Trained, triple: Triples, side: Side, top: int) -> Without | None:
    """Predict with the norm that the vectors were trained with or the metric started as."""
    recipe = trained.recipe
    by_l1 = recipe is not None and (recipe.training_score == "l1" or recipe.prior == "ones")
    plain = trained.model.plain(norm=1 if by_l1 else None)
    if plain is None:
        return None
    other = trained.with_model(plain)
    head_rank, tail_rank = _ranks(other, triple)
    return Without(f"L{plain.norm}", head_rank, tail_rank, _answers(other, triple, side, top))

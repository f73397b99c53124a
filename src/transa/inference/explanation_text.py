"""An explanation in words: one sentence, and tables with reasons first and dimensions last."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from transa.errors import quote
from transa.inference.trained import FALSE, state_of
from transa.readable import called, listed, short
from transa.table import Table, figure

if TYPE_CHECKING:
    from transa.inference.explain import Explanation
    from transa.inference.reasons import Similar

#: Above this share of the score, a dimension is told in words, since a bar of nearly everything tells nothing.
ALONE = 0.95
#: How many entities a sentence names.
NAMED = 3
#: A verb at the beginning of a relation's name, before a noun.
_HAS = re.compile(r"^has(?:[\s_-]+|(?=[A-Z]))(?=\w)")


def sentence_of(found: Explanation) -> str:
    """Return what the graph and the model say of a triple, and the best reasons."""
    triple = found.triple
    fact = f"{triple.head_name} —{triple.relation_name}→ {triple.tail_name}"
    held = f"is {_where(found)}" if not found.splits else f"is a fact of {listed(list(found.splits))}"
    rank = f"rank {_rank(found):g} of {found.entities:,}"
    if triple.probability is None:
        said = f"and the model gives it {rank}"
    else:
        said = f"and the model gives it a probability of {triple.probability:.3f} ({rank})"
    doubted = triple.probability is not None and triple.probability < 0.5
    reasons = _reasons(found)
    if triple.note not in (None, FALSE):
        words = f"; {_words(found)}" if found.words else ""
        return f"{fact} {held}, {said}: {triple.note}{words}."
    first, then = (_against(found), reasons) if doubted else (reasons, _against(found))
    if not first and not then:
        return f"{fact} {held}, {said}; no similar entity has this fact, and no short path leads from one to the other."
    because = f": {'; '.join(first)}" if first else ""
    although = f", although {'; '.join(then)}" if then else ""
    return f"{fact} {held}, {said}{because}{although}."


def _where(found: Explanation) -> str:
    """Say where the graph holds a triple, if it does."""
    if found.splits:
        return f"in {listed(list(found.splits))}"
    return FALSE if found.triple.note == FALSE else "not in the graph"


def _rank(found: Explanation) -> float:
    return (found.head_rank if found.side == "head" else found.tail_rank).filtered


def _reasons(found: Explanation) -> list[str]:
    triple = found.triple
    reasons = [f"by a rule, {found.rules[0]}"] if found.rules else []
    reasons += [_words(found)] if found.words else []
    single = {
        each.side for each in found.against
    }  # where there is one answer, another one is no reason, however similar
    heads = [] if "head" in single else _near(found.like_head, found.entities)
    tails = [] if "tail" in single else _near(found.like_tail, found.entities)
    if heads:
        verb = "have" if len(heads) > 1 else "has"
        reasons.append(f"{listed(heads)}, similar to {triple.head_name}, {verb} the same {_noun(triple.relation_name)}")
    if tails:
        reasons.append(
            f"{triple.head_name} has {_noun(triple.relation_name)} to {listed(tails)} as well, similar to {triple.tail_name}"
        )
    if found.paths and not found.rules and not (heads and tails):
        reasons.append(f"a path leads from one to the other, {found.paths[0]}")
    return reasons


def _words(found: Explanation) -> str:
    """Say which words of the texts speak for a triple."""
    said = [f"“{each.word}”" for each in found.words[:NAMED]]
    return f"{listed(said)} in the text {'speak' if len(said) > 1 else 'speaks'} for it"


def _against(found: Explanation) -> list[str]:
    triple, texts = found.triple, []
    for each in found.against:
        if each.side == "tail":
            has = f"{triple.head_name} already has {_noun(triple.relation_name)} {each.name}"
        else:
            has = f"{each.name} —{triple.relation_name}→ {triple.tail_name} is known already"
        given = "heads" if each.side == "tail" else "tails"
        texts.append(f"{has}; {each.single:,} of {each.questions:,} {given} of this relation have one {each.side}")
    return texts


def _noun(relation: str) -> str:
    """Return what a relation called ``has category`` gives: ``category``; any other name as it is."""
    return _HAS.sub("", relation)


def _near(some: tuple[Similar, ...], entities: int) -> list[str]:
    """Return the names of entities that are near, and not merely the nearest that have the fact."""
    return [each.name for each in some if each.nearness <= max(10, entities // 20)][:NAMED]


def tables_of(found: Explanation, *, top: int, full: bool) -> list[Table]:
    """Return the tables of an explanation that have rows."""
    triple = found.triple
    head, relation, tail = triple.names(full=full)
    tables = [
        Table(
            f"Rules for {head} {relation} {tail}",
            ("because", "holds", "of", "confidence", "rule"),
            tuple(
                (each.path.text(full=full), f"{each.holds:,}", f"{each.cases:,}", f"{each.confidence:.3f}", each.rule)
                for each in found.rules
            ),
        ),
        _similar(f"Similar to {head}, with {relation} to {tail}", found.like_head, full),
        _similar(f"Similar to {tail}, to which {head} has {_noun(relation)}", found.like_tail, full),
        Table(
            f"Words that speak for {head} {relation} {tail}",
            ("entity", "word", "what it adds to the lead"),
            tuple((each.entity, each.word, figure(each.effect)) for each in found.words),
        ),
        Table(
            f"Paths from {head} to {tail}",
            ("steps", "path"),
            tuple((str(len(each.facts)), each.text(full=full)) for each in found.paths),
        ),
        Table(
            f"The nearest training triples of {relation}",
            ("head", "tail", "distance"),
            tuple(
                (
                    called(each.head, each.head_name, full=full),
                    called(each.tail, each.tail_name, full=full),
                    figure(each.distance),
                )
                for each in found.support
            ),
        ),
        _figures(found),
        _answers(found, full),
        *_dimensions(found, top),
    ]
    return [each for each in tables if each.rows]


def _similar(title: str, some: tuple[Similar, ...], full: bool) -> Table:
    rows = [
        (
            called(each.key, each.name, full=full),
            figure(each.distance),
            f"{each.nearness:,}",
            f"{each.shared:,}",
            "; ".join(map(str, each.facts)),
        )
        for each in some
    ]
    return Table(title, ("entity", "distance", "neighbour no.", "shared facts", "such as"), tuple(rows))


def _figures(found: Explanation) -> Table:
    triple = found.triple
    rows: list[tuple[str, str]] = []
    for name, about in ((triple.head_name, found.about_head), (triple.tail_name, found.about_tail)):
        if about.types:
            rows.append((f"types of {name}", ", ".join(map(short, about.types[:NAMED]))))
        if about.description:
            rows.append((f"about {name}", quote(about.description)))
    rows += [("the graph", _where(found)), ("score", figure(triple.score))]
    if triple.threshold is not None and triple.probability is not None:
        said = "true" if triple.decision else "false"
        rows += [("threshold", f"{triple.threshold:.4g}: {said}"), ("probability", f"{triple.probability:.3f}")]
    if triple.note is not None and triple.note != FALSE:
        rows.append(("note", triple.note))
    for side, rank in (("head", found.head_rank), ("tail", found.tail_rank)):
        rows.append((f"rank of the {side}", f"{rank.raw:g}; {rank.filtered:g} without other known facts"))
    if found.without is not None:
        for side, rank in (("head", found.without.head_rank), ("tail", found.without.tail_rank)):
            rows.append((f"  by {found.without.norm}, without the metric", f"{side} {rank.raw:g}; {rank.filtered:g}"))
    rows += [("what carries the score", text) for text in in_words(found)]
    return Table("What the model says", ("", ""), tuple(rows))


def _answers(found: Explanation, full: bool) -> Table:
    head, relation, tail = found.triple.names(full=full)
    answers = {"with the metric" if found.without else "answer": found.answers}
    if found.without is not None:
        answers[f"by {found.without.norm}"] = found.without.answers
    shown = [
        [f"{called(each.key, each.name, full=full)}{'' if each.known else f' ({state_of(each)})'}" for each in some]
        for some in answers.values()
    ]
    asked = f"({head}, {relation}, ?)" if found.side == "tail" else f"(?, {relation}, {tail})"
    return Table(f"Best answers to {asked}", tuple(answers), tuple(zip(*shown, strict=True)))


def views(found: Explanation) -> dict[str, list[dict[str, Any]]]:
    """Return what each dimension adds to the score, by what the dimensions are; views that one dimension fills are left out."""
    return {title: rows for title, rows in _views(found).items() if 0 < _largest(rows) <= ALONE}


def in_words(found: Explanation) -> list[str]:
    """Say which dimension carries nearly the whole score, of each view that `views` leaves out."""
    texts = []
    for title, rows in _views(found).items():
        if _largest(rows) > ALONE:
            texts.append(f"nearly all in one direction: {rows[0]['dimension']} of {title.partition(';')[0]}")
    return texts


def _views(found: Explanation) -> dict[str, list[dict[str, Any]]]:
    other = found.transformed
    if other is not None and np.allclose(other.shares[np.argsort(other.pivots)], found.parts.shares):
        return {found.parts.what: found.dimensions()}  # W_r is diagonal: both views are one
    every = {found.parts.what: found.residual_dimensions()}
    if other is not None:
        every["the transformed dimensions, W_r = L D L^T, each named by its pivot"] = found.dimensions()
    return every


def _largest(rows: list[dict[str, Any]]) -> float:
    """Return the share of the largest part."""
    sizes = [abs(row["part"]) for row in rows]
    return max(sizes) / sum(sizes) if sum(sizes) > 0 else 0.0


def _dimensions(found: Explanation, top: int) -> list[Table]:
    tables, total = [], found.parts.total
    for title, dimensions in views(found).items():
        names = tuple(dimensions[0])
        rows = [
            (
                str(row["dimension"]),
                *(f"{row[name]:.4g}" for name in names[1:]),
                f"{row['part'] / total:.1%}" if total else "-",
            )
            for row in dimensions[:top]
        ]
        tables.append(Table(f"What carries the score: {title}", (*names, "share"), tuple(rows)))
    return tables

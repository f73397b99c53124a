"""The command that describes a graph: stats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from transa.cli.loading import load_graph
from transa.cli.options import GraphSelection, Json, Source, TextFormat, add_command
from transa.cli.output import REACHED, emit_json, note, note_compiling_rules, rules_mined, shown_names, table
from transa.readable import short

if TYPE_CHECKING:
    from transa.data import KnowledgeGraph


def register(app: typer.Typer) -> None:
    """Add the command of this module."""
    add_command(app, stats, example="films.csv")


def stats(
    source: Source,
    text: TextFormat,
    selection: GraphSelection,
    as_json: Json = False,
    top: Annotated[int, typer.Option(min=0, help="How many relations to show.")] = 15,
    no_rules: Annotated[bool, typer.Option("--no-rules", help="Without what rules reach.")] = False,
) -> None:
    """Show what a graph holds: sizes, relations, categories, and what leaks from train into test."""
    graph = load_graph(source, text, selection)
    note(*graph.notes)
    found = {**graph.statistics().to_dict(), "reached_by_rules": None if no_rules else _reached_by_rules(graph)}
    if as_json:
        emit_json({"source": source, **found})
    else:
        _show(source, found, shown_names(graph.relations), top)


def _reached_by_rules(graph: KnowledgeGraph) -> dict[str, Any] | None:
    """Return which triples of valid and test follow from train by rules, or None if there are no triples of one or the other."""
    if not len(graph.train) or not len(graph.positives("valid")) + len(graph.positives("test")):
        return None
    from transa.rules import QuickRules

    note_compiling_rules()
    return QuickRules.of(graph).report()


def _show(source: str, found: dict[str, Any], names: dict[str, str], top: int) -> None:
    listed, types = found["entities"] - found["entities_in_triples"], found["types"]
    splits = ("train", "valid", "test")
    rows: list[tuple[str, object]] = [
        ("entities", found["entities"]),
        *([("  of these in triples", found["entities_in_triples"])] if listed else []),
        *([("  with a description", found["described"])] if found["described"] else []),
        *([("  with a type", types["entities"])] if types else []),
        ("relations", found["relations"]),
        *([("  with types of heads or tails", types["relations"])] if types and types["relations"] else []),
        *((f"{split} triples", found["triples"][split]) for split in splits),
        *((f"{split} negatives", found["negatives"][split]) for split in splits if found["negatives"][split]),
        ("triples per entity (ATPE)", found["atpe"]),
        *((f"repeated {split} lines", found["duplicates"][split]) for split in splits if found["duplicates"][split]),
    ]
    table(
        source, ("", ""), [(name, f"{value:.2f}" if isinstance(value, float) else f"{value:,}") for name, value in rows]
    )
    table(
        "Categories (train)",
        ("category", "relations", "triples"),
        [(name, part["relations"], part["triples"]) for name, part in found["categories"].items()],
    )
    largest = sorted(found["per_relation"].items(), key=lambda item: -item[1]["triples"])[:top]
    if largest:
        table(
            f"Relations (train{'' if len(largest) == found['relations'] else f', the {len(largest)} largest'})",
            ("relation", "triples", "tails per head", "heads per tail", "category"),
            [(names[n], r["triples"], r["tails_per_head"], r["heads_per_tail"], r["category"]) for n, r in largest],
        )
    if types and top:
        some = list(types["per_type"].items())[:top]
        shown = (
            "" if len(some) == len(types["per_type"]) else f", the {len(some)} largest of {len(types['per_type']):,}"
        )
        table(f"Types{shown}", ("type", "entities"), [(short(name), count) for name, count in some])
    related = found["related_relations"]
    if related and top:
        table(
            f"Relations that repeat each other ({len(related):,} in all)",
            ("kind", "relation", "relation", "overlap"),
            [
                (
                    "symmetric" if pair["relations"][0] == pair["relations"][1] else pair["kind"],
                    *(names[key] for key in pair["relations"]),
                    min(pair["shares"]),
                )
                for pair in related[:top]
            ],
        )
    rules = found["reached_by_rules"]
    if rules:
        table(
            f"Triples that {rules_mined(rules)} reach",
            ("reached by", *(each for split in rules["reached"] for each in (split, "share"))),
            [
                (
                    label,
                    *(
                        each
                        for counts in rules["reached"].values()
                        for each in (counts[name], f"{counts[name] / max(sum(counts.values()), 1):.1%}")
                    ),
                )
                for name, label in REACHED.items()
                if name != "other" or rules["forms"] == "all"
            ],
        )
    if found["leaked"]["test_triples"]:
        share = found["leaked"]["share"]
        note(
            f"{share:.1%} of the test triples stand in train under a relation that repeats theirs: easy to answer by copying"
        )

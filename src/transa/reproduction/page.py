"""The page docs/reproduction.md. Its figures come from the records in results/; none is typed."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from importlib import resources
from string import Template
from typing import Any

from transa.reproduction.comparison import ComparisonTable
from transa.reproduction.metric_study import findings
from transa.reproduction.paper import OUR_CATEGORY_COUNTS, PAPER_CATEGORY_COUNTS, implied_sides, printed
from transa.reproduction.paper_tables import make_tables
from transa.reproduction.plan import TableName, plan_table
from transa.reproduction.records import Results

TABLES: tuple[TableName, ...] = ("table1", "table2", "table3", "table4", "metric")


def reproduction_page(results: Results) -> str:
    """Return the page: every table with what has been measured so far, and the reasons why figures differ from the paper's."""
    sides, ours = implied_sides(PAPER_CATEGORY_COUNTS), implied_sides(OUR_CATEGORY_COUNTS)
    text = Template((resources.files("transa.reproduction") / "page.md").read_text("utf-8"))
    return text.substitute(
        {name: "\n".join(_measured(table) for table in make_tables(plan_table(name), results)) for name in TABLES},
        findings="\n".join(
            finding for table in make_tables(plan_table("metric"), results) for finding in findings(table)
        ),
        **{side: f"{value:.1f}" for side, value in sides.items()},
        our_head=f"{ours['head']:.1f}",
        our_tail=f"{ours['tail']:.1f}",
        printed=printed("table2", "fb15k", "transa")[3],
        paper_counts=" / ".join(f"{count:,}" for count in PAPER_CATEGORY_COUNTS.values()),
        our_counts=" / ".join(f"{count:,}" for count in OUR_CATEGORY_COUNTS.values()),
        records=_records(results),
    )


def _measured(table: ComparisonTable) -> str:
    """Return a table as Markdown, without rows that have neither a figure of the paper nor one of ours."""
    filled = [column.key for column in table.columns if column.source != "name"]
    rows = tuple(row for row in table.rows if any(row[key] is not None for key in filled))
    if not rows:
        return f"**{table.title}**: nothing has been measured yet.\n"
    empty = sum(all(row[key] is None for key in filled if key.startswith("measured")) for row in rows)
    note = f"\n{empty} of these {len(rows)} rows have not been measured yet.\n" if empty else ""
    return replace(table, rows=rows).markdown() + note


def _records(results: Results) -> str:
    if not results.records:
        return "## Records\n\nThere is no record of a run yet."

    def place(record: dict[str, Any]) -> tuple[str, ...]:
        return (record["dataset"]["name"], record["model"], record["recipe_name"] or "", record["key"])

    commits = Counter(str(record.get("commit") or "unknown") for record in results.records.values())
    lines = [
        f"- `{record['command']}`: seed {record['seed']}, {record['wall_seconds']:,.0f} s"
        for record in sorted(results.records.values(), key=place)
    ]
    made = ", ".join(f"{commit[:12]} ({count})" for commit, count in sorted(commits.items()))
    return "\n".join(["## Records", "", f"{len(lines)} runs; commits: {made}.", "", *lines])

"""Commands that weigh facts against each other under constraints: complete, audit."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from transa.cli.options import Only, Run, TableOutput, add_command
from transa.cli.output import deliver, note, note_compiling, note_learning, progress_bar, show

if TYPE_CHECKING:
    from transa.data.constraints import Constraints
    from transa.inference.trained import Trained


def register(app: typer.Typer) -> None:
    """Add the commands of this module."""
    add_command(app, complete, example="runs/films --constraints laws.tsv")
    add_command(app, audit, example="runs/films --top 20")


@dataclass(frozen=True)
class Rules:
    """Which constraints hold, and how the best set is searched."""

    constraints: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Constraints, a line each; without a file they are mined from train."),
    ] = None
    mine: Annotated[bool, typer.Option("--mine", help="Mine constraints as well where a file is given.")] = False
    one_answer: Annotated[
        float, typer.Option(min=0, max=1, help="Mined: functional if more than this share of heads has one tail.")
    ] = 0.95
    heads: Annotated[int, typer.Option(min=1, help="Mined: functional only with so many heads.")] = 20
    confidence: Annotated[float, typer.Option(min=0, max=1, help="Mined: least confidence of an implication.")] = 0.75
    support: Annotated[int, typer.Option(min=1, help="Mined: least number of facts that follow it.")] = 10
    trust: Annotated[float, typer.Option(min=0, help="What a known fact weighs beyond what the model says of it.")] = (
        2.0
    )
    seconds: Annotated[float, typer.Option(help="How long the solver may search.")] = 600.0

    def of(self, trained: Trained) -> Constraints:
        """Return the constraints that hold for a graph, and tell how many they are."""
        from transa.data.constraints import Constraints, mine_constraints
        from transa.inference.constraint_files import read_constraints

        found = Constraints()
        if self.constraints is None or self.mine:
            found = mine_constraints(
                trained.graph,
                one_answer=self.one_answer,
                heads=self.heads,
                confidence=self.confidence,
                support=self.support,
            )
        if self.constraints is not None:
            found = found | read_constraints(self.constraints, trained.entities, trained.relations)
        note(
            f"constraints: {len(found.functional):,} functional and {len(found.inverse_functional):,} inverse functional relations, "
            f"{len(found.implications):,} implications, types for {len({*found.domains, *found.ranges}):,} relations"
        )
        return found


def complete(
    run: Run,
    output: TableOutput,
    rules: Rules,
    each: Annotated[int, typer.Option(min=1, help="Answers to each (head, relation, ?) that are looked at.")] = 10,
    candidates: Annotated[int, typer.Option(min=1, help="New facts that are looked at, the most plausible.")] = 10_000,
) -> None:
    """Find the best set of new facts that breaks no constraint, by integer programming."""
    from transa.estimators import load_model
    from transa.inference.discover import pairs

    output.check()
    model = load_model(run)
    constraints = rules.of(model.trained_)
    note_compiling("best_answers", model.model_)
    note_learning(model.trained_)
    with progress_bar("searching", pairs(model.trained_)) as callback:
        found = model.complete(
            constraints,
            each=each,
            candidates=candidates,
            trust=rules.trust,
            seconds=rules.seconds,
            callback=callback,
        )
    notes = (*model.trained_.notes, str(found.solved))
    note(*notes)
    if not found:
        note("nothing was found: no new fact is plausible and breaks no constraint")

    def report() -> dict[str, Any]:
        return {"run": str(run), "notes": list(notes), "solved": asdict(found.solved), "facts": found.rows()}

    deliver(output, found.frame, report, lambda: show(found.table(full=output.iris), full=output.iris))


def audit(
    run: Run,
    output: TableOutput,
    rules: Rules,
    top: Annotated[int, typer.Option("--top", "-k", min=1, help="How many facts.")] = 50,
    relation: Only = None,
) -> None:
    """List the training facts that look wrong: what constraints speak against, or the model answers otherwise."""
    from transa.estimators import load_model

    output.check()
    model = load_model(run)
    constraints = rules.of(model.trained_)
    note_compiling("best_answers", model.model_)
    note_learning(model.trained_)
    found = model.audit(constraints, top=top, relations=relation, trust=rules.trust, seconds=rules.seconds)
    notes = (*model.trained_.notes, str(found.solved))
    note(*notes)

    def report() -> dict[str, Any]:
        return {"run": str(run), "notes": list(notes), "solved": asdict(found.solved), "facts": found.rows()}

    deliver(output, found.frame, report, lambda: show(found.table(full=output.iris), full=output.iris))

"""The paper, measured again: its tables with our figures beside its own, and its figures drawn from our runs.

Nothing else in the package depends on this: only the commands ``reproduce`` and ``figure`` import it.
"""

from transa.reproduction.comparison import ComparisonTable
from transa.reproduction.paper_tables import make_tables
from transa.reproduction.plan import Cell, Plan, plan_table
from transa.reproduction.records import Results
from transa.reproduction.running import Event, Outcome, reproduce

__all__ = [
    "Cell",
    "ComparisonTable",
    "Event",
    "Outcome",
    "Plan",
    "Results",
    "make_tables",
    "plan_table",
    "reproduce",
]

"""The paper's tables, measured again: what each cell needs, runs that give it, and tables with the paper's figure beside ours."""

from transa.reproduction.plan import Cell, Plan, plan_table
from transa.reproduction.records import Results
from transa.reproduction.running import Event, Outcome, reproduce
from transa.reproduction.table import Table
from transa.reproduction.tables import make_table

__all__ = ["Cell", "Event", "Outcome", "Plan", "Results", "Table", "make_table", "plan_table", "reproduce"]

"""Rules: mined from a graph, read and written, and the evidence they give for a triple."""

from __future__ import annotations

from transa.rules.evidence import Aggregation, Evidence
from transa.rules.files import read_rules, write_rules
from transa.rules.mining import Mined, Mining, mine
from transa.rules.quick import QuickRules
from transa.rules.rule_set import RuleSet

__all__ = ["Aggregation", "Evidence", "Mined", "Mining", "QuickRules", "RuleSet", "mine", "read_rules", "write_rules"]

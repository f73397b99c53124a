"""Rules alone: a model without vectors, whose scores are what mined rules say."""

from __future__ import annotations

from transa.models.base import Model


class Rules(Model):
    """The score of a triple is minus the evidence that rules give for it (`transa.rules.Evidence`).

    The rules are mined from the training triples (`solver` "mining"); there is nothing else to learn but how their confidences are put
    together, which the validation split decides.
    """

    name = "rules"
    label = "Rules"
    formula = "log(1 - confidence) of the strongest rules for (h, r, t)"
    size = "0"
    cost = "0"
    solvers = ("mining",)
    has_vectors = False

    def entity_tables(self) -> dict[str, tuple[int, ...]]:
        """Return no table."""
        return {}

    def relation_tables(self) -> dict[str, tuple[int, ...]]:
        """Return no table."""
        return {}

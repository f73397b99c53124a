"""What random numbers are drawn for.

Each purpose has a sequence of its own for the same seed (`transa.kernels.random.stream`), so all numbers here differ. Those that are
given stay as they are: another number draws other corruptions, and a training run would not repeat.
"""

from __future__ import annotations

from typing import Final

#: Negatives of training, drawn for each triple.
CORRUPTION: Final = 1
#: The order of the training triples in an epoch.
SHUFFLE: Final = 2
#: The order of groups of triples that have the same relation.
GROUP: Final = 3
#: Negatives from which TransA's metric is computed in closed form.
CLOSED_FORM: Final = 4
#: Negatives of training that all triples of a batch share.
SHARED_NEGATIVES: Final = 5
#: Negatives with which new entities are placed among trained ones.
PLACEMENT: Final = 6
#: False triples of a split without labels.
FALSE_TRIPLES: Final = 8

"""The purposes for which random numbers are drawn.

Each purpose has its own sequence for the same seed (`transa.kernels.random.stream`), so all numbers here differ. Never change one: a
training run would draw other negatives and not repeat.
"""

from __future__ import annotations

from typing import Final

#: Negatives of training, drawn for each triple.
CORRUPTION: Final = 1
#: The order of the training triples in an epoch.
SHUFFLE: Final = 2
#: The order of groups of triples that have the same relation.
GROUP: Final = 3
#: Negatives for the closed form of TransA's metric.
CLOSED_FORM: Final = 4
#: Negatives that all triples of a batch share.
SHARED_NEGATIVES: Final = 5
#: Negatives for placing new entities among trained ones.
PLACEMENT: Final = 6
#: False triples of a split without labels.
FALSE_TRIPLES: Final = 8
#: What dropout leaves out.
DROPOUT: Final = 9
#: Negatives of training on paths: entities, relations, and which paths.
PATHS: Final = 10
#: Pairs of words that stand together, and words that do not (skip-gram).
SKIP_GRAM: Final = 11
#: Which entities of a batch are placed by their texts alone.
TEXTS_ALONE: Final = 12

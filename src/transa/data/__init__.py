"""Knowledge graphs: reading, indexing, splitting, describing and writing them."""

from transa.data.corruption import Corruptor
from transa.data.facts import KnownFacts
from transa.data.graph import KnowledgeGraph
from transa.data.loading import load
from transa.data.relations import RelationStatistics
from transa.data.splitting import split_graph
from transa.data.statistics import GraphStatistics
from transa.data.vocabulary import Vocabulary
from transa.data.writing import write

__all__ = [
    "Corruptor",
    "GraphStatistics",
    "KnowledgeGraph",
    "KnownFacts",
    "RelationStatistics",
    "Vocabulary",
    "load",
    "split_graph",
    "write",
]

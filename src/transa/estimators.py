"""One estimator for each model. `transa.estimator.Estimator` describes their parameters and methods.

Those written out here are known to editors and type checkers. Any other model that is registered has an estimator as well.

In formulas, lower means more plausible; h, r and t are the vectors of head, relation and tail.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import ClassVar

from transa.estimator import Estimator, NotFittedError
from transa.inference import Trained
from transa.models import MODELS, Model
from transa.training import Options, Recipe, RunFolder


class AdaptiveMetric(Estimator):
    """An ordinary Mahalanobis distance for each relation: the baseline that the paper of TransA calls Adaptive Metric (PSD).

    Xiao, Huang, Hao, Zhu: *TransA: An Adaptive Approach for Knowledge Graph Embedding*, 2015.

    ``(h + r - t)^T W_r (h + r - t)``
    """

    system: ClassVar[str] = "adaptive_metric"


class CTransR(Estimator):
    """TransR with several vectors for each relation, one for each cluster of its pairs.

    Lin, Liu, Sun, Liu, Zhu: *Learning Entity and Relation Embeddings for Knowledge Graph Completion*, AAAI 2015.

    ``min_c |h M_r + r_c - t M_r|^2``
    """

    system: ClassVar[str] = "ctransr"


class LFM(Estimator):
    """The Latent Factor Model: all relations combine the same few rank-one matrices.

    Jenatton, Le Roux, Bordes, Obozinski: *A Latent Factor Model for Highly Multi-relational Data*, NIPS 2012.

    ``-(h + y)^T W_r (t + z), W_r = lambda sum_m a_{r,m} u_m v_m^T``
    """

    system: ClassVar[str] = "lfm"


class NTN(Estimator):
    """The Neural Tensor Network: a hidden layer in which head and tail are multiplied.

    Socher, Chen, Manning, Ng: *Reasoning With Neural Tensor Networks for Knowledge Base Completion*, NIPS 2013.

    ``-u_r^T tanh(h^T W_r[1..s] t + M_{r,1} h + M_{r,2} t + b_r)``
    """

    system: ClassVar[str] = "ntn"


class PTransE(Estimator):
    """Translations, and paths of relations that lead from head to tail.

    Lin, Liu, Luan, Sun, Rao, Liu: *Modeling Relation Paths for Representation Learning of Knowledge Bases*, EMNLP 2015.

    ``|h + r - t| + |t + r' - h| - sum_p R(p|h,t) P(r|p) (b - |p - r|)``
    """

    system: ClassVar[str] = "ptranse"


class RESCAL(Estimator):
    """A factorisation of the tensor of all triples.

    Nickel, Tresp, Kriegel: *A Three-Way Model for Collective Learning on Multi-Relational Data*, ICML 2011.

    ``-h^T W_r t``
    """

    system: ClassVar[str] = "rescal"


class Rules(Estimator):
    """Rules alone, mined from the training triples: no vectors, nothing to train.

    Of the kinds that AnyBURL mines: Meilicke, Chekol, Ruffinelli, Stuckenschmidt: *Anytime Bottom-Up Rule Learning for Knowledge Graph
    Completion*, IJCAI 2019.

    ``log(1 - confidence) of the strongest rules for (h, r, t)``
    """

    system: ClassVar[str] = "rules"


class SE(Estimator):
    """Structured Embeddings: each relation is a pair of matrices.

    Bordes, Weston, Collobert, Bengio: *Learning Structured Embeddings of Knowledge Bases*, AAAI 2011.

    ``|M_{h,r} h - M_{t,r} t|``
    """

    system: ClassVar[str] = "se"


class SLM(Estimator):
    """The Single Layer Model: a neural network with one hidden layer for each relation.

    Socher, Chen, Manning, Ng: *Reasoning With Neural Tensor Networks for Knowledge Base Completion*, NIPS 2013.

    ``-u_r^T tanh(M_{r,1} h + M_{r,2} t)``
    """

    system: ClassVar[str] = "slm"


class SMEBilinear(Estimator):
    """Semantic Matching Energy, bilinear with matrices: head and tail are each multiplied by the relation.

    Bordes, Glorot, Weston, Bengio: *Joint Learning of Words and Meaning Representations for Open-Text Semantic Parsing*, AISTATS 2012.

    ``-(M_1 h * M_2 r + b_1)^T (M_3 t * M_4 r + b_2)``
    """

    system: ClassVar[str] = "sme_bilinear"


class SMELinear(Estimator):
    """Semantic Matching Energy, linear: head and tail are each added to the relation, and the two sums are compared.

    Bordes, Glorot, Weston, Bengio: *A Semantic Matching Energy Function for Learning with Multi-relational Data*,
    Machine Learning 2014.

    ``-(M_1 h + M_2 r + b_1)^T (M_3 t + M_4 r + b_2)``
    """

    system: ClassVar[str] = "sme_linear"


class SMETensor(Estimator):
    """Semantic Matching Energy, bilinear with tensors: the relation makes one matrix for the head and one for the tail.

    Bordes, Glorot, Weston, Bengio: *A Semantic Matching Energy Function for Learning with Multi-relational Data*,
    Machine Learning 2014.

    ``-((T_1 r) h + b_1)^T ((T_2 r) t + b_2)``
    """

    system: ClassVar[str] = "sme_tensor"


class TransA(Estimator):
    """A translation measured by an adaptive metric: each relation weighs the dimensions in its own way.

    Xiao, Huang, Hao, Zhu: *TransA: An Adaptive Approach for Knowledge Graph Embedding*, 2015. Not the TransA of Jia et al. (AAAI 2016),
    which adapts the margin and has no metric.

    ``|h + r - t|^T W_r |h + r - t|``
    """

    system: ClassVar[str] = "transa"


class TransE(Estimator):
    """Each relation is a translation.

    Bordes, Usunier, García-Durán, Weston, Yakhnenko: *Translating Embeddings for Modeling Multi-relational Data*, NIPS 2013.

    ``|h + r - t|``
    """

    system: ClassVar[str] = "transe"


class TransH(Estimator):
    """Each relation is a translation on a hyperplane.

    Wang, Zhang, Feng, Chen: *Knowledge Graph Embedding by Translating on Hyperplanes*, AAAI 2014.

    ``|(h - (w_r . h) w_r) + r - (t - (w_r . t) w_r)|^2``
    """

    system: ClassVar[str] = "transh"


class TransM(Estimator):
    """TransE with a fixed weight for each relation.

    Fan, Zhou, Chang, Zheng: *Transition-based Knowledge Graph Embedding with Relational Mapping Properties*, PACLIC 2014.

    ``w_r |h + r - t|, w_r = 1 / log(hpt_r + tph_r)``
    """

    system: ClassVar[str] = "transm"


class TransR(Estimator):
    """Each relation is a translation in a space of its own.

    Lin, Liu, Sun, Liu, Zhu: *Learning Entity and Relation Embeddings for Knowledge Graph Completion*, AAAI 2015.

    ``|h M_r + r - t M_r|^2``
    """

    system: ClassVar[str] = "transr"


class UM(Estimator):
    """The Unstructured Model: TransE without relations.

    Bordes, Glorot, Weston, Bengio: *Joint Learning of Words and Meaning Representations for Open-Text Semantic Parsing*, AISTATS 2012.

    ``|h - t|^2``
    """

    system: ClassVar[str] = "um"


#: The estimators that are written out here, by name.
ESTIMATORS: dict[str, type[Estimator]] = {kind.__name__: kind for kind in Estimator.__subclasses__()}

__all__ = [*ESTIMATORS, "ESTIMATORS", "Estimator", "NotFittedError", "estimator_for", "estimator_of", "load_model"]


def estimator_of(model: type[Model]) -> type[Estimator]:
    """Return the estimator of a model: the one written out here, or for any other registered model one made of its name."""
    return ESTIMATORS.get(model.__name__) or _made(model.__name__, model.name, model.__doc__)


@cache
def _made(name: str, system: str, about: str | None) -> type[Estimator]:
    return type(name, (Estimator,), {"system": system, "__doc__": about})


def estimator_for(recipe: Recipe, options: Options | None = None) -> Estimator:
    """Return an estimator, not yet trained, of the model that a recipe names."""
    return estimator_of(MODELS[recipe.model])(recipe=recipe, options=options)


def load_model(run: str | Path | RunFolder) -> Estimator:
    """Open a run folder, written by `transa train` or `Estimator.save`.

    Raises
    ------
    InputError
        If the folder holds no finished run, a run of another format, or damaged files.
    """
    trained = Trained.open(run)
    assert trained.recipe is not None  # noqa: S101
    return estimator_for(trained.recipe)._fitted(trained)


def __getattr__(name: str) -> type[Estimator]:
    for model in MODELS.values():
        if model.__name__ == name:
            return estimator_of(model)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

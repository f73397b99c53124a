"""The interface of engines, and the choice of the one that trains a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from transa.choices import EngineName as EngineName
from transa.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from transa.data import KnowledgeGraph
    from transa.models import Model
    from transa.training.epoch_batches import EpochBatches
    from transa.training.recipe import Recipe


@dataclass(frozen=True)
class EpochReport:
    """The outcome of an epoch.

    Attributes
    ----------
    loss
        Mean over the positives.
    violations
        Share of the (positive, negative) pairs that violate (see `transa.kernels.losses.loss_and_factors`); None if not counted.
    """

    loss: float
    violations: float | None


class Engine(Protocol):
    """Trains a model in place."""

    name: str

    @property
    def epoch_batches(self) -> EpochBatches:
        """The batches of triples."""

    def train_epoch(self, number: int) -> EpochReport:
        """Train one epoch; epochs are numbered from 1."""

    def state(self) -> dict[str, Tensor]:
        """Return the optimiser's state. With the model's tables and the number of the epoch, it is all that resuming needs."""

    def load_state(self, state: dict[str, Tensor]) -> None:
        """Load the state that `state` returned after an epoch."""


def choose_engine(
    model: Model,
    graph: KnowledgeGraph,
    recipe: Recipe,
    *,
    engine: EngineName = "auto",
    device: str = "cpu",
    lock_free: bool = False,
) -> Engine:
    """Return the engine for a run: a compiled one if it can train the model on this device, otherwise torch.

    Raises
    ------
    InputError
        If the requested engine cannot train this model or recipe.
    """
    graph = training_graph(graph, recipe)
    if recipe.solver == "als":
        from transa.training.als_engine import ALSEngine

        if engine != "auto" or device != "cpu" or lock_free:
            raise InputError("solver: als has an engine of its own, on the CPU; do not set engine, device or lock_free")
        return ALSEngine(model, graph, recipe)
    if recipe.solver == "mining":
        from transa.training.rule_engine import RuleEngine

        if engine != "auto" or device != "cpu" or lock_free:
            raise InputError("solver: rules are mined on the CPU; do not set engine, device or lock_free")
        return RuleEngine(model, graph, recipe)
    if model.by_paths:
        from transa.training.path_engine import PathEngine

        if engine == "torch" or device != "cpu" or lock_free:
            raise InputError(f"engine: {model.name} has a compiled engine of its own, on the CPU and without lock_free")
        return PathEngine(model, graph, recipe)
    if recipe.entity_texts:
        from transa.training.text_engine import TextEngine

        if engine == "numba" or device != "cpu" or lock_free:
            raise InputError("entity_texts: has an engine of its own, by torch on the CPU and without lock_free")
        return TextEngine(model, graph, recipe)
    why = why_not_numba(model, recipe, device)
    if engine == "numba" and why:
        raise InputError(f"engine: numba cannot be used here: {why}; use torch")
    if lock_free and (
        engine == "torch"
        or why
        or recipe.negatives == "all"
        or model.grouped
        or recipe.learns_metric
        or "normal" in model.relation
    ):
        reason = (
            why or "it trains no learned or full metric, no matrices or normals, and no softmax over all entities"
            if engine != "torch"
            else "it needs compiled kernels"
        )
        raise InputError(f"lock_free: not available here: {reason}")
    if lock_free and recipe.penalty and recipe.penalty_rows == "touched":
        raise InputError(
            "lock_free: a penalty on touched rows would be taken for each positive and not once a batch; use penalty_rows=all"
        )
    if recipe.negatives == "all" and engine != "torch" and not why:
        from transa.training.softmax_engine import SoftmaxEngine

        return SoftmaxEngine(model, graph, recipe)
    if recipe.negatives == "all":
        from transa.training.torch_softmax_engine import TorchSoftmaxEngine

        return TorchSoftmaxEngine(model, graph, recipe, device)
    if engine == "torch" or why:
        from transa.training.torch_engine import TorchEngine

        return TorchEngine(model, graph, recipe, device)
    if model.analytic_gradients:
        from transa.training.matrix_engine import MatrixEngine

        return MatrixEngine(model, graph, recipe)
    from transa.kernels.scores import GroupScore, find_score
    from transa.training.full_metric_engine import FullMetricEngine
    from transa.training.row_engine import RowEngine

    kernel = model.kernel()
    assert kernel is not None  # noqa: S101
    score = find_score(kernel.score)
    if isinstance(score, GroupScore):
        return FullMetricEngine(model, graph, recipe, score, root=kernel.root)
    return RowEngine(model, graph, recipe, score, root=kernel.root, lock_free=lock_free)


def training_graph(graph: KnowledgeGraph, recipe: Recipe) -> KnowledgeGraph:
    """Return the graph whose triples are trained: with all inverses, if the model is directional."""
    return graph.with_inverses() if recipe.directional else graph


def training_model(model: Model, recipe: Recipe) -> Model:
    """Return the model whose score trains the vectors: the model itself, or its counterpart without the metric."""
    return (model.plain(norm=1) if recipe.training_score == "l1" else None) or model


def why_not_numba(model: Model, recipe: Recipe, device: str) -> str:
    """Return why the compiled engines cannot train a model, or an empty string if they can."""
    if device != "cpu":
        return f"compiled kernels run on the CPU, and the device is {device}"
    if recipe.negatives == "all":
        return (
            "" if model.linear else f"{model.name} has no score that is linear in a candidate's vector and its squares"
        )
    if recipe.shared_negatives:
        return "compiled kernels do not share negatives"
    if model.biases:
        return "compiled kernels do not train the biases of entities"
    if model.kernel() is None and not model.analytic_gradients:
        return f"there is no compiled kernel for {model.name}"
    if model.grouped and recipe.learns_metric:
        return "compiled kernels do not learn a full metric by gradient"
    return ""

"""Estimators: one class for each model, which binds graph, training, evaluation and prediction."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, ClassVar, Self

from transa.data import KnowledgeGraph
from transa.data.graph import Split
from transa.errors import InputError
from transa.evaluation import Classification, Evaluation, classify, evaluate
from transa.evaluation.calibration import Method
from transa.inference import Prediction, predict
from transa.models import MODELS, Model
from transa.training import Options, Progress, Recipe, Trainer, load_recipe


class Estimator:
    """A system that learns a graph and answers questions about it.

    Parameters
    ----------
    dim
        Dimension of the vectors.
    recipe
        The name of a recipe of the system, or the path of a TOML file.
    dataset
        The dataset whose settings to take, where the recipe has some of its own for it.
    engine, device, threads, lock_free
        See `transa.training.trainer.Options`.
    settings
        Any field of `transa.training.Recipe`, over those of the recipe.

    Attributes
    ----------
    settings
        The recipe in full.
    model
        The trained model: parameters and algebra.
    """

    system: ClassVar[str]

    def __init__(
        self,
        dim: int | None = None,
        *,
        recipe: str | None = None,
        dataset: str | None = None,
        engine: str = "auto",
        device: str = "cpu",
        threads: int | None = None,
        lock_free: bool = False,
        **settings: Any,
    ) -> None:
        chosen = settings if dim is None else {"dim": dim, **settings}
        self.settings: Recipe = load_recipe(self.system, recipe, dataset, chosen)
        self.options = Options(engine=engine, device=device, threads=threads, lock_free=lock_free)  # type: ignore[arg-type]
        self._model: Model | None = None
        self._graph: KnowledgeGraph | None = None

    @property
    def model(self) -> Model:
        """The trained model."""
        if self._model is None:
            raise InputError(f"{type(self).__name__} has not been trained: call fit first")
        return self._model

    def fit(self, graph: KnowledgeGraph, *, watch: Callable[[Progress], None] | None = None) -> Self:
        """Train on a graph; `watch` is called after each round."""
        self._model = Trainer(graph, self.settings, self.options).fit(watch)
        self._graph = graph
        return self

    def evaluate(
        self, graph: KnowledgeGraph, split: Split = "test", *, limit: int | None = None, seed: int = 0
    ) -> Evaluation:
        """Rank the head and the tail of each true triple of a split among all entities, or of a sample of them."""
        return evaluate(self.model, graph, split, limit=limit, seed=seed)

    def classify(
        self, graph: KnowledgeGraph, split: Split = "test", *, seed: int = 0, calibration: Method | None = "isotonic"
    ) -> Classification:
        """Tell true triples of a split from false ones, with thresholds from the validation split."""
        return classify(self.model, graph, split, seed=seed, calibration=calibration)

    def predict(
        self, *, relation: str, head: str | None = None, tail: str | None = None, top: int = 10
    ) -> list[Prediction]:
        """Return the entities that answer (head, relation, ?) or (?, relation, tail), the most plausible first."""
        if self._graph is None:
            raise InputError(f"{type(self).__name__} has no graph: call fit first")
        return predict(self.model, self._graph, relation=relation, head=head, tail=tail, top=top)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(dim={self.settings.dim}{'' if self._model is None else ', trained'})"


def _estimator(model: type[Model]) -> type[Estimator]:
    """Return the estimator of a model: its name, and the head of its documentation."""
    about = (
        f"{(import_module(model.__module__).__doc__ or '').strip()}\n\n``{model.formula}``; see `{model.__module__}`."
    )
    return type(model.__name__, (Estimator,), {"system": model.name, "__doc__": about, "__module__": __name__})


#: An estimator for every model, by the name of its class; `transa.TransA` is one of them.
ESTIMATORS: dict[str, type[Estimator]] = {model.__name__: _estimator(model) for model in MODELS.values()}


def __getattr__(name: str) -> type[Estimator]:
    if name not in ESTIMATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return ESTIMATORS[name]

"""Estimators: one class for each model, which binds graph, training, evaluation and prediction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Self

from transa.data import KnowledgeGraph
from transa.data.graph import Split
from transa.errors import InputError
from transa.evaluation import Classification, Evaluation, classify, evaluate
from transa.evaluation.calibration import Method
from transa.inference import (
    Answers,
    Checks,
    Explanation,
    Neighbours,
    Question,
    Trained,
    answer,
    check,
    discover,
    doubtful,
    explain,
    extend,
    neighbours,
)
from transa.models import MODELS, Model
from transa.training import Options, Progress, Recipe, RunFolder, Trainer, load_recipe


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
        self._trained: Trained | None = None

    @property
    def model(self) -> Model:
        """The trained model."""
        if self._model is None:
            raise InputError(f"{type(self).__name__} has not been trained: call fit first")
        return self._model

    def fit(self, graph: KnowledgeGraph, *, callback: Callable[[Progress], None] | None = None) -> Self:
        """Train on a graph; `callback` is called after each epoch."""
        self._model = Trainer(graph, self.settings, self.options).fit(callback)
        self._trained = Trained(self._model, graph, self.settings)
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

    # ------------------------------------------------------------------ questions

    @property
    def trained(self) -> Trained:
        """The trained model with its graph, as the functions of `transa.inference` take it."""
        if self._trained is None:
            raise InputError(f"{type(self).__name__} has no graph: call fit first")
        return self._trained

    def predict(
        self,
        *,
        relation: str | None = None,
        head: str | None = None,
        tail: str | None = None,
        top: int = 10,
        new_only: bool = False,
        in_range: bool = False,
    ) -> Answers:
        """Answer (head, relation, ?), (?, relation, tail) or (head, ?, tail), the most plausible answer first."""
        question = Question(head, relation, tail)
        return answer(self.trained, [question], top=top, new_only=new_only, in_range=in_range)[0]

    def check(self, triples: Sequence[Sequence[str]]) -> Checks:
        """Say of triples by name whether they are true, with thresholds from the validation split."""
        return check(self.trained, triples)

    def discover(
        self, *, top: int = 100, each: int = 10, relations: Sequence[str] | None = None, errors: bool = False
    ) -> Checks:
        """Return the most probable new facts of the whole graph, or with `errors` the least probable ones of train."""
        if errors:
            return doubtful(self.trained, top=top, relations=relations)
        return discover(self.trained, top=top, each=each, relations=relations)

    def explain(self, head: str, relation: str, tail: str, *, top: int = 5) -> Explanation:
        """Say why a triple scores as it does."""
        return explain(self.trained, head, relation, tail, top=top)

    def neighbours(self, entity: str, relation: str | None = None, *, top: int = 10) -> Neighbours:
        """Return the entities nearest to one, plainly or under a relation's metric."""
        return neighbours(self.trained, entity, relation, top=top)

    def extend(self, triples: Sequence[Sequence[str]], *, steps: int = 100, refine: int = 0, seed: int = 0) -> Self:
        """Return a new estimator that also knows these triples and their new entities; this one stays as it is."""
        found = extend(self.trained, triples, steps=steps, refine=refine, seed=seed, options=self.options)
        return self._with(found.trained)

    # ------------------------------------------------------------------ keeping

    def save(self, path: str | Path) -> Path:
        """Keep the trained model and its graph as a run folder, which `transa.load_model` and every command read."""
        folder = RunFolder(path)
        folder.open(resume=False)
        try:
            folder.write_start(self.trained.graph, self.settings, source=None, engine=self.options.engine)
            folder.write_tensors("weights.safetensors", self.model.tensors())
            folder.write_json("metrics.json", {"parameters": self.model.parameters, "validation": None})
        finally:
            folder.close()
        return folder.path

    def _with(self, trained: Trained) -> Self:
        other = copy(self)
        other._model, other._trained = trained.model, trained
        return other

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


def load_model(path: str | Path) -> Estimator:
    """Open a run folder, written by `transa train` or `Estimator.save`.

    Raises
    ------
    InputError
        If the folder holds no finished run, one of another format, or files that are damaged.
    """
    trained = Trained.open(path)
    assert trained.recipe is not None  # noqa: S101
    estimator = ESTIMATORS[MODELS[trained.recipe.model].__name__]()
    estimator.settings = trained.recipe
    return estimator._with(trained)


def __getattr__(name: str) -> type[Estimator]:
    if name not in ESTIMATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return ESTIMATORS[name]

"""The base class of all estimators: parameters, training, growing and keeping; `transa.asking` has what it can be asked."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from copy import copy
from pathlib import Path
from typing import Any, ClassVar, Literal, Self, Unpack

from transa.asking import Asking
from transa.data import KnowledgeGraph
from transa.data.graph import required
from transa.errors import InputError, TransaWarning, quote, suggest
from transa.evaluation import Evaluation
from transa.inference import NewTexts, Trained, extend
from transa.models import MODELS
from transa.pretrained import save_pretrained, write_trained
from transa.training import Listener, Options, Recipe, RunFolder, Trainer, general_recipe, load_recipe, recipe_from
from transa.training.general import is_general
from transa.training.recipe_settings import Settings

#: The parameters that stand in the signature, and those of them that are settings of the recipe.
NAMED = ("dim", "recipe", "epochs", "learning_rate", "batch_size", "negatives", "seed", "options")
NAMED_SETTINGS = tuple(name for name in NAMED if name not in ("recipe", "options"))


class NotFittedError(InputError, AttributeError):
    """An estimator was asked for something that only `fit` can give."""


class Estimator(Asking):
    """A model that learns a graph and answers questions about it.

    Estimators follow scikit-learn: the constructor only stores its arguments, `fit` checks them and trains, and the names of what `fit`
    has learned end in an underscore. `get_params`, `set_params` and `sklearn.base.clone` work.

    Parameters
    ----------
    dim
        Dimension of the vectors.
    recipe
        A recipe of the model by name (``"paper"``), a TOML file by its path, or a `transa.Recipe`. By default the recipe that the model
        has for the dataset, or else its general recipe (``"general"``), which tries several ways of training.
    epochs, learning_rate, batch_size, negatives, seed
        Settings that people change most; None leaves them as the recipe has them.
    options
        How to train on this machine: engine, device, threads.
    settings
        Any other setting of `transa.Recipe`, by name.

    Attributes
    ----------
    model_
        The trained model: its parameters and its score.
    graph_
        The graph it was trained on.
    recipe_
        The recipe with all its settings.
    trained_
        Model, graph and recipe together, as the functions of `transa.inference` take them.

    Examples
    --------
    >>> import transa
    >>> graph = transa.load("umls")
    >>> model = transa.TransA(dim=20, epochs=10).fit(graph)
    >>> model.predict(head="virus", relation="causes", top=3)[0].name  # doctest: +SKIP
    'disease_or_syndrome'
    """

    #: The name of the model in recipes and on the command line.
    system: ClassVar[str]

    def __init__(
        self,
        dim: int | None = None,
        *,
        recipe: str | Recipe | None = None,
        epochs: int | None = None,
        learning_rate: float | None = None,
        batch_size: int | None = None,
        negatives: int | Literal["all"] | None = None,
        seed: int | None = None,
        options: Options | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        self.dim = dim
        self.recipe = recipe
        self.epochs = epochs
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.negatives = negatives
        self.seed = seed
        self.options = options
        self.settings = settings
        self._trained: Trained | None = None

    # ------------------------------------------------------------------ parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the constructor by name; `deep` makes no difference."""
        return {name: getattr(self, name) for name in NAMED} | dict(self.settings)

    def set_params(self, **params: Any) -> Self:
        """Change parameters of the constructor; the next `fit` uses them.

        Raises
        ------
        InputError
            If there is no parameter of such a name.
        """
        for name in params:
            if name not in NAMED and name not in Settings.__annotations__:
                near = suggest(name, [*NAMED, *Settings.__annotations__])
                raise InputError(f"{type(self).__name__} has no parameter {quote(name)}{near}")
        for name, value in params.items():
            if name in NAMED:
                setattr(self, name, value)
            else:
                self.settings[name] = value  # type: ignore[literal-required]
        return self

    def __repr__(self) -> str:
        given = {name: value for name, value in self.get_params().items() if value is not None}
        return f"{type(self).__name__}({', '.join(f'{name}={_shown(value)}' for name, value in given.items())})"

    def _resolve(self, graph: KnowledgeGraph) -> Recipe:
        """Return the recipe with all settings, those of the constructor before those of the recipe's file."""
        given = {name: getattr(self, name) for name in NAMED_SETTINGS if getattr(self, name) is not None}
        given |= self.settings
        misplaced = next((name for name in given if name in vars(Options())), None)
        if misplaced is not None:
            raise InputError(
                f"{misplaced} is a matter of this machine, not of the recipe: options=Options({misplaced}=…)"
            )
        own = MODELS[self.system].options
        foreign = [name for name in given if name not in own and any(name in each.options for each in MODELS.values())]
        if foreign:
            has = f"it has {', '.join(own)}" if own else "it has no settings of its own"
            raise InputError(f"{type(self).__name__} has no setting {quote(foreign[0])}; {has}")
        if isinstance(self.recipe, Recipe):
            recipe = recipe_from(self.recipe.model_dump() | given)
        elif is_general(self.system, self.recipe, graph.name, given):
            recipe = general_recipe(self.system, graph, given, options=self.options)
        else:
            recipe = load_recipe(self.system, self.recipe, graph.name, given)
        if recipe.model != self.system:
            raise InputError(f"the recipe is for {recipe.model}, and {type(self).__name__} needs one for {self.system}")
        return recipe

    # ------------------------------------------------------------------ training

    def trainer(self, graph: KnowledgeGraph, folder: RunFolder | None = None, source: str | None = None) -> Trainer:
        """Return a trainer for a graph, for those who want to keep a run folder, to stop or to resume the training.

        Parameters
        ----------
        graph
            The graph to train on.
        folder
            Keeps checkpoints and the result; `transa.load_model` opens it.
        source
            What the graph was loaded from, for the record.
        """
        return Trainer(required(graph), self._resolve(graph), self.options, folder, source)

    def fit(self, graph: KnowledgeGraph, *, callback: Listener | Iterable[Listener] | None = None) -> Self:
        """Train on a graph.

        Parameters
        ----------
        graph
            The graph.
        callback
            A `transa.Callback`, a function that is called with the `transa.Progress` after each epoch, or several of these.

        Raises
        ------
        InputError
            If a parameter is unknown, out of range, or none of this model's.
        """
        trainer = self.trainer(graph)
        self._trained = Trained(trainer.fit(callback), graph, trainer.recipe)
        return self

    @property
    def trained_(self) -> Trained:
        """The trained model with its graph and its recipe."""
        if self._trained is None:
            raise NotFittedError(f"this {type(self).__name__} has not been trained: call fit first")
        return self._trained

    # ------------------------------------------------------------------ growing and keeping

    def extend(
        self,
        triples: Any = None,
        *,
        texts: NewTexts | Mapping[str, str] | None = None,
        steps: int = 100,
        refine: int = 0,
        seed: int = 0,
    ) -> Self:
        """Return a new estimator that also knows these triples and their new entities; this one stays as it is.

        Parameters
        ----------
        triples, steps, refine, seed
            See `transa.inference.extend`.
        texts
            Texts of new entities by key, or a `transa.inference.NewTexts` that also says how they become vectors.
        """
        told = NewTexts(texts) if isinstance(texts, Mapping) else texts
        found = extend(self.trained_, triples, texts=told, steps=steps, refine=refine, seed=seed, options=self.options)
        for note in found.notes:
            warnings.warn(note, TransaWarning, stacklevel=2)
        return self._fitted(found.trained)

    def save(self, path: str | Path) -> Path:
        """Write the trained model and its graph to a run folder, which `transa.load_model` and all commands read."""
        trained, folder = self.trained_, RunFolder(path)
        engine = (self.options or Options()).engine
        folder.open(resume=False)
        try:
            write_trained(trained, folder, source=None, engine=engine)
        finally:
            folder.close()
        return folder.path

    def save_pretrained(self, path: str | Path, *, evaluation: Evaluation | None = None) -> Path:
        """Write the trained model to a folder in the layout of Hugging Face; see `transa.pretrained`.

        Parameters
        ----------
        path
            A folder that does not exist yet or is empty.
        evaluation
            What `evaluate` returned, if its figures are to stand in the card.
        """
        return save_pretrained(self.trained_, path, evaluation)

    @classmethod
    def from_pretrained(cls, path: str | Path) -> Self:
        """Open a folder that `save_pretrained` wrote.

        Raises
        ------
        InputError
            If it holds no model, damaged files, or another model than this one.
        """
        trained = Trained.open(path)
        if trained.model.name != cls.system:
            raise InputError(f"holds a {trained.model.label}, not a model of {cls.__name__}", path=path)
        return cls(recipe=trained.recipe)._fitted(trained)

    def _fitted(self, trained: Trained) -> Self:
        """Return a copy with the same parameters and another trained model."""
        other = copy(self)
        other.settings = copy(self.settings)
        other._trained = trained
        return other


def _shown(value: Any) -> str:
    """Return a parameter as `repr` shows it: of a recipe and of options only what differs from the defaults."""
    if isinstance(value, Recipe):
        changed = value.model_dump(exclude_defaults=True)
    elif isinstance(value, Options):
        changed = {name: each for name, each in vars(value).items() if each != getattr(Options(), name)}
    else:
        return repr(value)
    return f"{type(value).__name__}({', '.join(f'{name}={each!r}' for name, each in changed.items())})"

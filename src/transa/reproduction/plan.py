"""Which runs a table needs: systems, recipes and datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from transa.data.registry import DATASETS, canonical
from transa.errors import InputError, quote, suggest
from transa.models import MODELS
from transa.training.recipe import Recipe, recipe_from
from transa.training.recipe_files import RECIPES, load_recipe, models_with

TableName = Literal["table1", "table2", "table3", "table4", "metric"]
Task = Literal["link_prediction", "classification"]

#: The task each table measures.
TASKS: dict[str, Task] = {"table2": "link_prediction", "table3": "link_prediction", "table4": "classification"}

#: The datasets that the paper has in each table.
PAPER_DATASETS = {
    "table1": ("wn18", "fb15k", "wn11", "fb13"),
    "table2": ("wn18", "fb15k"),
    "table3": ("fb15k",),
    "table4": ("wn11", "fb13"),
    "metric": ("wn18", "fb15k", "wn11", "fb13"),
}
#: Datasets that we add: two whose test triples do not leak from train, and one that trains in seconds.
EXTRA_DATASETS = {
    "table1": ("fb15k-237", "wn18rr"),
    "table2": ("fb15k-237", "wn18rr", "umls"),
    "table3": (),
    "table4": (),
    "metric": ("fb15k-237", "wn18rr"),
}

#: The systems in the order of the paper's tables, by the name of their model.
ORDER = (
    "rules",
    *("um", "se", "sme_linear", "sme_bilinear", "sme_tensor", "lfm", "slm", "ntn", "rescal"),
    *("transe", "transm", "transh", "transr", "ctransr", "adaptive_metric", "transa"),
)
#: What the tables call them.
SYSTEMS = {name: MODELS[name].label for name in ORDER}


@dataclass(frozen=True)
class Variant:
    """A way to train TransA, for the study of the metric.

    Attributes
    ----------
    recipe
        The recipe it follows.
    changes
        The settings that are changed in it.
    datasets
        The datasets it is trained on.
    repeated
        On which of them it is trained with each of `SEEDS`.
    by_dataset
        Further changes on some of them.
    model
        What is trained by TransA's recipe.
    """

    recipe: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    datasets: tuple[str, ...] = PAPER_DATASETS["metric"]
    repeated: tuple[str, ...] = ()
    by_dataset: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    model: str = "transa"


#: Changes of the softmax recipe and datasets for variants of it that leave something out, small enough for several seeds.
SMALL, ABLATED = {"dim": 128, "epochs": 12}, ("fb15k-237", "wn18rr")
#: They were trained before the recipe of FB15k-237 had more dropout.
DROPOUT = {"fb15k-237": {"dropout": 0.2}}
#: The variants of TransA that the study of the metric compares with a TransE trained alike.
VARIANTS = {
    "paper": Variant("paper", repeated=("wn11",)),
    "authors": Variant("authors", repeated=("wn18", "wn11")),
    "authors, clipped": Variant("authors", {"metric_scale": "trace", "metric_clip": True}, ("wn18", "fb15k")),
    "authors, clipped, shrunk": Variant(
        "authors", {"metric_scale": "trace", "metric_clip": True, "shrinkage": 1e4, "prior": "ones"}, ("wn18",)
    ),
    "modern": Variant("modern", datasets=(*PAPER_DATASETS["metric"], *EXTRA_DATASETS["metric"]), repeated=("fb13",)),
    "softmax": Variant(
        "softmax", datasets=("wn18", "fb15k", "wn11", "fb15k-237", "wn18rr"), repeated=("wn11", "wn18", "wn18rr")
    ),
    "small": Variant("softmax", SMALL, ABLATED, ABLATED, DROPOUT),
    "small, weights >= 0": Variant("softmax", {**SMALL, "metric": "diagonal"}, ABLATED, ABLATED, DROPOUT),
    "small, low rank": Variant(
        "softmax",
        {**SMALL, "metric": "signed_lowrank", "rank": 4},
        ABLATED,
        ABLATED,
        DROPOUT,
        model="adaptive_metric",
    ),
    "small, full": Variant(
        "softmax",
        {**SMALL, "metric": "signed_lowrank", "rank": SMALL["dim"]},
        ("wn18rr",),
        ("wn18rr",),
        model="adaptive_metric",
    ),
    "small, one direction": Variant("softmax", {**SMALL, "directional": False}, ABLATED, ABLATED, DROPOUT),
    "small, no biases": Variant("softmax", {**SMALL, "biases": False}, ABLATED, ABLATED, DROPOUT),
}
#: The seeds of variants that are repeated.
SEEDS = (0, 1, 2)


@dataclass(frozen=True)
class Row:
    """A system with one of its recipes: a row of a table.

    Attributes
    ----------
    model
        Its name in `transa.models`.
    recipe
        The name of its recipe; None for a model that has only one.
    variant
        In the study of the metric, its variant; for TransE the one it is trained like.
    """

    model: str
    recipe: str | None
    variant: str = ""

    @property
    def label(self) -> str:
        """The system as the tables call it."""
        return MODELS[self.model].label

    @property
    def name(self) -> str:
        """The name of the row on the command line: MODEL or MODEL:RECIPE."""
        return self.model if self.recipe is None else f"{self.model}:{self.recipe}"


@dataclass(frozen=True)
class Cell:
    """One run: a row on a dataset, with all settings.

    Attributes
    ----------
    row, dataset
        The system and the dataset it is trained on.
    settings
        The complete recipe.
    overrides
        Settings that were given in place of the recipe's.
    """

    row: Row
    dataset: str
    settings: Recipe
    overrides: tuple[tuple[str, Any], ...] = ()

    @property
    def name(self) -> str:
        """A short name, for files and messages."""
        how = (
            [self.row.variant.replace(", ", "-")] if self.row.variant else [self.row.recipe] if self.row.recipe else []
        )
        return "_".join([self.dataset, self.row.model, *how])


@dataclass(frozen=True)
class Plan:
    """All cells of a table.

    Attributes
    ----------
    table
        The name of the table.
    rows, datasets
        Its rows and datasets; a row and a dataset make a cell.
    cells
        The cells in the order in which they are run, sorted by dataset.
    """

    table: TableName
    rows: tuple[Row, ...]
    datasets: tuple[str, ...]
    cells: tuple[Cell, ...]

    def task(self, dataset: str) -> Task:
        """Return the task that is measured on a dataset."""
        if self.table == "metric":
            return "classification" if dataset in PAPER_DATASETS["table4"] else "link_prediction"
        return TASKS[self.table]


def plan_table(
    table: TableName,
    models: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Plan:
    """Return the runs that a table needs.

    Parameters
    ----------
    table
        ``"table1"`` to ``"table4"``, or ``"metric"`` for the study of the metric.
    models
        Names of models, or MODEL:RECIPE for one recipe of a model; by default every system.
    datasets
        Names of datasets; by default those of the table.
    overrides
        Settings that win over those of the recipes; an option that only some of the models have is set for these.
    """
    chosen = _datasets(table, datasets)
    rows = _rows(models)
    if table == "table1":
        return Plan(table, (), chosen, ())
    given = dict(overrides or {})
    if table == "metric":
        if models is not None:
            raise InputError("--models: the study of the metric compares TransA with TransE; choose its --datasets")
        return _plan_metric(chosen, given)
    cells = []
    for dataset in chosen:
        for row in rows:
            own = {name: value for name, value in given.items() if _concerns(name, row, rows)}
            settings = load_recipe(row.model, row.recipe, dataset, own)
            cells.append(Cell(row, dataset, settings, tuple(sorted(own.items()))))
    return Plan(table, rows, chosen, tuple(cells))


def _concerns(setting: str, row: Row, rows: Sequence[Row]) -> bool:
    """Tell whether a setting is for a row: unless it is an option that other models of the table have and this one does not."""
    having = models_with(setting)
    return row.model in having or not any(other.model in having for other in rows)


def _plan_metric(datasets: tuple[str, ...], given: dict[str, Any]) -> Plan:
    """Return the cells of the study of the metric, TransE before TransA in each variant.

    A variant that changes nothing but the metric of another, whose name its own begins with, is compared with the TransE of that one.
    """
    rows, cells = [], []
    for name, variant in VARIANTS.items():
        plain, own = Row("transe", None, name), Row(variant.model, variant.recipe, name)
        base = VARIANTS[name.partition(",")[0]]
        beside = variant is base or _without_metric_of(variant) != _without_metric_of(base)
        rows += [plain, own] if beside else [own]
        for dataset in datasets:
            if dataset not in variant.datasets:
                continue
            changes = {**variant.changes, **variant.by_dataset.get(dataset, {}), **given}
            settings = load_recipe("transa", variant.recipe, dataset, changes)
            settings = recipe_from(settings.model_dump() | {"model": variant.model})
            repeated = dataset in variant.repeated and "seed" not in given
            for seed in SEEDS if repeated else (settings.seed,):
                chosen = settings.model_copy(update={"seed": seed})
                overrides = tuple(sorted(given.items()))
                if beside:
                    cells.append(Cell(plain, dataset, without_metric(chosen), overrides))
                cells.append(Cell(own, dataset, chosen, overrides))
    cells.sort(key=lambda cell: datasets.index(cell.dataset))
    return Plan("metric", tuple(rows), datasets, tuple(cells))


def _without_metric_of(variant: Variant) -> Recipe:
    return without_metric(load_recipe("transa", variant.recipe, None, variant.changes))


def without_metric(recipe: Recipe) -> Recipe:
    """Return the recipe of a TransE that is trained like a TransA: with the same objective, steps and epochs.

    Its norm is L1, or squared L2 where the softmax is over all entities: with all weights 1, that is the score of TransA.
    """
    ours = {"rank", "root", "training_score", "shrinkage", "prior"}
    kept = {name: value for name, value in recipe.model_dump(exclude_defaults=True).items() if name not in ours}
    kept = {name: value for name, value in kept.items() if not name.startswith("metric")}
    norm = {"norm": 2, "squared": True} if recipe.negatives == "all" else {"norm": 1}
    return Recipe(**kept | {"model": "transe"} | norm)


def recipes_of(model: str) -> list[str | None]:
    """Return the names of a model's recipes; only None for a model with a single recipe, which has no name."""
    found: list[str | None] = []
    for name in RECIPES:
        try:
            load_recipe(model, name, None)
        except InputError:
            continue
        found.append(name)
    return found or [None]


def _datasets(table: str, names: Sequence[str] | None) -> tuple[str, ...]:
    if names is None:
        return (*PAPER_DATASETS[table], *EXTRA_DATASETS[table])
    found = []
    for name in names:
        known = canonical(name)
        if known is None:
            raise InputError(
                f"--datasets: no dataset is called {quote(name)}{suggest(name, DATASETS)}; there are {', '.join(DATASETS)}"
            )
        found.append(known)
    return tuple(dict.fromkeys(found))


def _rows(names: Sequence[str] | None) -> tuple[Row, ...]:
    if names is None:
        return tuple(Row(model, recipe) for model in ORDER for recipe in recipes_of(model))
    rows: list[Row] = []
    for name in names:
        model, colon, recipe = name.partition(":")
        if model not in MODELS:
            raise InputError(
                f"--models: unknown model {quote(model)}{suggest(model, MODELS)}; the models are {', '.join(MODELS)}"
            )
        recipes = recipes_of(model)
        if colon and recipe not in recipes:
            known = ", ".join(one for one in recipes if one) or "only one, without a name"
            raise InputError(f"--models: {model} has no recipe {quote(recipe)}; it has {known}")
        rows += [Row(model, recipe)] if colon else [Row(model, one) for one in recipes]
    return tuple(sorted(dict.fromkeys(rows), key=lambda row: ORDER.index(row.model) if row.model in ORDER else -1))

"""What the parts of the package may import."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import transa
from transa.models import MODELS

ROOT = Path(transa.__file__).parent
#: Each package imports only from those before it; those of a group do not import each other.
ORDER = [
    *(
        ["kernels"],
        ["data"],
        ["rules"],
        ["models"],
        ["evaluation"],
        ["training"],
        ["tuning"],
        ["inference"],
        ["analysis"],
        ["reproduction"],
        ["pykeen"],
        ["server"],
        ["cli"],
    ),
]
RANK = {name: rank for rank, group in enumerate(ORDER) for name in group}
SOURCES = sorted(ROOT.rglob("*.py"))
#: Files outside `models` that call several models by name, and why they may.
NAMED = {
    "pykeen/interactions.py": "the models of this package that PyKEEN gets",
    "pykeen/models.py": "the same",
    "pykeen/opening.py": "which model of ours has the score of one of PyKEEN's",
    "reproduction/metric_study.py": "what the metric of TransA is worth beside a TransE trained alike",
    "reproduction/plan.py": "the paper's systems, in the order of its tables",
    "reproduction/paper_tables.py": "the paper's own systems, which its tables show for tails alone as well",
}


def imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the full name of everything that is imported anywhere in a module, in functions too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)


def modules() -> Iterator[tuple[Path, ast.Module, str]]:
    for path in SOURCES:
        package = ".".join(["transa", *path.relative_to(ROOT).parts[:-1]])
        yield path.relative_to(ROOT), ast.parse(path.read_text("utf-8")), package


def test_every_package_has_its_place():
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages <= set(RANK)


def test_packages_import_only_what_stands_before_them():
    wrong = []
    for path, tree, package in modules():
        here = path.parts[0]
        for name in imported(tree, package):
            top, _, rest = name.partition(".")
            there = rest.partition(".")[0]
            if top == "transa" and here in RANK and there in RANK and there != here and RANK[there] >= RANK[here]:
                wrong.append(f"{path} imports {name}")
    assert wrong == []


def at_import(tree: ast.Module) -> ast.Module:
    """Return what a module does when it is imported: without the bodies of functions and what only type checkers read."""
    module = ast.parse(ast.unparse(tree))
    for node in ast.walk(module):
        for name in ("body", "orelse"):
            statements = getattr(node, name, None)
            if isinstance(statements, list):
                setattr(node, name, [each for each in statements if not _is_deferred(each)])
    return module


def _is_deferred(node: ast.stmt) -> bool:
    checked = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
    return checked or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def test_nothing_but_two_commands_needs_the_reproduction_of_the_paper():
    wrong = []
    for path, tree, package in modules():
        if path.parts[0] == "reproduction":
            continue
        command = path.as_posix() in ("cli/reproduce.py", "cli/figure.py")
        names = imported(at_import(tree) if command else tree, package)
        wrong += [f"{path} imports {name}" for name in names if name.startswith("transa.reproduction")]
    assert wrong == []


def test_matplotlib_is_imported_only_where_a_picture_is_drawn():
    wrong = []
    for path, tree, package in modules():
        drawn = path.name == "drawing.py" or path.name.endswith("_plot.py") or path.name == "marks.py"
        names = imported(at_import(tree) if drawn else tree, package)
        wrong += [f"{path} imports {name}" for name in names if name.partition(".")[0] == "matplotlib"]
    assert wrong == []


#: Who may import a library that the core does without.
ONLY = {
    "typer": {"cli"},
    "rich": {"cli", "data"},
    "optuna": {"tuning"},
    "mlflow": {"training"},
    "wandb": {"training"},
    "duckdb": {"data"},
    "matplotlib": {"analysis", "reproduction"},
    "fastapi": {"server"},
    "starlette": {"server"},
    "uvicorn": {"server"},
    "prometheus_client": {"server"},
    "pykeen": {"pykeen"},
}


def test_libraries_of_the_surface_stay_there():
    wrong = [
        f"{path} imports {name}"
        for path, tree, package in modules()
        for name in imported(tree, package)
        if path.parts[0] not in ONLY.get(name.partition(".")[0], {path.parts[0]})
    ]
    assert wrong == []


def test_training_and_asking_load_no_library_of_the_surface():
    code = """
import sys, transa
from transa import estimators
graph = transa.KnowledgeGraph.from_triples([("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")])
transa.TransE(2, epochs=1).fit(graph).predict(head="a", relation="r")
print(sorted({"typer", "matplotlib", "pyoxigraph", "fastapi", "uvicorn", "optuna", "mlflow", "tensorboard"} & set(sys.modules)))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert found.stdout.strip() == "[]"


def known_models(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield whatever in a module knows a single model: an import, a test of its class, a comparison or a list of names."""
    files = {model.__module__ for model in MODELS.values()}
    yield from (f"imports {name}" for name in imported(tree, package) if files & {name, name.rpartition(".")[0]})
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
            tested = {part.split(".")[-1] for part in map(ast.unparse, ast.walk(node.args[1]))}
            if tested & {model.__name__ for model in MODELS.values()}:
                yield f"line {node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.Compare | ast.MatchValue) and names_in(node):
            yield f"line {node.lineno}: {ast.unparse(node)}"
        elif isinstance(node, ast.Tuple | ast.List | ast.Set | ast.Dict) and len(names_in(node)) > 1:
            yield f"line {node.lineno}: names {', '.join(names_in(node))}"


def names_in(node: ast.AST) -> list[str]:
    """Return the names of models among the strings in a node."""
    values = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
    return [value for value in values if value in MODELS]


def test_models_are_asked_and_not_known():
    wrong = []
    for path, tree, package in modules():
        if path.parts[0] != "models" and path.as_posix() not in NAMED:
            wrong += [f"{path} {what}" for what in known_models(tree, package)]
    assert wrong == []
    assert all((ROOT / name).exists() for name in NAMED)


@pytest.mark.parametrize(
    "source",
    [
        "from transa.models.transe import TransE",
        "from transa.models import transe",
        "from ..models.transe import TransE",
        "isinstance(model, TransA)",
        "isinstance(model, transa.TransA | TransE)",
        "issubclass(kind, (Model, TransA))",
        'if model.name == "transa": pass',
        'recipe.model in ("transa", "adaptive_metric")',
        'PRODUCTS = {"lfm", "rescal"}',
        'label = {"transe": "TransE", "transa": "TransA"}[model.name]',
        'match name:\n    case "se": pass',
    ],
)
def test_knowledge_of_a_model_is_found_in_every_form(source):
    assert len(set(known_models(ast.parse(source), "transa.training"))) >= 1


def test_asking_any_model_is_no_knowledge_of_one():
    source = 'from transa.models import MODELS, Model\nisinstance(x, Model)\nload_recipe("transa", None, "umls")'
    assert list(known_models(ast.parse(source), "transa.training")) == []


def test_nothing_unpickles():
    wrong = []
    for path, tree, package in modules():
        forbidden = {"pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal"}
        wrong += [f"{path} imports {name}" for name in imported(tree, package) if name.partition(".")[0] in forbidden]
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            called = ast.unparse(call.func)
            pickled = [word for word in call.keywords if word.arg == "allow_pickle"]
            if called == "torch.load" or any(not _is_false(word.value) for word in pickled):
                wrong.append(f"{path}, line {call.lineno}: {ast.unparse(call)}")
    assert wrong == []


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import transa.data", ["transa.data"]),
        ("from transa import data, cli", ["transa.data", "transa.cli"]),
        ("def f():\n    from transa.cli import main", ["transa.cli.main"]),
        ("from . import graph", ["transa.data.graph"]),
        ("from .. import cli", ["transa.cli"]),
        ("from ..cli import main", ["transa.cli.main"]),
    ],
)
def test_imports_are_found_in_every_form(source, expected):
    assert list(imported(ast.parse(source), "transa.data")) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import matplotlib", ["matplotlib"]),
        ("class A:\n    import matplotlib", ["matplotlib"]),
        ("try:\n    import matplotlib\nexcept ImportError:\n    pass", ["matplotlib"]),
        ("def f():\n    import matplotlib", []),
        ("class A:\n    def f(self):\n        import matplotlib", []),
        ("if TYPE_CHECKING:\n    import matplotlib", []),
    ],
)
def test_imports_that_a_module_makes_at_once_are_told_from_later_ones(source, expected):
    assert list(imported(at_import(ast.parse(source)), "transa.data")) == expected

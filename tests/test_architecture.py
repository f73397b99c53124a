"""What the parts of the package may import."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import transa
from transa.models import MODELS

ROOT = Path(transa.__file__).parent
#: Each package imports only from those before it; those of the last group do not import each other.
ORDER = [
    *(["kernels"], ["data"], ["models"], ["evaluation"], ["training"], ["inference"], ["analysis"], ["reproduction"]),
    ["server", "cli"],
]
RANK = {name: rank for rank, group in enumerate(ORDER) for name in group}
SOURCES = sorted(ROOT.rglob("*.py"))
#: Files outside `models` that call several models by name, and why they may.
NAMED = {
    "reproduction/study.py": "what the metric of TransA is worth beside a TransE trained alike",
    "reproduction/plan.py": "the paper's systems, in the order of its tables",
    "reproduction/tables.py": "the paper's own systems, which its tables show for tails alone as well",
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

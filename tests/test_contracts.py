"""Rules of the code that no linter holds: how many parameters a function has, and what stands in front of a compiled kernel."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import transa

ROOT = Path(transa.__file__).parent
#: The most parameters a function has, `self` and `cls` not counted: in kernels, and elsewhere.
IN_KERNELS, ELSEWHERE = 12, 10
#: Decorators of functions that numba compiles.
COMPILED = {"njit", "kernel", "inlined", "in_order", "intrinsic", "by_class", "of"}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions(folder: Path) -> Iterator[tuple[Path, Function]]:
    for path in sorted(folder.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, Function):
                yield path.relative_to(ROOT), node


def parameters(function: Function) -> list[ast.arg]:
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    every += [one for one in (given.vararg, given.kwarg) if one is not None]
    return [one for one in every if one.arg not in ("self", "cls")]


def decorators(function: Function) -> set[str]:
    calls = (each.func if isinstance(each, ast.Call) else each for each in function.decorator_list)
    return {
        each.id if isinstance(each, ast.Name) else each.attr
        for each in calls
        if hasattr(each, "id") or hasattr(each, "attr")
    }


def test_no_function_has_too_many_parameters() -> None:
    wrong = []
    for path, function in functions(ROOT):
        most = IN_KERNELS if path.parts[0] == "kernels" else ELSEWHERE
        found = len(parameters(function))
        if found > most:
            wrong.append(f"{path}, line {function.lineno}: {function.name} has {found} parameters, more than {most}")
    assert wrong == []


def test_kernels_are_private_and_what_stands_in_front_of_them_is_typed() -> None:
    wrong = []
    for path in sorted((ROOT / "kernels").rglob("*.py")):
        for node in ast.parse(path.read_text("utf-8")).body:
            if not isinstance(node, ast.FunctionDef):
                continue
            place = f"{path.relative_to(ROOT)}, line {node.lineno}: {node.name}"
            if "kernel" in decorators(node):
                if not node.name.startswith("_"):
                    wrong.append(f"{place} is a compiled kernel without a typed function in front of it")
            elif not decorators(node) & COMPILED:
                untyped = [one.arg for one in parameters(node) if one.annotation is None]
                if untyped or node.returns is None:
                    wrong.append(f"{place} lacks types ({', '.join(untyped) or 'of what it returns'})")
    assert wrong == []


def test_kernels_are_called_through_what_stands_in_front_of_them() -> None:
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        if (ROOT / "kernels") in path.parents:
            continue
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("transa.kernels"):
                wrong += [f"{path.relative_to(ROOT)} imports {one.name}" for one in node.names if one.name[0] == "_"]
    assert wrong == []

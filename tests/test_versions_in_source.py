"""Only the compat folder knows that versions of TVM differ.

The source outside of it neither decides by a version of TVM, nor asks whether TVM has a name, nor
names what moves from one version to the next. Run on each supported release, this finds every name
that one of them lacks.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from relaxfuzz.compat.ir import HOMES

ROOT = Path(__file__).parents[1]
LAYERS = ("generators", "oracles", "corpus", "fuzz")
COMPAT = ROOT / "src/relaxfuzz/compat"
ROOTS = ("tvm", "tvm_ffi")

STANDALONE = {
    "oracles/arithmetic_passes.py": "its text stands in reproducers, which import TVM only",
}
"""Files that may not use compat, and why."""


def source_files() -> list[Path]:
    """All but the reproducers in the corpus, each of which is for the versions that it names."""
    files = [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]
    return [each for each in files if not each.is_relative_to(ROOT / "corpus/found")]


@cache
def moving() -> frozenset[str]:
    """The classes that compat finds wherever TVM keeps them, under all their names."""
    return frozenset(
        argument.value
        for node in ast.walk(ast.parse((COMPAT / "ir.py").read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "node"
        for argument in node.args
        if isinstance(argument, ast.Constant)
    )


def problems(source: str) -> list[str]:
    """What a file outside of compat does that only compat may do, with line numbers."""
    tree = ast.parse(source)
    names = imported(tree)
    found = []
    for node, dotted in tvm_names(tree, names):
        if missing := unresolved(dotted):
            found.append((node.lineno, f"the installed TVM has no {missing}"))
        elif dotted.rpartition(".")[0] in HOMES and dotted.rpartition(".")[2] in moving():
            found.append((node.lineno, f"{dotted} is named directly: take it from compat.ir"))
        elif dotted.endswith(".__version__"):
            found.append((node.lineno, f"{dotted} is read: take it from compat.release"))
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Name("hasattr" | "getattr"), [owner, ast.Constant(str(name)), *_]):
                if dotted := chain(owner, names):
                    found.append((node.lineno, f"it is asked whether {dotted} has {name}"))
        found += [
            (child.lineno, f"{ast.unparse(child)} decides something")
            for child in ast.iter_child_nodes(node)
            if is_version(child) and decides(child, node)
        ]
    return [f"line {line}: {text}" for line, text in sorted(set(found))]


def imported(tree: ast.Module) -> Mapping[str, str]:
    """By the names in the file, what they stand for in TVM."""
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.split(".")[0]
                if top in ROOTS:
                    found[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and not node.level:
            module = str(node.module)
            if module.split(".")[0] in ROOTS:
                found |= {each.asname or each.name: f"{module}.{each.name}" for each in node.names}
    return found


def tvm_names(tree: ast.Module, names: Mapping[str, str]) -> Iterator[tuple[ast.AST, str]]:
    """The dotted names of TVM in a file, each in full."""
    inner = set()
    for node in ast.walk(tree):  # from the outside in
        if isinstance(node, ast.Attribute) and node not in inner:
            if dotted := chain(node, names):
                yield node, dotted
            while isinstance(node, ast.Attribute):
                node = node.value
                inner.add(node)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                if dotted := names.get(alias.asname or alias.name.split(".")[0]):
                    yield node, dotted if isinstance(node, ast.ImportFrom) else alias.name


def chain(node: ast.AST, names: Mapping[str, str]) -> str | None:
    """The dotted name that an expression is, if it is one of TVM."""
    match node:
        case ast.Name(name):
            return names.get(name)
        case ast.Attribute(value, name):
            return f"{owner}.{name}" if (owner := chain(value, names)) else None
    return None


@cache
def unresolved(dotted: str) -> str | None:
    """The part of a dotted name that the installed TVM lacks; what follows an object is its own."""
    parts = dotted.split(".")
    found: object = importlib.import_module(parts[0])
    for i, name in enumerate(parts[1:], 1):
        module = ".".join(parts[:i])
        if not isinstance(found, type | type(ast)):
            return None
        if hasattr(found, name):
            found = getattr(found, name)
        elif isinstance(found, type(ast)) and importlib.util.find_spec(f"{module}.{name}"):
            found = importlib.import_module(f"{module}.{name}")
        else:
            return f"{module}.{name}"
    return None


def is_version(node: ast.AST) -> bool:
    """`versions()["tvm"]`, `tvm_version()`, with the name of their module or without."""
    match node:
        case ast.Subscript(
            ast.Call(ast.Name(name) | ast.Attribute(_, name)), ast.Constant("tvm" | "tvm_ffi")
        ):
            return name == "versions"
        case ast.Call(ast.Name(name) | ast.Attribute(_, name)):
            return name == "tvm_version"
    return False


def decides(node: ast.AST, parent: ast.AST) -> bool:
    """Whether a version is compared or taken apart, rather than shown, stored or handed on."""
    match parent:
        case ast.Compare() | ast.Subscript() | ast.Attribute():
            return True
        case ast.Call(function):
            name = ast.unparse(function)
            return name.startswith("re.") or name.endswith(("Version", "parse", "int", "tuple"))
    return False


def test_nobody_outside_of_compat_depends_on_a_version() -> None:
    found = {str(path.relative_to(ROOT)): problems(path.read_text()) for path in source_files()}
    dependent = {name: problems for name, problems in found.items() if problems}
    assert dependent.keys() == STANDALONE.keys(), dependent


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import tvm\ntvm.relax.op.nn.no_such()", "installed TVM has no tvm.relax.op.nn.no_such"),
        ("from tvm import relax\nrelax.NoSuch.x", "installed TVM has no tvm.relax.NoSuch"),
        ("from tvm.relax import NoSuch", "installed TVM has no tvm.relax.NoSuch"),
        ("import tvm.no_such", "installed TVM has no tvm.no_such"),
        ("import tvm_ffi as f\nf.no_such()", "installed TVM has no tvm_ffi.no_such"),
        (
            "from tvm import relax\nrelax.Call.NO_SUCH",
            "installed TVM has no tvm.relax.Call.NO_SUCH",
        ),
        ("def f():\n    from tvm import tirx\n    tirx.For", "tvm.tirx.For is named directly"),
        ("from tvm.tirx import For", "tvm.tirx.For is named directly"),
        ("import tvm\ntvm.__version__", "tvm.__version__ is read"),
        ("from tvm import relax\nhasattr(relax, 'X')", "asked whether tvm.relax has X"),
        ("import tvm\ngetattr(tvm.ir, 'X', None)", "asked whether tvm.ir has X"),
        ("versions()['tvm'] < '0.27'", "versions()['tvm'] decides something"),
        ("'0.26.0' == release.tvm_version()", "release.tvm_version() decides something"),
        ("tvm_version().startswith('0.26')", "tvm_version() decides something"),
        ("release.versions()['tvm_ffi'].split('.')", "decides something"),
        ("Version(tvm_version())", "decides something"),
        ("re.match('0[.]27', versions()['tvm'])", "decides something"),
    ],
)
def test_each_of_these_is_found(source: str, expected: str) -> None:
    (found,) = problems(source)
    assert expected in found


@pytest.mark.parametrize(
    "source",
    [
        "import tvm\nmod = tvm.IRModule()\nmod.no_such",
        "from tvm import relax\nrelax.op.add(x, y).no_such",
        "import tvm.relax as r\nr.transform.FuseOps().no_such",
        "from ..compat import ir\nir.NoSuch",
        "import numpy as np\nnp.no_such",
        "getattr(mod, 'name', None)",
        "import tvm\nhasattr(tvm.relax.transform, name)",
        "f'TVM {tvm_version()}'",
        "known = load(versions()['tvm'])",
    ],
)
def test_none_of_these_is(source: str) -> None:
    assert problems(source) == []


def test_compat_is_what_knows_moving_names() -> None:
    assert {"GenericConst", "Constant", "TensorLoad", "BufferLoad", "For"} <= moving()

"""Knowledge of one pass or operator stands in its record; the engines know none by name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from relaxfuzz.generators.ops import table
from relaxfuzz.oracles.catalogue import catalogue

ROOT = Path(__file__).parents[1] / "src" / "relaxfuzz"

PASSES = (
    # The table of the stages of TVM's pipelines.
    "generators/stages.py",
    # The operators that a pass lowers, and the patterns that it looks for.
    "generators/ops/",
    "generators/idioms/patterns.py",
    # The contracts, the references, and the table of public passes.
    "oracles/catalogue/",
    "oracles/reference/",
    "oracles/passcall.py",
    # Measured costs.
    "fuzz/campaign/costs.py",
)
"""Files that are records of passes."""

OPERATORS = (
    "generators/",
    "oracles/catalogue/",
    "oracles/reference/",
    # The meaning of operators of lowered modules, which have no record.
    "oracles/evaluate/",
    # Passes with a fault, such as users write.
    "fuzz/doctor/faults.py",
)
"""Files that are records of operators, or make calls of them."""


def texts(path: Path) -> Iterator[ast.Constant]:
    """The string literals of a file, docstrings left out."""
    tree = ast.parse(path.read_text())
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node


def named(names: frozenset[str], records: tuple[str, ...]) -> list[str]:
    """The places outside of the records whose text is one of the names."""
    files = sorted(path for layer in ("generators", "oracles", "fuzz") for path in found(layer))
    return [
        f"{file}:{node.lineno}: {node.value!r}"
        for file in files
        if not file.startswith(records)
        for node in texts(ROOT / file)
        if node.value in names
    ]


def found(layer: str) -> Iterator[str]:
    return (str(path.relative_to(ROOT)) for path in (ROOT / layer).rglob("*.py"))


def test_engines_know_no_pass_by_name() -> None:
    assert not named(frozenset(catalogue), PASSES)


def test_engines_know_no_operator_by_name() -> None:
    assert not named(frozenset(f"relax.{name}" for name in table), OPERATORS)


@pytest.mark.parametrize("records", [PASSES, OPERATORS])
def test_each_record_exists(records: tuple[str, ...]) -> None:
    assert all((ROOT / each).exists() for each in records)


def test_a_name_in_an_engine_is_found(tmp_path: Path) -> None:
    file = tmp_path / "engine.py"
    file.write_text('"""FuseOps"""\n\nif name == "FuseOps":\n    pass\n')
    assert [(node.value, node.lineno) for node in texts(file)] == [("FuseOps", 3)]

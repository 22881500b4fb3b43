"""The violations that the reproducer of a known bug shows, under the passes that it runs."""

from __future__ import annotations

import ast
import contextlib
import runpy
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tvm

from ...compat.serialization import load_json, save_json
from ...generators.stages import LEGALIZER, Stage
from ...oracles import keys
from ...oracles.catalogue import catalogue
from ...oracles.checkers import RELAX, TENSOR_IR, complaint
from ...oracles.metamorphic import scripted
from ...oracles.passcall import PassCall, bare_call, partitions, public_passes
from ...oracles.structural import well_formed
from ...oracles.tiers import ORACLES
from ...oracles.violation import Violation
from ..process.context import Context
from ..process.protocol import Job
from .jobs import Check, violations_of

_MAIN = "__main__"

_NAMES = (
    "globals().update({{name: value for name, value in __import__('runpy').run_path("
    "{file!r}, run_name='reproducer').items() if not name.startswith('__')}})"
)
"""A statement that makes the names that a file defines available to an expression."""

_BUILDS = ("relax.build(", "tvm.compile(")


@dataclass(frozen=True, slots=True)
class ShownViolation:
    """A violation that a reproducer shows; the first answer only has the module."""

    violation: Violation | None
    module: str = ""
    """The module, as TVM JSON; empty if the file has none."""
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReproducer(Job[ShownViolation]):
    """Check the module of a reproducer with the passes that the file runs.

    If there is no module, or these passes show no violation, the file's own exception counts.
    """

    file: str
    reports: tuple[tuple[str, ...], ...]
    """Oracle and blamed pass of each report in the record; others are not symptoms of its bug."""


def run_reproducer(job: RunReproducer, context: Context[ShownViolation]) -> None:
    """Report each violation of a kind that the record names."""
    file, wanted = Path(job.file), {report[:2] for report in job.reports}
    context.journal.position(0, Stage.RAW, 0, "check", (), None)
    context.journal.step("read")
    mod = _module(file)
    text = "" if mod is None else save_json(mod)
    context.report(ShownViolation(None, text))
    found = False
    for check in _checks(file, job.reports) if text else ():
        context.journal.position(0, Stage.RAW, 0, "check", check.calls, check.pipeline)
        with contextlib.suppress(Exception):  # it needs names that only the file has
            for each in violations_of(check, load_json(text), context.journal):
                if (each.oracle, each.pass_name) in wanted:
                    found = True
                    context.report(ShownViolation(each, text, check.calls, check.pipeline))
    scripts = mod is not None and any(name == scripted.TVMSCRIPT_ITSELF for _, name in wanted)
    if scripts and (read := scripted.violation_of(mod)) is not None:
        found = True
        context.report(ShownViolation(read.blame(scripted.TVMSCRIPT.name, ""), text))
    raised = None if found else _raised(file, mod, job.reports[0])
    if raised is not None:
        context.report(ShownViolation(raised, text))


def _module(file: Path) -> tvm.IRModule | None:
    mod = runpy.run_path(str(file), run_name="reproducer").get("mod")
    return mod if isinstance(mod, tvm.IRModule) else None


def _raised(file: Path, mod: tvm.IRModule | None, report: tuple[str, ...]) -> Violation | None:
    """The violation for an exception of the file, in the form of the report's oracle."""
    oracle, blamed, *_ = report
    try:
        runpy.run_path(str(file), run_name=_MAIN)
    except Exception as error:
        found = keys.exception(error)
        compares = "ir/base.py:assert_structural_equal" in found.trace.functions
        where = traceback.extract_tb(error.__traceback__)[-1].filename
        by_check = isinstance(error, AssertionError) and "/tvm/" not in where
        if oracle not in ORACLES or by_check or compares:
            return None
        if oracle == well_formed.ORACLE.name and mod is not None:
            innermost = "".join(found.trace.functions[-1:])
            if "WellFormedChecker" in innermost:
                found = complaint(RELAX, error, mod)
            elif "verify_well_formed" in innermost:
                found = complaint(TENSOR_IR, error, mod)
        elif oracle == scripted.TVMSCRIPT.name and mod is not None:
            found = scripted.unreadable(mod, error)
        return replace(found, oracle=oracle, pass_name=blamed)
    return None


def _checks(file: Path, reports: tuple[tuple[str, ...], ...]) -> Iterator[Check]:
    source = file.read_text(encoding="utf-8")
    named = dict.fromkeys(oracle for oracle, *_ in reports if oracle in ORACLES)
    oracles = tuple(named) or None
    for calls in calls_in(file):
        yield Check(module="", calls=calls, oracles=oracles)
    if any(text in source for text in _BUILDS):
        yield Check(module="", pipeline="default", oracles=oracles)
        yield Check(module="", calls=(bare_call(LEGALIZER),), oracles=oracles)


def calls_in(file: Path) -> list[tuple[PassCall, ...]]:
    """The passes that a reproducer runs: each by itself, or their list.

    Their arguments may use names that the file defines before them.
    """
    tree = ast.parse(file.read_text(encoding="utf-8"))
    main = [
        s for node in tree.body if isinstance(node, ast.If) for s in node.body if _is_main(node)
    ]
    names = {name.rpartition(".")[2] for name in (*public_passes().values(), *catalogue)}
    config = _config(tree)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    imports = [_NAMES.format(file=str(file))]
    found: list[tuple[PassCall, ...]] = []
    for statement in (*main, *functions):
        if found and statement in functions:
            break
        calls = [
            _call(node, config, tuple(imports))
            for node in ast.walk(statement)
            if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in names
        ]
        in_list = isinstance(statement, ast.Assign) and isinstance(statement.value, ast.List)
        found += [tuple(calls)] if in_list and calls else [(call,) for call in calls]
        if isinstance(statement, ast.Assign | ast.Import | ast.ImportFrom) or (
            isinstance(statement, ast.FunctionDef) and statement in main
        ):
            imports.append(ast.unparse(statement))
    return found


def _call(node: ast.Call, config: dict[str, Any], imports: tuple[str, ...]) -> PassCall:
    """The pass that is made; for a partition function called on the module, the function."""
    if ast.unparse(node.func) not in partitions():
        return PassCall(ast.unparse(node), config, imports)
    return PassCall(ast.unparse(ast.Call(node.func, node.args[1:], node.keywords)), config)


def _is_main(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and _MAIN in ast.unparse(node.test)


def _config(tree: ast.Module) -> dict[str, Any]:
    """The options of the PassContext that the file creates."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith("PassContext"):
            for keyword in node.keywords:
                with contextlib.suppress(ValueError):
                    given = ast.literal_eval(keyword.value)
                    if keyword.arg == "config" and given:
                        return dict(given)
    return {}

"""relaxfuzz itself, Python, and what is installed beside; for TVM see `toolchain`."""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

from .line import Line, ok, problem, warning

NAME = "relaxfuzz"
REPAIR = f"pip install --upgrade {NAME}"

TVM_EXTRA = "tvm"
"""Looked at by itself: whatever TVM is importable is used."""

NAMED = ("numpy", "hypothesis")
"""Findings depend on their versions."""

_TELLING = re.compile(
    r"TVM_\w+|PYTHON(PATH|HOME|HASHSEED|OPTIMIZE|MALLOC|NOUSERSITE)|(LD|DYLD)_\w+|OMP_NUM_THREADS|"
    r"TMPDIR|XDG_CACHE_HOME"
)
"""Environment variables that change what is run, and where."""

_REQUIREMENT = re.compile(
    r"(?P<name>[\w.-]+)\s*(?:[=>]=\s*(?P<least>[\d.]+))?[^;]*(?:;\s*extra\s*==\s*'(?P<extra>\w+)')?"
)


def lines() -> Iterator[Line]:
    """Each part."""
    yield _relaxfuzz()
    yield _python()
    set_here = [f"{name}={os.environ[name]}" for name in os.environ if _TELLING.fullmatch(name)]
    if set_here:
        yield ok("variables", ", ".join(sorted(set_here)))
    needed = _requirements()
    others = []
    for name, least in needed.get(None, {}).items():
        line = _distribution(name, least)
        if name in NAMED or line.verdict != "ok":
            yield line
        else:
            others.append(f"{name} {line.value}")
    if others:
        yield ok("dependencies", ", ".join(others))
    for extra, distributions in needed.items():
        if extra is not None and extra != TVM_EXTRA:
            yield _extra(extra, distributions)


def _relaxfuzz() -> Line:
    where = Path(__file__).parents[2]
    try:
        return ok(NAME, f"{metadata.version(NAME)}, {where}")
    except metadata.PackageNotFoundError:
        return warning(NAME, f"not installed, imported from {where}", f"pip install -e {where}")


def _python() -> Line:
    value = f"{platform.python_implementation()} {platform.python_version()}, {sys.executable}"
    if platform.python_implementation() != "CPython":
        return problem("Python", value, "TVM needs CPython: make an environment with that")
    if sys.flags.optimize:
        return warning(
            "Python",
            f"{value}, with assertions switched off",
            "leave -O away and unset PYTHONOPTIMIZE: a fault of relaxfuzz would go unnoticed",
        )
    return ok("Python", value)


def _requirements() -> dict[str | None, dict[str, str]]:
    """By extra (None: always): distributions and the oldest versions that will do."""
    try:
        told = metadata.requires(NAME) or []
    except metadata.PackageNotFoundError:
        return {}
    found: dict[str | None, dict[str, str]] = {}
    for text in told:
        match = _REQUIREMENT.match(text.replace('"', "'"))
        assert match is not None, text
        found.setdefault(match["extra"], {})[match["name"]] = match["least"] or ""
    return found


def _distribution(name: str, least: str) -> Line:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return problem(name, "not installed", REPAIR)
    if _numbers(version) < _numbers(least):
        return problem(name, f"{version} is too old, {least} is needed", REPAIR)
    return ok(name, version)


def _extra(extra: str, distributions: dict[str, str]) -> Line:
    part, install = f"extra {extra}", f"pip install '{NAME}[{extra}]'"
    made = {name: _distribution(name, least) for name, least in distributions.items()}
    value = ", ".join(f"{name} {line.value}" for name, line in made.items())
    unfit = [line for line in made.values() if line.verdict != "ok"]
    if not unfit:
        return ok(part, value)
    if all(line.value == "not installed" for line in unfit):
        return ok(part, value, f"if you want it: {install}")
    return warning(part, value, install)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version.split("+")[0].split("rc")[0])))

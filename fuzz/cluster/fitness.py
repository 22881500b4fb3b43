"""Properties that must agree on all machines, so that a seed gives the same modules."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib
import sys
from collections.abc import Iterable, Mapping
from importlib import metadata
from pathlib import Path

from ...compat.release import versions

FOLDERS = ("generators", "oracles", "corpus", "fuzz")

BROKEN = "broken"
"""The key for an error that prevents relaxfuzz from running on a worker."""


def about(places: Iterable[str] = ()) -> Mapping[str, str]:
    """Versions in this process, and a digest of relaxfuzz, since builds of one version may differ.

    The digest also covers the corpus, with the known bugs.

    Args:
        places: files, by their digests, and folders that the passes need.
    """
    return {**_own(), **{place: _state(Path(place)) for place in places}}


async def about_worker(places: Iterable[str]) -> Mapping[str, str]:
    """Call `about` on a worker; its event loop does not wait while TVM is imported."""
    return await asyncio.to_thread(_about_worker, places)


def _about_worker(places: Iterable[str]) -> Mapping[str, str]:
    found = about(places)
    try:
        importlib.import_module(f"{__package__}.remote")  # the first task needs it at once
    except Exception as error:  # mostly due to another TVM, whose version explains more
        return {**found, BROKEN: first_line(error)}
    return found


def first_line(error: object) -> str:
    """The type of an exception, and the beginning of its message."""
    line = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {line}"[:200]


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """Differences such as `tvm 0.26.0 instead of 0.27.0`; empty if both can cooperate.

    Args:
        here: the properties of the driver.
        there: the properties of a worker.
    """
    differ = [name for name in here if here[name] != there.get(name)]
    if not differ and BROKEN in there:
        return [f"relaxfuzz does not run there: {there[BROKEN]}"]
    return [f"{name} {there.get(name, 'not installed')} instead of {here[name]}" for name in differ]


@functools.cache
def _own() -> Mapping[str, str]:
    return {
        "relaxfuzz": metadata.version("relaxfuzz"),
        "relaxfuzz_sources": _digest(),
        **versions(),
        "python": ".".join(map(str, sys.version_info[:2])),
    }


def _state(place: Path) -> str:
    try:
        return "there" if place.is_dir() else hashlib.sha256(place.read_bytes()).hexdigest()[:12]
    except OSError:
        return "missing"


def _digest() -> str:
    whole = hashlib.sha256()
    package = Path(__file__).resolve().parents[2]
    for folder in FOLDERS:
        for path in sorted((package / folder).rglob("*")):
            if path.suffix in (".py", ".toml"):
                whole.update(f"{path.relative_to(package)}\0".encode())
                whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:12]

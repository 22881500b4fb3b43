"""What must be the same on all machines of a campaign: else one seed gives different modules."""

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

LABELS = {"relaxfuzz_sources": "the sources of relaxfuzz", "tvm_build": "the build of TVM"}

BROKEN = "broken"
"""The key of the error that keeps relaxfuzz from running on a worker."""


def about(packages: Iterable[str] = ()) -> Mapping[str, str]:
    """Versions of this process, and a digest of relaxfuzz: builds of one version may differ.

    The digest covers the corpus, the known bugs, too.

    Args:
        packages: other packages that passes import; those that are not installed are left out.
    """
    return {**_own(), **_installed(packages)}


async def about_worker(packages: Iterable[str]) -> Mapping[str, str]:
    """`about`, on a worker: its event loop does not wait while TVM is imported."""
    return await asyncio.to_thread(_about_worker, packages)


def _about_worker(packages: Iterable[str]) -> Mapping[str, str]:
    found = about(packages)
    try:
        importlib.import_module(f"{__package__}.remote")  # the first task needs it at once
    except Exception as error:  # mostly because of another TVM: then its version explains more
        return {**found, BROKEN: first_line(error)}
    return found


def first_line(error: object) -> str:
    """The type of an exception, and the beginning of its message."""
    line = (str(error).strip().splitlines() or [""])[0]
    return f"{type(error).__name__}: {line}"[:200]


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """`tvm 0.26.0 instead of 0.27.0` for each that differs; empty if both can work together.

    Args:
        here: of the driver.
        there: of a worker.
    """
    differ = [name for name in here if here[name] != there.get(name)]
    if "relaxfuzz" in differ and "relaxfuzz_sources" in differ:
        differ.remove("relaxfuzz_sources")
    for name in ("tvm_ffi", "tvm_git", "tvm"):  # each differs only between two builds
        if name in differ and "tvm_build" in differ:
            differ.remove("tvm_build")
    if "tvm" in differ and "tvm_git" in differ:
        differ.remove("tvm_git")
    if not differ and BROKEN in there:
        return [f"relaxfuzz does not run there: {there[BROKEN]}"]
    return [
        f"{LABELS.get(name, name)} {there.get(name, 'not installed')} instead of {here[name]}"
        for name in differ
    ]


@functools.cache
def _own() -> Mapping[str, str]:
    return {
        "relaxfuzz": metadata.version("relaxfuzz"),
        "relaxfuzz_sources": _digest(),
        **versions(),
        "python": ".".join(map(str, sys.version_info[:2])),
    }


def _installed(packages: Iterable[str]) -> Mapping[str, str]:
    found = {}
    if wanted := tuple(packages):
        distributions = metadata.packages_distributions()
        for name in wanted:
            if name in distributions:
                found[name] = metadata.version(distributions[name][0])
    return found


def _digest() -> str:
    whole = hashlib.sha256()
    package = Path(__file__).resolve().parents[2]
    for folder in FOLDERS:
        for path in sorted((package / folder).rglob("*")):
            if path.suffix in (".py", ".toml"):
                whole.update(f"{path.relative_to(package)}\0".encode())
                whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:12]

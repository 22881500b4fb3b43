"""What must be the same on all machines of a campaign, or the same seed gives other modules."""

from __future__ import annotations

import asyncio
import functools
import hashlib
import importlib
import sys
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path

from ...generators.tvm_api import versions

FOLDERS = ("generators", "oracles", "corpus", "fuzz")

IN_WORDS = {"relaxfuzz_sources": "the sources of relaxfuzz"}
"""Of what is no name by itself."""

BROKEN = "broken"
"""Why a worker cannot do what it is asked to."""


@functools.cache
def about() -> Mapping[str, str]:
    """Versions of this process, and a digest of relaxfuzz: builds of one version may differ.

    The digest stands for the corpus, the knowns and their triggers, too.
    """
    python = ".".join(map(str, sys.version_info[:2]))
    return {
        "relaxfuzz": version("relaxfuzz"),
        "relaxfuzz_sources": _digest(),
        **versions(),
        "python": python,
    }


async def introduced() -> Mapping[str, str]:
    """`about`, on a worker whose event loop must not wait for TVM to be imported."""
    return await asyncio.to_thread(_prepared)


def _prepared() -> Mapping[str, str]:
    seen = about()
    try:
        importlib.import_module(f"{__package__}.remote")  # the first task finds it there
    except Exception as error:  # mostly another TVM: then the versions say it better
        said = (str(error).strip().splitlines() or [""])[0]
        return {**seen, BROKEN: f"{type(error).__name__}: {said}"[:200]}
    return seen


def differences(here: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """`tvm 0.26.0 instead of 0.27.0` for each that differs; empty: fit to work together.

    Args:
        here: of the driver.
        there: of a worker.
    """
    differ = [name for name in here if here[name] != there.get(name)]
    if "relaxfuzz" in differ and "relaxfuzz_sources" in differ:
        differ.remove("relaxfuzz_sources")
    if "tvm" in differ and "tvm_git" in differ:
        differ.remove("tvm_git")
    if not differ and BROKEN in there:
        return [f"relaxfuzz does not run there: {there[BROKEN]}"]
    return [
        f"{IN_WORDS.get(name, name)} {there.get(name, 'unknown')} instead of {here[name]}"
        for name in differ
    ]


def _digest() -> str:
    whole = hashlib.sha256()
    package = Path(__file__).resolve().parents[2]
    for folder in FOLDERS:
        for path in sorted((package / folder).rglob("*")):
            if path.suffix in (".py", ".toml"):
                whole.update(f"{path.relative_to(package)}\0".encode())
                whole.update(hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:12]

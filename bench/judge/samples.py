"""Results of correct passes, to be altered: a module, a pass that changes it, and the result."""

from __future__ import annotations

import functools
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import tvm

from relaxfuzz.compat.serialization import load_json, save_json
from relaxfuzz.fuzz.jobs.draw import NoExample, example
from relaxfuzz.generators.choices import Choices
from relaxfuzz.generators.families import FAMILIES
from relaxfuzz.generators.stages import Stage, step, steps, usable
from relaxfuzz.oracles.catalogue import of_family
from relaxfuzz.oracles.checkers import flaw, input_flaw
from relaxfuzz.oracles.pass_runs import digest
from relaxfuzz.oracles.passcall import PassCall

from .planted import usual

REAL = "real"
"""The family of modules of the user's archive."""

LARGEST = 60_000
"""Most characters of a real module's text."""


@dataclass(frozen=True, slots=True)
class Sample:
    """A pass and the result to alter."""

    stage: Stage
    mod: tvm.IRModule
    call: PassCall
    result: tvm.IRModule


def read(path: Path) -> Iterator[tuple[str, str]]:
    """The names and texts of the JSON files in an archive or a folder, or of one file."""
    if path.is_dir():
        yield from ((each.name, each.read_text()) for each in sorted(path.glob("**/*.json")))
    elif path.suffix == ".json":
        yield path.name, path.read_text()
    else:
        with tarfile.open(path) as archive:
            for member in archive:
                file = archive.extractfile(member) if member.name.endswith(".json") else None
                if file is not None:
                    yield Path(member.name).name, file.read().decode()


@functools.cache
def real_modules(archive: Path) -> list[tuple[str, str]]:
    """The names and texts of modules of an archive that are not too large."""
    texts = sorted((name, text) for name, text in read(archive) if len(text) <= LARGEST)
    Random(0).shuffle(texts)
    return texts


def samples(
    family: str, seed: int, index: int, most: int, archive: Path | None = None
) -> Iterator[Sample]:
    """Results of some passes on one module, at one of their stages.

    Only passes count that change the module and for which `relaxfuzz check` reports nothing.
    """
    random = Random(f"{family} {seed} {index}")
    mod = _module(family, seed, index, archive)
    if mod is None or input_flaw(mod) is not None:
        return
    of = "relax" if family == REAL else family
    stages = usable(FAMILIES[of].first)
    stage = random.choice(stages) if random.random() < 0.6 else stages[0]
    advanced = _advanced(mod, stages[: stages.index(stage) + 1])
    if advanced is None:
        return
    passes = [name for name, each in of_family(of).items() if stage in each.stages]
    random.shuffle(passes)
    found = 0
    text = save_json(advanced)
    for name in passes:  # each gets its own module, as some change theirs in place
        sample = _sample(of, name, stage, load_json(text), random.randbytes(64))
        if sample is not None:
            yield sample
            found += 1
        if found == most:
            return


def _module(family: str, seed: int, index: int, archive: Path | None) -> tvm.IRModule | None:
    if family == REAL:
        assert archive is not None
        texts = real_modules(archive)
        try:
            return load_json(texts[index % len(texts)][1])
        except Exception:  # a module of another version of TVM
            return None
    try:
        return example(FAMILIES[family].modules(), seed, index)
    except NoExample:
        return None


def _advanced(mod: tvm.IRModule, stages: Sequence[Stage]) -> tvm.IRModule | None:
    try:
        for stage in stages:
            for name in steps(stage):
                mod = step(mod, name)
    except Exception:  # a bug of a pass on the way
        return None
    return None if flaw(mod) is not None else mod


def _sample(family: str, name: str, stage: Stage, mod: tvm.IRModule, data: bytes) -> Sample | None:
    contract = of_family(family)[name]
    if contract.universal_only or contract.requires(mod) is not None:
        return None
    call = contract.choose(Choices(data), mod)
    if call is None:
        return None
    mark = digest(mod)
    try:
        result = call.run(mod)
    except Exception:
        return None
    if digest(mod) != mark or digest(result) == mark or usual(call, mod).oracles:
        return None
    return Sample(stage, mod, call, result)

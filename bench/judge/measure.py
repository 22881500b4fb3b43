"""Plant faults in forks, ask the oracles, and record their answers."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random
from typing import Any

import tvm

from relaxfuzz.compat.serialization import save_json
from relaxfuzz.oracles.passcall import PassCall

from ..forks import Report, in_fork
from . import relax_structure, relax_values, tensorir
from .mutation import Changes, Mutation, by_kind, drawn
from .planted import planted, thorough, usual
from .samples import REAL, Sample, samples
from .silence import reasons, rule
from .truth import EQUAL, UNKNOWN, truth

MUTATIONS = by_kind([*relax_values.MUTATIONS, *relax_structure.MUTATIONS, *tensorir.MUTATIONS])

FAMILIES = ("relax", REAL, "tensorir", "dlight")

PASSES = 3
"""The number of results to alter for one module."""

FAULTS = 6
"""The number of faults to plant in one result, one at a time."""

SECONDS = 90
"""The limit for the oracles' answers on one fault; exceeding it counts as a death."""

DIED = "died"

FAILED = "the harness failed"


@dataclass(frozen=True, slots=True)
class Fault:
    """One planted fault, and its outcome."""

    family: str
    index: int
    call: str
    kind: str
    usual: tuple[str, ...] = ()
    """The oracles that report it in the usual check."""
    thorough: tuple[str, ...] = ()
    """The oracles that report it with all kinds of arguments; not asked if the usual check does."""
    truth: str = ""
    """The change made by a silent fault; see `truth`."""
    rule: str = ""
    """The rule that keeps the oracles quiet with all kinds of arguments."""
    seconds: float = 0.0
    folder: str = ""
    titles: tuple[str, ...] = field(default=())

    @property
    def reported(self) -> bool:
        """True if an oracle reports it, if need be with all kinds of arguments."""
        return bool(self.usual or self.thorough)

    @property
    def is_equal(self) -> bool:
        """True if no oracle reports it and nothing differs."""
        return not self.reported and self.truth == EQUAL


def faults(
    family: str,
    seed: int,
    budget: float,
    archive: Path | None = None,
    keep: Path | None = None,
    kinds: Mapping[str, Mutation] = MUTATIONS,
    first: int = 0,
) -> Iterator[Fault]:
    """The faults of one family, module by module, until the budget of seconds is spent.

    The kinds that were planted least so far come first.

    Args:
        keep: the folder for silent faults.
        first: the number of the first module.
    """
    planted_so_far: Counter[str] = Counter()
    end = time.monotonic() + budget
    index = first
    while time.monotonic() < end:
        order = _order(kinds, planted_so_far, Random(f"{seed} {index}"))
        given = (family, seed, index, archive, keep, [kinds[kind] for kind in order])
        reported, _ = in_fork(_plant, *given)
        for fault in _ended(reported):
            planted_so_far[fault.kind] += 1
            yield fault
        index += 1


def _order(kinds: Mapping[str, Mutation], done: Counter[str], random: Random) -> list[str]:
    names = list(kinds)
    random.shuffle(names)
    return sorted(names, key=lambda kind: done[kind])


def _ended(reported: list[Any]) -> Iterator[Fault]:
    """The faults with the known facts; the last one may have killed the process."""
    known: dict[int, Fault] = {}
    for number, fields in reported:
        known[number] = Fault(**fields)
    for number, fault in known.items():
        ended = [n for n, _ in reported].count(number) > 1
        yield fault if ended else Fault(**{**asdict(fault), "usual": (DIED,)})


def _plant(
    report: Report,
    family: str,
    seed: int,
    index: int,
    archive: Path | None,
    keep: Path | None,
    order: list[Mutation],
) -> None:
    number = 0
    for sample in samples(family, seed, index, PASSES, archive):
        left = FAULTS
        random = Random(f"{seed} {index} {sample.call}")
        for mutation in order:
            altered = drawn(mutation, sample.result, random) if left else None
            if altered is None:
                continue
            signal.alarm(SECONDS)
            left -= 1
            number += 1
            fault = Fault(family, index, str(sample.call), mutation.kind)
            report((number, asdict(fault)))
            try:
                made = judged(fault, sample, altered, keep)
            except Exception as error:  # a fault of the harness is not a report
                made = replace(fault, truth=FAILED, rule=f"{FAILED}: {type(error).__name__}")
            report((number, asdict(made)))


def judged(fault: Fault, sample: Sample, altered: tvm.IRModule, keep: Path | None = None) -> Fault:
    """The fault, with the answers of the oracles."""
    call = planted(sample.call, sample.mod, altered)
    began = time.monotonic()
    said = usual(call, sample.mod)
    fields = {**asdict(fault), "usual": said.oracles, "seconds": time.monotonic() - began}
    if not said.oracles:
        said = thorough(call, sample.mod)
        fields["thorough"] = said.oracles
    fields["titles"] = said.titles
    if not said.oracles:
        changed = truth(sample.mod, call, sample.result, altered)
        fields["truth"] = str(changed)
        if changed != EQUAL:
            fields["rule"] = rule(str(changed), said)
    made = Fault(**fields)
    if keep is not None and (not made.reported or not made.usual):
        folder = _kept(made, sample, altered, keep)
        (keep / folder / "silences.txt").write_text("\n".join(reasons(said)))
        made = Fault(**{**fields, "folder": folder})
    return made


def _kept(fault: Fault, sample: Sample, altered: tvm.IRModule, keep: Path) -> str:
    """Write the modules before and after, and the unaltered result, for people to read."""
    name = f"{fault.family}-{fault.index}-{sample.call.name}-{fault.kind}"
    folder = keep / "".join(c if c.isalnum() or c in "-." else "_" for c in name)
    folder.mkdir(parents=True, exist_ok=True)
    for what, mod in (("before", sample.mod), ("right", sample.result), ("after", altered)):
        (folder / f"{what}.json").write_text(save_json(mod))
        (folder / f"{what}.py").write_text(mod.script())
    text = f"{sample.call}\n{fault.kind}\nchanges: {fault.truth}\nrule: {fault.rule}\n"
    (folder / "reasons.txt").write_text(text + f"thorough: {fault.thorough} {fault.titles}\n")
    return folder.name


__all__ = ["FAMILIES", "MUTATIONS", "UNKNOWN", "Changes", "Fault", "PassCall", "faults", "judged"]

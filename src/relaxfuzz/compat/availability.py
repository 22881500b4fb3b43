"""The parts of relaxfuzz that do not work on the installed TVM, by name with the reason.

TVM's main renames operators, passes, fields and parameters. Anything that relaxfuzz needs from a
build, and does not get, is switched off for this build, and all the rest is used. `fuzz.probe`
determines this once for each build in separate processes, and keeps it in the user's cache folder.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import build
from .release import TVMUnsupported

VARIABLE = "RELAXFUZZ_AVAILABILITY"
"""The environment variable in which a process gives its availability to its child processes."""

NAMED = 12
"""The most names of one kind in a line."""


@dataclass(frozen=True, slots=True)
class Availability:
    """The parts that are off on one build of TVM: names, each with the reason in one sentence."""

    ops: Mapping[str, str] = field(default_factory=dict)
    """Operators of the table."""
    idioms: Mapping[str, str] = field(default_factory=dict)
    traits: Mapping[str, str] = field(default_factory=dict)
    """Traits of generated modules."""
    steps: Mapping[str, str] = field(default_factory=dict)
    """Passes that take a module from one stage to the next."""
    stages: Mapping[str, str] = field(default_factory=dict)
    passes: Mapping[str, str] = field(default_factory=dict)
    """Passes of the catalogue."""
    pipelines: Mapping[str, str] = field(default_factory=dict)
    oracles: Mapping[str, str] = field(default_factory=dict)
    nodes: Mapping[str, str] = field(default_factory=dict)
    """Classes of IR nodes, which no oracle understands."""
    models: Mapping[str, str] = field(default_factory=dict)
    """Models that modules are partly made of, see `corpus.models`."""
    build: str = ""
    """The identity of the build; empty if it was not tried, see `assume`."""

    def off(self) -> Mapping[str, Mapping[str, str]]:
        """The names that are off, with the reason, by kind ("op", "pass", ...); no empty kinds."""
        return {kind: names for kind in _PLURAL if (names := self.of(kind))}

    def of(self, kind: str) -> Mapping[str, str]:
        """The names of one kind ("op", "pass", ...) that are off, with the reason."""
        found: Mapping[str, str] = getattr(self, _PLURAL[kind])
        return found

    def lines(self) -> list[str]:
        """One line for each name that is off, with the reason."""
        return [
            f"{kind} {name}: {reason}"
            for kind, names in self.off().items()
            for name, reason in names.items()
        ]

    def sentence(self) -> str:
        """All names that are off, in one line; empty if everything works."""
        off = self.off()
        if not off:
            return ""
        are = "is" if sum(map(len, off.values())) == 1 else "are"
        what = ", ".join(_counted(kind, list(names)) for kind, names in off.items())
        return f"{what} {are} not available on this TVM: relaxfuzz doctor"

    def to_json(self) -> str:
        """The availability as text, for `from_json`."""
        return json.dumps(dataclasses.asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Availability:
        """Read the text of `to_json`.

        Raises:
            ValueError, TypeError: the text is something else.
        """
        made = cls(**json.loads(text))
        for name in _PLURAL.values():
            if not isinstance(names := getattr(made, name), dict):
                raise TypeError(f"expected names with reasons but got {name}={names!r:.40}")
        return made


_PLURAL = {
    "op": "ops",
    "idiom": "idioms",
    "trait": "traits",
    "stage": "stages",
    "pass": "passes",
    "pipeline": "pipelines",
    "oracle": "oracles",
    "node": "nodes",
    "model": "models",
}
"""The kinds of names that may be off, and the fields for them. A stage stands for its steps."""


def _counted(kind: str, names: Sequence[str]) -> str:
    listed = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
    return f"{len(names)} {kind if len(names) == 1 else _PLURAL[kind]} ({listed})"


_current: Availability | None = None


def current() -> Availability:
    """The availability on the installed TVM; the first use of a build determines it.

    Raises:
        TVMUnsupported: something is missing that relaxfuzz needs in any case, or `VARIABLE` has
            another text.
    """
    global _current
    if _current is None:
        given = os.environ.get(VARIABLE)
        _current = _given(given) if given else _cached() or _found_once()
    return _current


def _given(text: str) -> Availability:
    try:
        return Availability.from_json(text)
    except (ValueError, TypeError) as error:
        raise TVMUnsupported(
            f"expected {VARIABLE} to be the JSON that relaxfuzz gives to its own processes but got "
            f"{text[:60]!r} ({error}); unset it"
        ) from None


def assume() -> None:
    """Assume that everything works on a build that was not tried before.

    A campaign leaves out what does not (`campaign.events.Lacks`).
    """
    global _current
    if _current is None and not os.environ.get(VARIABLE):
        _current = _cached() or Availability()


def use(availability: Availability) -> None:
    """Make this the availability in this process."""
    global _current
    _current = availability


_waited: list[tuple[float, float]] = []
"""The times, by `time.monotonic()`, from and until which this process waited."""


def seconds_to_find_out(since: float) -> float:
    """The seconds that this process has waited until the availability was determined.

    Args:
        since: `time.monotonic()` from which on they count.
    """
    return sum(end - max(begin, since) for begin, end in _waited if end > since)


def _found_once() -> Availability:
    """The result of `find_out`, here or in another process that is running it."""
    began = time.monotonic()
    with build.alone("another process tries what works on this TVM: waiting for it"):
        found = _cached() or find_out()
    _waited.append((began, time.monotonic()))
    return found


def find_out() -> Availability:
    """Try everything on the installed TVM, in separate processes, and keep the result.

    Raises:
        TVMUnsupported: something is missing that relaxfuzz needs in any case.
    """
    done = subprocess.run(
        [sys.executable, "-m", "relaxfuzz.fuzz.probe"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    if done.returncode == 0:
        return Availability.from_json(done.stdout.decode())
    reason = done.stdout.decode().strip()
    if not reason:
        how = f"ended with code {done.returncode}"
        if done.returncode < 0:
            how = f"was killed by {signal.Signals(-done.returncode).name}"
        reason = f"the process that tries what works on this TVM {how}: relaxfuzz doctor"
    raise TVMUnsupported(reason)


def keep(availability: Availability) -> None:
    """Write it to the cache folder, for the next start on this build."""
    with contextlib.suppress(OSError):  # without the file, the next start finds it out again
        build.write(cache(), availability.to_json())


def cache() -> Path:
    """The file for the installed build."""
    return build.folder() / f"{build.stamp()}.json"


def _cached() -> Availability | None:
    try:
        return Availability.from_json(cache().read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return None

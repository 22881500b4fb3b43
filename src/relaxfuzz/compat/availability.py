"""What of relaxfuzz works on the installed TVM, and what does not, by name with the reason.

TVM's main renames operators, passes, fields and parameters. What relaxfuzz asks of a build, and
does not get, is switched off for this build, and all the rest is used. It is found out once for
each build, by `fuzz.probe` in processes of its own, and kept in the user's cache folder.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from . import build
from .release import TVMUnsupported

VARIABLE = "RELAXFUZZ_AVAILABILITY"
"""The environment variable in which a process gives its availability to those that it starts."""

NAMED = 12
"""Names of one kind in a line."""


@dataclass(frozen=True, slots=True)
class Availability:
    """What is off on one build of TVM: names, each with the reason in one sentence."""

    ops: Mapping[str, str] = field(default_factory=dict)
    """Operators of the table."""
    idioms: Mapping[str, str] = field(default_factory=dict)
    traits: Mapping[str, str] = field(default_factory=dict)
    """Of generated modules."""
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
    """Those that modules are partly made of, see `corpus.models`."""
    build: str = ""
    """The identity of the build."""

    def off(self) -> Mapping[str, Mapping[str, str]]:
        """By kind ("op", "pass", ...): what is off, with the reason; no kind without any."""
        return {kind: names for kind in _PLURAL if (names := self.of(kind))}

    def of(self, kind: str) -> Mapping[str, str]:
        """What is off of one kind ("op", "pass", ...)."""
        found: Mapping[str, str] = getattr(self, _PLURAL[kind])
        return found

    def lines(self) -> list[str]:
        """What is off and why, each in one line."""
        return [
            f"{kind} {name}: {reason}"
            for kind, names in self.off().items()
            for name, reason in names.items()
        ]

    def sentence(self) -> str:
        """What is off, in one line; empty where everything works."""
        off = self.off()
        if not off:
            return ""
        are = "is" if sum(map(len, off.values())) == 1 else "are"
        what = ", ".join(_counted(kind, list(names)) for kind, names in off.items())
        return f"{what} {are} not available on this TVM: relaxfuzz doctor"

    def to_json(self) -> str:
        """As text, for `from_json`."""
        return json.dumps(dataclasses.asdict(self), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Availability:
        """Read what `to_json` gave.

        Raises:
            ValueError, TypeError: it is something else.
        """
        return cls(**json.loads(text))


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
"""The kinds of what may be off, and the fields for them. A stage stands for its steps."""


def _counted(kind: str, names: Sequence[str]) -> str:
    listed = ", ".join(names[:NAMED]) + (", ..." if len(names) > NAMED else "")
    return f"{len(names)} {kind if len(names) == 1 else _PLURAL[kind]} ({listed})"


_current: Availability | None = None


def current() -> Availability:
    """The availability on the installed TVM; on the first use of a build it is found out.

    Raises:
        TVMUnsupported: something is missing that relaxfuzz cannot do without.
    """
    global _current
    if _current is None:
        given = os.environ.get(VARIABLE)
        _current = Availability.from_json(given) if given else _cached() or _found_once()
    return _current


def use(availability: Availability) -> None:
    """Make this the availability in this process."""
    global _current
    _current = availability


def _found_once() -> Availability:
    """`find_out`, or what another process finds out at this time."""
    with build.alone("another process tries what works on this TVM: waiting for it"):
        return _cached() or find_out()


def find_out() -> Availability:
    """Try everything on the installed TVM, in processes of its own, and keep what was found.

    Raises:
        TVMUnsupported: something is missing that relaxfuzz cannot do without.
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
    with contextlib.suppress(OSError):  # without the file, it is found out again
        build.write(cache(), availability.to_json())


def cache() -> Path:
    """The file for the installed build."""
    return build.folder() / f"{build.stamp()}.json"


def _cached() -> Availability | None:
    try:
        return Availability.from_json(cache().read_text(encoding="utf-8"))
    except (OSError, ValueError, TypeError):
        return None

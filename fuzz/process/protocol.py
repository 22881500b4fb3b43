"""What the driver, the zygote and its children say to each other: dataclasses as JSON lines.

The driver submits and cancels jobs. A child works on one job and says what it found; the zygote
passes that on, and adds how the child ended. For every job the last message is `Ended` or `Died`,
or `Lost` where there is no zygote any more.
"""

from __future__ import annotations

import enum
import functools
import hashlib
import json
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from ...generators.stages import Stage
from ...generators.traits import Trait
from ...oracles.explain.trouble import Explanation
from ...oracles.passcall import PassCall
from ...oracles.text.exhibit import Exhibit
from ...oracles.violation import Violation
from ..findings.evidence import Evidence
from ..minimize.reduction import FIRST, Spot
from .serialize import plain, typed

VERSION = 1
"""Of the messages; driver and zygote refuse to talk across versions."""


class ProtocolError(Exception):
    """A line that is no message of this protocol version."""


# What to check


@dataclass(frozen=True, slots=True)
class Target:
    """One pass to fuzz: with the variants of its contract, or with fixed arguments."""

    name: str
    """The catalogue name, or the label of a user's own pass."""
    call: PassCall | None = None
    """None: variants are drawn from the catalogue's contract."""
    stages: tuple[Stage, ...] = ()
    """Only at these stages; none: at those of the contract."""
    exempt: tuple[str, ...] = ()
    """Oracles whose promise this pass does not make (a user's own pass), e.g. "idempotent"."""

    @property
    def label(self) -> str:
        """What its item in the schedule is called: the fixed call, or the name."""
        return self.name if self.call is None else self.call.expr


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a generated module comes from: enough to make it again in any process."""

    seed: int
    index: int
    stage: Stage = Stage.RAW
    disabled: tuple[Trait, ...] = ()
    ops: tuple[str, ...] = ()
    """The operators that it is made of; none: all."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a child is: what a dead one was doing."""

    index: int
    stage: Stage
    ordinal: int
    """Number of the check among those on this module at this stage; -1: on the way from this stage
    to the next."""
    item: str = ""
    """What the check belongs to: a target's label, "sequence", or a pipeline."""
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    step: str = ""
    """The step named last, e.g. that of an oracle."""


# Jobs


@dataclass(frozen=True, slots=True)
class Resume:
    """Where to go on with the first module of a block: behind a check that killed the process."""

    stage: Stage
    ordinal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Generate modules start, ..., start + count - 1 of a seed and check passes on them."""

    seed: int
    start: int
    count: int
    targets: tuple[Target, ...]
    oracles: tuple[str, ...] | None = None
    """Only these; None: the usual ones, dear ones on a sample."""
    disabled: tuple[Trait, ...] = ()
    ops: tuple[str, ...] = ()
    """The operators that the modules are made of; none: all."""
    compositions: bool = True
    """Also sequences of passes and the named pipelines."""
    yields: Mapping[str, float] = field(default_factory=dict)
    """By item of the schedule: how much its checks are worth; none: as much as those of others."""
    checked: Mapping[str, int] = field(default_factory=dict)
    """Checks by item that another process did for this block before it died."""
    visited: Mapping[str, int] = field(default_factory=dict)
    """The same, with the times that an item did not apply."""
    resume: Resume | None = None
    banned: tuple[str, ...] = ()
    """Items that are left out because they have killed too many processes."""
    avoid: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By label of a target: triggers of known bugs, which half of the modules avoid."""
    told: tuple[str, ...] = ()
    """The marks of identities that blocks before it have told of: their modules are not wanted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of one module; answered by `Checked`."""

    module: str
    """TVM JSON."""
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    oracles: tuple[str, ...] | None = None
    exempt: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Regenerate:
    """Make a generated module again; answered by `Regenerated`."""

    origin: Origin


@dataclass(frozen=True, slots=True)
class Explain:
    """Say why a module cannot be built; answered by `Explained`."""

    module: str
    """TVM JSON."""
    pipeline: str
    file: str | None = None
    """The Python file that it comes from."""
    locate: bool = True
    """Run a step that fails on parts of the module."""


Identity: TypeAlias = tuple[str, str, tuple[str, ...], str]
"""Oracle, pass, key and place of a violation: they identify a bug within one TVM build."""


def identity(violation: Violation) -> Identity:
    """What identifies the violation within this TVM build."""
    return violation.oracle, violation.pass_name, violation.key, violation.place


@functools.lru_cache(10_000)
def mark(identity: Identity) -> str:
    """A short text that stands for an identity."""
    return hashlib.sha256(repr(identity).encode("utf-8", "surrogatepass")).hexdigest()[:16]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reduce:
    """Make a module ever smaller that shows a violation; see `minimize.search`.

    Its places are edits: the index is the reduction's, the ordinal the edit's number.
    """

    module: str
    """TVM JSON."""
    oracle: str
    pass_name: str
    key: tuple[str, ...]
    place: str = ""
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    oracles: tuple[str, ...] | None = None
    """Those that are asked; None: the usual ones."""
    exempt: tuple[str, ...] = ()
    anchor: Spot = FIRST
    after: Spot | None = None
    share: int = 0
    shares: int = 1


@dataclass(frozen=True, slots=True)
class Narrow:
    """Find the one pass of several that shows a violation; answered by `Narrowed`."""

    violation: Violation
    module: str
    """TVM JSON."""
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None


@dataclass(frozen=True, slots=True)
class Show:
    """Run what a violation was found in and show what was compared; answered by `Shown`."""

    module: str
    """TVM JSON."""
    violation: Violation
    calls: tuple[PassCall, ...] = ()
    """None, and no pipeline: only the module is printed."""
    pipeline: str | None = None


@dataclass(frozen=True, slots=True)
class Examine:
    """Take the evidence that a module is for deduplication; answered by `Examined`."""

    module: str
    """TVM JSON."""
    legalize: bool
    """Run legalizations, which may crash."""


@dataclass(frozen=True, slots=True)
class Read:
    """Read a module file of the user's, see `module_file`; answered by `WasRead`."""

    path: str
    folder: str
    """An empty one, where the module's JSON is left: it may be too large for a message."""
    well_formed: bool = True
    """Refuse a module that is not."""
    seconds: float = 120.0
    """For executing a Python file."""


@dataclass(frozen=True, slots=True)
class Execute:
    """Execute a Python file as a script; answered by `Executed`.

    What a zygote forks has imported too much for that: it is a job for a cluster.
    """

    script: str
    seconds: float


Job: TypeAlias = (
    Block | Check | Regenerate | Explain | Reduce | Narrow | Show | Examine | Read | Execute
)


@dataclass(frozen=True, slots=True)
class Limits:
    """How far a child may go before it is killed."""

    step_seconds: float = 10.0
    """Without progress in the journal."""
    memory_mb: int = 2048
    """Growth over its size at the fork."""


LIMITS = Limits()
"""The usual ones."""


# Driver to zygote


@dataclass(frozen=True, slots=True)
class Submit:
    """Fork a child for this job, now."""

    id: int
    job: Job
    limits: Limits = LIMITS


@dataclass(frozen=True, slots=True)
class Cancel:
    """Kill the child of a job; answered by `Ended`, with what it had said before."""

    id: int


Request: TypeAlias = Submit | Cancel


# Child to driver


@dataclass(frozen=True, slots=True)
class Violated:
    """An oracle spoke during a block."""

    id: int
    violation: Violation
    origin: Origin
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    module: str | None = None
    """TVM JSON; None where this block, or one before it, told the same oracle, pass and key."""


@dataclass(frozen=True, slots=True)
class PassStats:
    """Counts for one item of the schedule: a pass, "sequence", or a pipeline."""

    checks: int = 0
    inapplicable: int = 0
    """Modules that the contract's `requires` or `variants` turned down: no check."""
    violations: int = 0
    seconds: float = 0.0
    avoided: int = 0
    """Modules that a known bug would have been met on: no check."""
    changed: int = 0
    """Checks of a pass that gave another module than it was given."""
    sampled: Mapping[str, int] = field(default_factory=dict)
    """By oracle above tier 1: the checks that asked it."""

    def __add__(self, other: PassStats) -> PassStats:
        return PassStats(
            self.checks + other.checks,
            self.inapplicable + other.inapplicable,
            self.violations + other.violations,
            self.seconds + other.seconds,
            self.avoided + other.avoided,
            self.changed + other.changed,
            {
                name: self.sampled.get(name, 0) + other.sampled.get(name, 0)
                for name in {**self.sampled, **other.sampled}
            },
        )


@dataclass(frozen=True, slots=True)
class StageDone:
    """A module of a block has been checked at one stage."""

    id: int
    index: int
    stage: Stage
    stats: Mapping[str, PassStats]
    """By item of the schedule; items that a dead process checked there are counted, not timed."""

    @property
    def checks(self) -> int:
        """Of all items."""
        return sum(stats.checks for stats in self.stats.values())


@dataclass(frozen=True, slots=True)
class ModuleDone:
    """A block is done with one module."""

    id: int
    index: int
    ops: tuple[str, ...] = ()
    """The operators in it."""
    changed: Mapping[str, bool] = field(default_factory=dict)
    """The passes that were checked on it, and whether they changed it at any stage."""


@dataclass(frozen=True, slots=True)
class Checked:
    """The answer to `Check`."""

    id: int
    violations: tuple[Violation, ...]


@dataclass(frozen=True, slots=True)
class Regenerated:
    """The answer to `Regenerate`."""

    id: int
    module: str
    """TVM JSON."""


@dataclass(frozen=True, slots=True)
class Explained:
    """The answer to `Explain`."""

    id: int
    explanation: Explanation


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A smaller module shows the violation, too; the search goes on from it."""

    id: int
    module: str
    """TVM JSON."""
    spot: Spot
    tried: int
    """Candidates since the job began."""


@dataclass(frozen=True, slots=True)
class Met:
    """A candidate shows another violation, which this job has not told before."""

    id: int
    violation: Violation
    module: str
    """TVM JSON."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A sign of life: so many candidates since the job began."""

    id: int
    tried: int


@dataclass(frozen=True, slots=True)
class Exhausted:
    """No edit of a whole cycle leads to a smaller module; the end of `Reduce`."""

    id: int
    tried: int


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The answer to `Narrow`; what it was given, where no pass by itself shows the violation."""

    id: int
    module: str
    """TVM JSON of what the pass was given."""
    calls: tuple[PassCall, ...]
    pipeline: str | None


@dataclass(frozen=True, slots=True)
class Shown:
    """The answer to `Show`."""

    id: int
    exhibit: Exhibit


@dataclass(frozen=True, slots=True)
class Examined:
    """The answer to `Examine`."""

    id: int
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class WasRead:
    """The answer to `Read`."""

    id: int
    problem: str | None
    """Why the file gives no module, in one sentence; None: it does."""


@dataclass(frozen=True, slots=True)
class Executed:
    """The answer to `Execute`."""

    id: int
    code: int
    """As `Runner.run` gives it."""
    stderr: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The harness itself raised an exception (never a pass): its fault, loud, not a finding."""

    id: int
    traceback: str
    place: Place | None = None
    mistake: bool = False
    """It is the user's, whose pass cannot be had any more; instead of a traceback, a sentence."""


# Zygote to driver


@dataclass(frozen=True, slots=True)
class Ready:
    """The zygote has imported everything and takes jobs."""

    version: int
    pid: int
    tvm: str


@dataclass(frozen=True, slots=True)
class Forked:
    """A job has its child."""

    id: int
    pid: int
    slot: int
    """Of its journal."""


@dataclass(frozen=True, slots=True)
class Beat:
    """A sign of life, about once a second: where the child is."""

    id: int
    place: Place


@dataclass(frozen=True, slots=True)
class Ended:
    """The child did all of its job, or was cancelled."""

    id: int


class Death(enum.StrEnum):
    """How a child died; the value is the name of the oracle of that violation."""

    SEGFAULT = "segfault"
    ARITHMETIC = "arithmetic-signal"
    ABORT = "abort"
    SIGNAL = "signal"
    HANG = "hang"
    OUT_OF_MEMORY = "out-of-memory"
    EXIT = "exit"
    CHANGED = "side-effect"
    """It ended itself, because a pass has changed what all of the process stands on."""
    KILLED = "killed"
    """By SIGKILL or the like, maybe from outside: the job is done again, and it is a violation only
    if it ends so again at the same place, with no other job at the same time."""
    PARENT = "killed-parent"
    """Its zygote was killed, likewise."""


@dataclass(frozen=True, slots=True)
class Died:
    """The child died at its job."""

    id: int
    death: Death
    code: int
    """As `subprocess` gives it: negative for a signal."""
    place: Place | None
    """None: before its first step."""
    stderr: str = ""
    """The end of what it wrote there; after a segfault TVM's C++ backtrace."""


@dataclass(frozen=True, slots=True)
class Lost:
    """The executor is broken, see `ExecutorError`: the job is not done, whatever was said of it."""

    id: int
    why: str


FromChild: TypeAlias = (
    Violated
    | StageDone
    | ModuleDone
    | Checked
    | Regenerated
    | Explained
    | Shrunk
    | Met
    | Tried
    | Exhausted
    | Narrowed
    | Shown
    | Examined
    | WasRead
    | Executed
    | Failed
)
Reply: TypeAlias = FromChild | Ready | Forked | Beat | Ended | Died | Lost
Message: TypeAlias = Request | Reply


# JSON lines


def encode(message: Message | Place) -> bytes:
    """The message as one line."""
    fields = {"message": type(message).__name__, **plain(message, _JOBS)}
    return json.dumps(fields, separators=(",", ":")).encode() + b"\n"


def decode(line: bytes | str) -> Message:
    """Read one line.

    Raises:
        ProtocolError: it is no message.
    """
    try:
        data = json.loads(line)
        kind = _MESSAGES[data.pop("message")]
        message: Message = typed(data, kind)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ProtocolError(
            f"Expected a message of protocol version {VERSION} but got {line[:200]!r}"
        ) from error
    return message


_MESSAGES: Mapping[str, Any] = {
    kind.__name__: kind for kind in (*typing.get_args(Request), *typing.get_args(Reply))
}
_JOBS: tuple[type, ...] = typing.get_args(Job)

"""Messages between the driver, the zygote and its children: dataclasses as JSON lines.

The driver submits and cancels jobs. A child does one job and sends its results; the zygote forwards
them and reports how the child ended. The last message about a job is `Ended` or `Died`, or `Broken`
if the zygote is lost for good.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import json
import types
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from ...generators.stages import Stage
from ...oracles.passcall import PassCall
from ..system.serialize import plain, typed

VERSION = 2
"""Version of the messages; a driver refuses a zygote with another version."""

R = TypeVar("R")


class ProtocolError(Exception):
    """A line is not a message of this protocol version."""


class UnknownJob(ProtocolError):
    """The request is for a job whose type has no handler."""

    def __init__(self, id: int, name: str) -> None:
        super().__init__(
            f"Expected a job of a type in relaxfuzz.fuzz.zygote.HANDLERS but got {name!r}"
        )
        self.id = id


class Job(Generic[R]):
    """Base of the dataclasses that describe jobs; `R` is the type of each result.

    A kind of job stands beside the function that does it; `relaxfuzz.fuzz.zygote.HANDLERS` has
    both.
    """

    __slots__ = ()

    long: ClassVar[bool] = False
    """True if jobs of this type take seconds. Long and short jobs do not wait for each other."""


def result_type(job: Job[R]) -> Any:
    """The type of each result of a job: a dataclass, a union of dataclasses, or plain data."""
    (base,) = type(job).__orig_bases__  # type: ignore[attr-defined]  # of subclasses of `Generic`
    return typing.get_args(base)[0]


@dataclass(frozen=True, slots=True)
class Position:
    """The current activity of a child, as recorded in its journal."""

    index: int
    """Index of the module."""
    stage: Stage
    ordinal: int
    """Number of the check among those of this module at this stage; -1: between two stages."""
    item: str = ""
    """Item of the schedule: a target's label, "sequence", or a pipeline."""
    calls: tuple[PassCall, ...] = ()
    pipeline: str | None = None
    step: str = ""
    """The latest step, e.g. the name of an oracle."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of a child; exceeding any of them kills it."""

    step_seconds: float = 10.0
    """Seconds without progress in the journal."""
    memory_mb: int = 2048
    """Growth of memory over the size at the fork."""

    def for_module(self, module: str) -> Limits:
        """The limits for a job on this module (JSON), since steps on a large module take longer."""
        factor = min(max(1.0, len(module) / USUAL), MOST)
        return dataclasses.replace(self, step_seconds=factor * self.step_seconds)


USUAL = 100_000
"""Characters of the JSON of the largest ordinary generated modules."""

MOST = 30.0
"""Upper bound on the factor by which steps may take longer."""

LIMITS = Limits()
"""The default limits."""


# Driver to zygote


@dataclass(frozen=True, slots=True)
class Submit:
    """Fork a child for this job now."""

    id: int
    job: Job[Any]
    limits: Limits = LIMITS


@dataclass(frozen=True, slots=True)
class Cancel:
    """Kill the child of a job; `Ended` follows, after the results that it has already sent."""

    id: int


# Child to driver


@dataclass(frozen=True, slots=True)
class Result:
    """One result of a job, of its `result_type`."""

    id: int
    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """The harness itself raised an exception: not a finding, but usually a defect of relaxfuzz."""

    id: int
    traceback: str
    position: Position | None = None
    user_error: bool = False
    """The user's own pass cannot be loaded; `traceback` is one sentence."""
    drift: bool = False
    """The installed TVM lacks something that the job needs; `traceback` is one sentence."""


# Zygote to driver


@dataclass(frozen=True, slots=True)
class Ready:
    """The zygote has imported everything and takes jobs."""

    version: int
    pid: int
    tvm: str


@dataclass(frozen=True, slots=True)
class Forked:
    """The child of a job has been forked."""

    id: int
    pid: int


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """The position of a child, sent about twice a second."""

    id: int
    position: Position


@dataclass(frozen=True, slots=True)
class Ended:
    """The child has completed its job or was cancelled."""

    id: int


class Death(enum.StrEnum):
    """The ways in which a child dies; each value is the name of the violation's oracle."""

    SEGFAULT = "segfault"
    ARITHMETIC = "arithmetic-signal"
    ABORT = "abort"
    SIGNAL = "signal"
    HANG = "hang"
    OUT_OF_MEMORY = "out-of-memory"
    PROCESSES = "processes"
    """The child and its descendants were too many processes."""
    EXIT = "exit"
    CHANGED = "side-effect"
    """The child ended itself because a pass has changed state that the whole process depends on."""
    KILLED = "killed"
    """Killed by SIGKILL or the like, perhaps from outside. The job is repeated alone, and is a
    violation only if it is killed again at the same position."""
    PARENT = "killed-parent"
    """Its zygote was killed by SIGKILL or the like; the job is also repeated alone."""


BY_LIMIT = frozenset({Death.HANG, Death.OUT_OF_MEMORY, Death.PROCESSES})
"""Deaths of a child that exceeds a limit. Work without bound exceeds each of them in the end; the
speed and the load of the machine decide which one comes first."""


@dataclass(frozen=True, slots=True)
class Died:
    """The child died during its job."""

    id: int
    death: Death
    code: int
    """Exit code as `subprocess` gives it: negative for a signal."""
    position: Position | None
    """Last position; None: it died before its first step."""
    stderr: str = ""
    """The end of its stderr; after a segfault it holds TVM's C++ backtrace."""


# Executor to driver


@dataclass(frozen=True, slots=True)
class Broken:
    """The executor is broken, so the job is not done, even if it has sent results before."""

    id: int
    reason: str


Request: TypeAlias = Submit | Cancel
FromChild: TypeAlias = Result | Failed
Reply: TypeAlias = FromChild | Ready | Forked | Heartbeat | Ended | Died | Broken


# JSON lines


def encode(message: Request | Reply) -> bytes:
    """Encode the message as one line."""
    data = plain(message)
    for name in ("job", "value"):
        if dataclasses.is_dataclass(value := getattr(message, name, None)):
            data[name][KIND] = type(value).__name__
    return json.dumps({MESSAGE: type(message).__name__, **data}, separators=(",", ":")).encode() + (
        b"\n"
    )


def decode_request(line: bytes | str, jobs: Iterable[type[Job[Any]]]) -> Request:
    """Read one line from the driver.

    Args:
        jobs: the kinds of jobs that are known.

    Raises:
        UnknownJob: the job is of another kind.
        ProtocolError: it is not a request.
    """
    with _refusing(line):
        data = json.loads(line)
        if data.pop(MESSAGE) == Cancel.__name__:
            cancel: Cancel = typed(data, Cancel)
            return cancel
        id, kinds = typed(data["id"], int), {kind.__name__: kind for kind in jobs}
        if (name := typed(data["job"].pop(KIND), str)) not in kinds:
            raise UnknownJob(id, name)
        return Submit(id, typed(data["job"], kinds[name]), typed(data["limits"], Limits))


def decode_reply(line: bytes | str, result: Callable[[int], Any] = lambda id: Any) -> Reply:
    """Read one line from the zygote, or from a worker of a cluster.

    Args:
        result: the type of the results of a job, by its id; see `result_type`.

    Raises:
        ProtocolError: it is not a reply.
    """
    with _refusing(line):
        data = json.loads(line)
        reply: Reply = typed(data, _REPLIES[data.pop(MESSAGE)])
        if not isinstance(reply, Result):
            return reply
        kind = result(reply.id)
        kinds = typing.get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
        if isinstance(reply.value, dict) and KIND in reply.value:
            name = reply.value.pop(KIND)
            kind = {each.__name__: each for each in kinds}[name]
        return Result(reply.id, typed(reply.value, kind))


@contextlib.contextmanager
def _refusing(line: bytes | str) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ProtocolError(
            f"Expected a message of protocol version {VERSION} but got {line[:200]!r}"
        ) from error


MESSAGE, KIND = "message", "kind"
"""The keys that name the dataclass of a message, and of the job or the result in it."""

_REPLIES: Mapping[str, Any] = {kind.__name__: kind for kind in typing.get_args(Reply)}

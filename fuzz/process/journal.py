"""The journal: a child's last words, in memory shared with the zygote.

A child writes where it is before each step; the zygote reads it when the child is dead, or watches
the counter of steps to see that it hangs. Writing costs about a microsecond and survives any death.
"""

from __future__ import annotations

import json
import mmap
import os
import struct
import sys
import tempfile

from ...generators.stages import Stage
from ...oracles.passcall import PassCall
from .protocol import Place

# The place is written to the half that is not in use, then the header is switched over to it:
# a child killed while it writes leaves the place before, never a torn one.
_HEADER = struct.Struct("<QBBHIIH")  # steps, finished, reason, half, length of place 0, 1, of step
_STEPS = struct.Struct("<Q")
_STEP_AT = 64
_STEP_MAX = 960
_PLACE_AT = (1024, 1024 + 31 * 512)
_PLACE_MAX = 31 * 512
_SIZE = 32 * 1024

_NO_MEMORY, _CHANGED = 1, 2
"""Why a child ended itself."""


class Journal:
    """Shared between one child, which writes, and the zygote, which made it before the fork.

    In a file of memory (see `memory`) it can be read when the zygote is dead, too.
    """

    def __init__(self, file: int = -1, slot: int = 0) -> None:
        """
        Args:
            file: where it is to be; -1: in memory without a name.
            slot: which of those in the file; what was there is gone.
        """
        if file != -1:
            os.ftruncate(file, max(os.fstat(file).st_size, (slot + 1) * _SIZE))
        self._memory = mmap.mmap(file, _SIZE, offset=slot * _SIZE)
        self._memory[: _HEADER.size] = bytes(_HEADER.size)
        self._steps = 0
        self._half = 0
        self._lengths = [0, 0]
        self._step = 0
        self._pid = os.getpid()

    def adopt(self) -> None:
        """Make the calling process the one that writes."""
        self._pid = os.getpid()

    def place(
        self,
        index: int,
        stage: Stage,
        ordinal: int = -1,
        item: str = "",
        calls: tuple[PassCall, ...] = (),
        pipeline: str | None = None,
    ) -> None:
        """Enter a place; the step is empty until named."""
        self.guard()
        text = json.dumps(
            (index, stage, ordinal, item, [_plain(call) for call in calls], pipeline)
        ).encode()
        if len(text) > _PLACE_MAX:  # very long arguments: better a death without them than no death
            text = json.dumps((index, stage, ordinal, item, (), pipeline)).encode()
        half = 1 - self._half
        start = _PLACE_AT[half]
        self._memory[start : start + len(text)] = text
        self._lengths[half] = len(text)
        self._half = half
        self._step = 0
        self._commit()

    def step(self, name: str) -> None:
        """Name the step that is about to be taken."""
        self.guard()
        text = name.encode()[:_STEP_MAX]
        self._memory[_STEP_AT : _STEP_AT + len(text)] = text
        self._step = len(text)
        self._commit()

    def out_of_memory(self) -> None:
        """The process is about to end because it was refused memory."""
        self.guard()
        self._commit(reason=_NO_MEMORY)

    def changed(self, what: str) -> None:
        """The process is about to end because a pass has left this changed in it."""
        self.step(what)
        self._commit(reason=_CHANGED)

    def finish(self) -> None:
        """All of the job is done: what ends the process now is no death."""
        self.guard()
        self._commit(finished=1)

    def guard(self) -> None:
        """End the calling process at once unless it is the one that writes."""
        # A pass may fork, and both processes may come back to us: only one of them is the child.
        if os.getpid() != self._pid:
            os._exit(0)

    def _commit(self, finished: int = 0, reason: int = 0) -> None:
        self._steps += 1
        _HEADER.pack_into(
            self._memory, 0, self._steps, finished, reason, self._half, *self._lengths, self._step
        )

    @property
    def steps(self) -> int:
        """Grows with every step; a child whose count stands still hangs."""
        count: int = _STEPS.unpack_from(self._memory)[0]
        return count

    @property
    def finished(self) -> bool:
        """The child did all of its job."""
        return self._memory[8] == 1

    @property
    def refused_memory(self) -> bool:
        """The child ended itself for lack of memory."""
        return self._memory[9] == _NO_MEMORY

    @property
    def left_changed(self) -> bool:
        """The child ended itself for what a pass has left changed, which is the step."""
        return self._memory[9] == _CHANGED

    def last(self) -> Place | None:
        """The place and step last named; None before the first."""
        return _place(self._memory)

    def close(self) -> None:
        """Give the memory back."""
        self._memory.close()


def memory() -> int:
    """The descriptor of a file for journals, of which nothing is left when all have closed it."""
    if sys.platform == "linux":
        return os.memfd_create("journals")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())


def left(file: int, slot: int) -> Place | None:
    """What the last journal there says."""
    return _place(os.pread(file, _SIZE, slot * _SIZE))


def _place(memory: mmap.mmap | bytes) -> Place | None:
    if len(memory) < _SIZE:
        return None
    _, _, _, half, *lengths, step_length = _HEADER.unpack_from(memory)
    text = memory[_PLACE_AT[half] : _PLACE_AT[half] + lengths[half]]
    if not text:
        return None
    index, stage, ordinal, item, calls, pipeline = json.loads(text)
    step = memory[_STEP_AT : _STEP_AT + step_length].decode(errors="replace")
    return Place(index, Stage(stage), ordinal, item, tuple(map(_call, calls)), pipeline, step)


def _plain(call: PassCall) -> tuple[object, ...]:
    return (call.expr, dict(call.config), call.imports, call.factory, call.like)


def _call(plain: list[object]) -> PassCall:
    expr, config, imports, factory, like = plain
    return PassCall(expr, config, tuple(imports), factory, like)  # type: ignore[arg-type]  # JSON of `_plain`

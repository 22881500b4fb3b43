"""The journal: the current position of a child, in memory shared with the zygote.

A child records its position before each step. The zygote reads it after the child's death, and
watches the counter of steps to detect a hang. Recording takes about a microsecond, and the record
survives any death.
"""

from __future__ import annotations

import json
import mmap
import os
import struct

from ...generators.stages import Stage
from ...oracles.passcall import PassCall
from ..system.serialize import plain, typed
from .protocol import Death, Position

# A position is written to the unused half, then the header is switched over to it. A child killed
# during the write therefore leaves the previous position, never a torn one.
_HEADER = struct.Struct("<QBBHIIH")
_STEPS = struct.Struct("<Q")
_JOB = struct.Struct("<q")
_JOB_AT = 32
_RSS = struct.Struct("<Q")
_RSS_AT = 40
_STEP_AT = 64
_STEP_MAX = 960
_POSITION_AT = (1024, 1024 + 31 * 512)
_POSITION_MAX = 31 * 512
_SIZE = 32 * 1024

_NO_MEMORY, _CHANGED = 1, 2
"""Reasons for which a child ended itself."""


class Journal:
    """Shared between one child, which writes, and the zygote, which created it before the fork.

    A journal in a memory file (see `launch.memory_file`) stays readable after the zygote's death.
    """

    def __init__(self, job: int, file: int = -1, slot: int = 0) -> None:
        """
        Args:
            job: the id of the job of the child.
            file: descriptor of the file that holds it; -1: anonymous memory.
            slot: its number in the file; an existing journal there is overwritten.
        """
        if file != -1:
            os.ftruncate(file, max(os.fstat(file).st_size, (slot + 1) * _SIZE))
        self._memory = mmap.mmap(file, _SIZE, offset=slot * _SIZE)
        self._memory[:_STEP_AT] = bytes(_STEP_AT)
        _JOB.pack_into(self._memory, _JOB_AT, job)
        self._steps = 0
        self._half = 0
        self._lengths = [0, 0]
        self._step = 0
        self._pid = os.getpid()

    def adopt(self, rss: int) -> None:
        """Make the calling process the writer.

        Args:
            rss: its resident memory now, in bytes.
        """
        self._pid = os.getpid()
        _RSS.pack_into(self._memory, _RSS_AT, rss)

    def position(
        self,
        index: int,
        stage: Stage,
        ordinal: int = -1,
        item: str = "",
        calls: tuple[PassCall, ...] = (),
        pipeline: str | None = None,
    ) -> None:
        """Record a position; its step is empty until `step`."""
        self.guard()
        text = json.dumps((index, stage, ordinal, item, plain(calls), pipeline)).encode()
        if len(text) > _POSITION_MAX:  # very long: omitting the calls is better than no position
            text = json.dumps((index, stage, ordinal, item, (), pipeline)).encode()
        half = 1 - self._half
        start = _POSITION_AT[half]
        self._memory[start : start + len(text)] = text
        self._lengths[half] = len(text)
        self._half = half
        self._step = 0
        self._commit()

    def step(self, name: str) -> None:
        """Record the step that is about to be taken."""
        self.guard()
        text = name.encode("utf-8", "backslashreplace")[:_STEP_MAX]
        self._memory[_STEP_AT : _STEP_AT + len(text)] = text
        self._step = len(text)
        self._commit()

    def out_of_memory(self) -> None:
        """Record that the process is ending now because it was refused memory."""
        self.guard()
        self._commit(reason=_NO_MEMORY)

    def changed(self, what: str) -> None:
        """Record that the process is ending now because a pass has changed `what` in it."""
        self.step(what)
        self._commit(reason=_CHANGED)

    def finish(self) -> None:
        """Record that the job is complete, so that a later end of the process is no death."""
        self.guard()
        self._commit(finished=1)

    def guard(self) -> None:
        """End the calling process at once unless it is the writer."""
        # A pass may fork, and both processes return from it, but only one of them is the child.
        if os.getpid() != self._pid:
            os._exit(0)

    def _commit(self, finished: int = 0, reason: int = 0) -> None:
        self._steps += 1
        _HEADER.pack_into(
            self._memory, 0, self._steps, finished, reason, self._half, *self._lengths, self._step
        )

    @property
    def steps(self) -> int:
        """The number of records so far; it does not grow while a child hangs."""
        count: int = _STEPS.unpack_from(self._memory)[0]
        return count

    @property
    def rss(self) -> int | None:
        """The resident memory of the child before its job, in bytes; None before it has begun."""
        rss: int = _RSS.unpack_from(self._memory, _RSS_AT)[0]
        return rss or None

    @property
    def finished(self) -> bool:
        """True if the child completed its job."""
        return self._memory[8] == 1

    @property
    def death(self) -> Death | None:
        """The reason for which the child ended itself; for a changed state, the step names it."""
        return {_NO_MEMORY: Death.OUT_OF_MEMORY, _CHANGED: Death.CHANGED}.get(self._memory[9])

    def last(self) -> Position | None:
        """The latest position and step; None before the first."""
        return _position(self._memory)

    def close(self) -> None:
        """Release the memory."""
        self._memory.close()


def last_position(file: int, job: int) -> Position | None:
    """The latest position of a job, from its journal in a file; None if it has not begun."""
    for at in range(0, os.fstat(file).st_size, _SIZE):
        memory = os.pread(file, _SIZE, at)
        if _JOB.unpack_from(memory, _JOB_AT)[0] == job:
            return _position(memory)
    return None


def _position(memory: mmap.mmap | bytes) -> Position | None:
    _, _, _, half, *lengths, step_length = _HEADER.unpack_from(memory)
    text = memory[_POSITION_AT[half] : _POSITION_AT[half] + lengths[half]]
    if not text:
        return None
    index, stage, ordinal, item, calls, pipeline = json.loads(text)
    step = memory[_STEP_AT : _STEP_AT + step_length].decode(errors="replace")
    read_calls = typed(calls, tuple[PassCall, ...])
    return Position(index, Stage(stage), ordinal, item, read_calls, pipeline, step)

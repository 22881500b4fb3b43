"""The byte stream from a child to the zygote, in memory that both share.

It has no file descriptor. A pass may close, replace and write to all open descriptors, yet exactly
the messages of its process arrive.
"""

from __future__ import annotations

import mmap
import struct
from time import sleep  # a pass may replace it in the module

_COUNT = struct.Struct("@Q")  # copied in one step, unlike the standard sizes
_WRITTEN_AT, _READ_AT, _DATA_AT = 0, 64, 4096

CAPACITY = 4 << 20
"""Bytes in transit; a writer of more waits. Only memory that was written to is used."""

PAUSE = 0.001


class Channel:
    """Made by the zygote before the fork; the child writes, the zygote reads."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, _DATA_AT + CAPACITY)

    def write(self, data: bytes) -> None:
        """Send bytes, waiting until the reader has made room."""
        rest = memoryview(data)
        while rest:
            written = self._count(_WRITTEN_AT)
            room = CAPACITY - (written - self._count(_READ_AT))
            if room == 0:
                sleep(PAUSE)
                continue
            at = written % CAPACITY
            piece = rest[: min(room, CAPACITY - at)]
            self._memory[_DATA_AT + at : _DATA_AT + at + len(piece)] = piece
            # Written last: if the child is killed before, nothing of this piece is read.
            _COUNT.pack_into(self._memory, _WRITTEN_AT, written + len(piece))
            rest = rest[len(piece) :]

    def read(self) -> bytes:
        """The bytes sent since the last call."""
        read, written = self._count(_READ_AT), self._count(_WRITTEN_AT)
        pieces = []
        while read < written:
            at = read % CAPACITY
            end = min(CAPACITY, at + written - read)
            pieces.append(self._memory[_DATA_AT + at : _DATA_AT + end])
            read += end - at
        _COUNT.pack_into(self._memory, _READ_AT, read)
        return b"".join(pieces)

    def close(self) -> None:
        """Release the memory."""
        self._memory.close()

    def _count(self, at: int) -> int:
        count: int = _COUNT.unpack_from(self._memory, at)[0]
        return count

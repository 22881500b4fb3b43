"""What a child says arrives whole and in order, whatever it does to its descriptors."""

from __future__ import annotations

import os
import signal

from relaxfuzz.fuzz.process.channel import CAPACITY, Channel


def test_nothing_is_read_that_was_not_said() -> None:
    channel = Channel()
    assert channel.read() == b""
    channel.write(b"one\n")
    channel.write(b"two\n")
    assert channel.read() == b"one\ntwo\n"
    assert channel.read() == b""


def test_more_than_it_holds_arrives_in_order() -> None:
    channel = Channel()
    said = bytes(range(256)) * (CAPACITY // 100)
    if (pid := os.fork()) == 0:
        channel.write(said)
        os._exit(0)
    heard = b""
    while len(heard) < len(said):
        heard += channel.read()
    os.waitpid(pid, 0)
    assert len(said) > 2 * CAPACITY
    assert heard == said


def test_what_was_said_survives_death_and_closed_descriptors() -> None:
    channel = Channel()
    if (pid := os.fork()) == 0:
        os.closerange(0, 1024)
        channel.write(b"last words")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert channel.read() == b"last words"

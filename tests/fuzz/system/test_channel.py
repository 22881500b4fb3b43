"""The bytes of a child arrive complete and in order, whatever it does to its descriptors."""

from __future__ import annotations

import os
import signal

from relaxfuzz.fuzz.system.channel import CAPACITY, Channel


def test_only_what_was_written_is_read() -> None:
    channel = Channel()
    assert channel.read() == b""
    channel.write(b"one\n")
    channel.write(b"two\n")
    assert channel.read() == b"one\ntwo\n"
    assert channel.read() == b""


def test_more_than_it_holds_arrives_in_order() -> None:
    channel = Channel()
    sent = bytes(range(256)) * (CAPACITY // 100)
    if (pid := os.fork()) == 0:
        channel.write(sent)
        os._exit(0)
    received = b""
    while len(received) < len(sent):
        received += channel.read()
    os.waitpid(pid, 0)
    assert len(sent) > 2 * CAPACITY
    assert received == sent


def test_what_was_written_survives_death_and_closed_descriptors() -> None:
    channel = Channel()
    if (pid := os.fork()) == 0:
        os.closerange(0, 1024)
        channel.write(b"last words")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert channel.read() == b"last words"

"""The journal tells what a process was doing, however it ended."""

from __future__ import annotations

import os
import signal

from relaxfuzz.fuzz.process.journal import Journal
from relaxfuzz.fuzz.process.protocol import Place
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.passcall import PassCall

CALL = PassCall(
    "FuseOps(fuse_opt_level=2)", {"relax.FuseOps.max_depth": 4}, ("import x",), None, "FuseOps"
)


def test_nothing_is_known_before_the_first_step() -> None:
    assert Journal().last() is None


def test_the_last_place_and_step_are_known() -> None:
    journal = Journal()
    journal.place(1, Stage.RAW, 2, "first")
    journal.step("a much longer step")
    journal.place(3, Stage.FUSED, 4, "second", (CALL,), "zero")
    assert journal.last() == Place(3, Stage.FUSED, 4, "second", (CALL,), "zero", "")
    journal.step("ünïcode")
    assert journal.last() == Place(3, Stage.FUSED, 4, "second", (CALL,), "zero", "ünïcode")


def test_every_entry_counts() -> None:
    journal = Journal()
    before = journal.steps
    journal.place(1, Stage.RAW)
    journal.step("one")
    journal.step("two")
    assert journal.steps == before + 3


def test_arguments_that_do_not_fit_are_left_out() -> None:
    journal = Journal()
    journal.place(1, Stage.RAW, 2, "long", (PassCall("Foo('" + "x" * 100_000 + "')"),))
    assert journal.last() == Place(1, Stage.RAW, 2, "long")


def test_last_words_survive_sigkill() -> None:
    journal = Journal()
    if (pid := os.fork()) == 0:
        journal.adopt()
        journal.place(5, Stage.PLANNED, 6, "item", (CALL,))
        journal.step("direct")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert journal.last() == Place(5, Stage.PLANNED, 6, "item", (CALL,), None, "direct")
    assert not journal.finished
    assert not journal.refused_memory


def test_how_it_ended_is_known() -> None:
    finished, refused = Journal(), Journal()
    finished.finish()
    refused.out_of_memory()
    assert (finished.finished, finished.refused_memory) == (True, False)
    assert (refused.finished, refused.refused_memory) == (False, True)


def test_a_copy_of_the_writer_ends_instead_of_writing() -> None:
    journal = Journal()
    journal.place(1, Stage.RAW)
    if (pid := os.fork()) == 0:
        journal.step("by the copy")
        os._exit(42)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert journal.last() == Place(1, Stage.RAW, -1)

"""The journal has the position of a process, however that ended."""

from __future__ import annotations

import os
import signal

from relaxfuzz.fuzz.process.journal import Journal, last_position
from relaxfuzz.fuzz.process.launch import memory_file
from relaxfuzz.fuzz.process.protocol import Death, Position
from relaxfuzz.generators.stages import Stage
from relaxfuzz.oracles.passcall import PassCall

CALL = PassCall(
    "FuseOps(fuse_opt_level=2)", {"relax.FuseOps.max_depth": 4}, ("import x",), None, "FuseOps"
)


def test_the_last_position_and_step_are_known() -> None:
    journal = Journal(1)
    journal.position(1, Stage.RAW, 2, "first")
    journal.step("a much longer step")
    journal.position(3, Stage.FUSED, 4, "second", (CALL,), "zero")
    assert journal.last() == Position(3, Stage.FUSED, 4, "second", (CALL,), "zero", "")
    journal.step("ünïcode")
    assert journal.last() == Position(3, Stage.FUSED, 4, "second", (CALL,), "zero", "ünïcode")


def test_a_step_with_a_lone_surrogate_is_recorded() -> None:
    journal = Journal(1)
    journal.position(1, Stage.RAW, 2, "\ud800")
    journal.step("half \ud800")
    assert journal.last() == Position(1, Stage.RAW, 2, "\ud800", step="half \\ud800")


def test_arguments_that_do_not_fit_are_left_out() -> None:
    journal = Journal(1)
    journal.position(1, Stage.RAW, 2, "long", (PassCall("Foo('" + "x" * 100_000 + "')"),))
    assert journal.last() == Position(1, Stage.RAW, 2, "long")


def test_the_position_survives_sigkill() -> None:
    journal = Journal(1)
    if (pid := os.fork()) == 0:
        journal.adopt(1)
        journal.position(5, Stage.PLANNED, 6, "item", (CALL,))
        journal.step("direct")
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    assert journal.last() == Position(5, Stage.PLANNED, 6, "item", (CALL,), None, "direct")
    assert not journal.finished
    assert journal.death is None


def test_a_journal_in_a_file_is_found_by_its_job() -> None:
    file = memory_file()
    first, second = Journal(7, file, 0), Journal(8, file, 1)
    first.position(1, Stage.RAW)
    second.position(2, Stage.RAW)
    assert last_position(file, 8) == Position(2, Stage.RAW, -1)
    Journal(9, file, 1)  # the job has not begun, and says nothing of the one before it
    assert (last_position(file, 8), last_position(file, 9)) == (None, None)
    assert last_position(file, 7) == Position(1, Stage.RAW, -1)
    os.close(file)


def test_how_it_ended_is_known() -> None:
    finished, refused = Journal(1), Journal(1)
    finished.finish()
    refused.out_of_memory()
    assert (finished.finished, finished.death) == (True, None)
    assert (refused.finished, refused.death) == (False, Death.OUT_OF_MEMORY)


def test_a_copy_of_the_writer_ends_instead_of_writing() -> None:
    journal = Journal(1)
    journal.position(1, Stage.RAW)
    if (pid := os.fork()) == 0:
        journal.step("by the copy")
        os._exit(42)
    _, status = os.waitpid(pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert journal.last() == Position(1, Stage.RAW, -1)

"""A forked child: it isolates itself, does one job, and keeps its position in the journal."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import mmap
import os
import resource
import signal
import sys
import tempfile
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias

import psutil

from ..system.channel import Channel
from ..system.limits import die_with_parent, lower
from . import launch
from .context import Context
from .death import RAISED
from .journal import Journal
from .protocol import FromChild, Job, Limits, Submit, encode

MEGABYTE = 1 << 20

Handlers: TypeAlias = Mapping[type[Job[Any]], Callable[[Any, Context[Any]], None]]


def folder(pid: int) -> str:
    """The folder for temporary files of one child."""
    return os.path.join(_TEMPORARY, f"child-{pid}")


_TEMPORARY = tempfile.gettempdir()
"""The zygote's temporary folder, which holds compiled kernels."""


def main(
    submit: Submit,
    journal: Journal,
    channel: Channel,
    zygote: int,
    signals: int,
    err: int,
    to_close: Sequence[int],
    handlers: Handlers,
) -> NoReturn:
    """Run the forked process to its end.

    Args:
        zygote: the process id of the zygote.
        signals: a pipe; a byte in it announces that the channel has data.
        err: the pipe for stderr.
        to_close: descriptors of the zygote.
        handlers: the function for each kind of job that a child does.
    """
    code, done = 1, False

    def send(reply: FromChild) -> None:
        journal.guard()
        channel.write(encode(reply))
        with contextlib.suppress(OSError):  # the pipe is full, or a pass has closed it
            os.write(signals, b"\0")

    context: Context[Any] = Context(submit.id, journal, send)
    try:
        memory = _isolate(submit.limits, zygote, err, to_close)
        journal.adopt(memory.rss)
        handlers[type(submit.job)](submit.job, context)
        code, done = 0, True
    except SystemExit as exit:  # raised by a pass: the end is as silent as `os._exit`
        code = 0 if exit.code is None else exit.code if isinstance(exit.code, int) else 1
    except MemoryError:
        journal.out_of_memory()
    except Exception as error:  # a defect of the harness, since those of passes are violations
        context.fail(error)
        code, done = 0, True
    except BaseException as error:  # raised by a pass, like SystemExit
        code = 130 if isinstance(error, KeyboardInterrupt) else 1
        os.write(2, f"\n{RAISED}{type(error).__name__}\n{traceback.format_exc()}".encode())
    finally:
        if done:
            journal.finish()
        if os.environ.get(launch.SHOW):
            ctypes.CDLL(None).fflush(None)  # output of C that would be lost with the process
        os._exit(code)


def _isolate(limits: Limits, zygote: int, err: int, to_close: Sequence[int]) -> Any:
    """Isolate the process; return its memory before the job, as psutil gives it."""
    os.setsid()
    die_with_parent()
    if os.getppid() != zygote:  # it died before `die_with_parent`
        os._exit(1)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for end in to_close:
        os.close(end)
    tempfile.tempdir = os.environ["TMPDIR"] = folder(os.getpid())
    os.makedirs(tempfile.tempdir, mode=0o700)
    os.dup2(err, 2)
    faulthandler.enable(2, all_threads=False)  # TVM's own handler then adds the C++ backtrace
    _widen_signal_stack()
    lower(resource.RLIMIT_CORE, 0)
    memory = psutil.Process().memory_info()
    if sys.platform == "linux":
        lower(resource.RLIMIT_DATA, memory.data + limits.memory_mb * MEGABYTE)
    return memory


class _Stack(ctypes.Structure):
    """`stack_t` of Linux."""

    _fields_ = (("start", ctypes.c_void_p), ("flags", ctypes.c_int), ("size", ctypes.c_size_t))


def _widen_signal_stack() -> None:
    """Make room for both handlers of a segfault.

    `faulthandler` reserves a stack of a few KB on the heap. TVM's handler needs more, and would
    overwrite the memory below.
    """
    if sys.platform == "linux":
        memory = mmap.mmap(-1, MEGABYTE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        _SIGNAL_STACKS.append(memory)
        ctypes.CDLL(None).sigaltstack(ctypes.byref(_Stack(start, 0, MEGABYTE)), None)


_SIGNAL_STACKS: list[mmap.mmap] = []
"""Stacks that must stay mapped."""

"""A forked child: it isolates itself, does one job, and keeps its position in the journal."""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import importlib
import mmap
import os
import re
import resource
import signal
import sys
import tempfile
import traceback
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import psutil
import tvm_ffi
from tvm import tirx

from ...compat import availability
from ...compat.script import quick_frames
from ...generators import stages
from ...generators.families import FAMILIES
from ...generators.modules import ir_modules
from ...generators.stages import Stage
from ...oracles.execute import kept
from ..campaign.draw import example
from ..minimize.child import Reduce, reduce
from ..probe import trials
from ..system.channel import Channel
from ..system.limits import die_with_parent, lower
from . import block, jobs, process_state, reproducers
from .death import RAISED
from .jobs import Context
from .journal import Journal
from .protocol import FromChild, Job, Limits, Submit, encode

MEGABYTE = 1 << 20

KEPT = 256
"""Most compiled functions in memory, some ten KB each."""

_NAME = "tirx.build"

HANDLERS: Mapping[type[Job[Any]], Callable[[Any, Context[Any]], None]] = {
    block.Block: block.run_block,
    block.Regenerate: block.regenerate,
    jobs.Check: jobs.check,
    jobs.CheckEach: jobs.check_each,
    jobs.Examine: jobs.examine,
    jobs.Explain: jobs.explain,
    jobs.Reach: jobs.reach,
    jobs.Judge: jobs.judge,
    jobs.Read: jobs.read,
    jobs.Show: jobs.show,
    jobs.WriteChecks: jobs.write_checks,
    Reduce: reduce,
    reproducers.RunReproducer: reproducers.run_reproducer,
    trials.Try: trials.attempt,
}
"""The kinds of jobs that a child does, and the function for each."""


def compile_once() -> None:
    """Make `tirx.build` return its earlier result for an equal PrimFunc and target.

    FoldConstant compiles the functions that it evaluates, 20 to 60 ms each, in every run, and a
    check runs it three times on the same module. It calls the global function `tirx.build`, as
    every caller in C++ does. Tier 4 does not: it keeps libraries in a folder, which is made here
    so that all forks share it.
    """
    kept.folder()
    build = tvm_ffi.get_global_func(_NAME)
    built: OrderedDict[tuple[int, str], tuple[Any, Any]] = OrderedDict()

    def cached(func: Any, *target: Any) -> Any:
        if not isinstance(func, tirx.PrimFunc):
            return build(func, *target)
        key = (int(tvm_ffi.structural_hash(func)), str(target))
        known = built.get(key)
        if known is None or not tvm_ffi.structural_equal(func, known[0]):
            known = built[key] = func, build(func, *target)
            if len(built) > KEPT:
                built.popitem(last=False)
        return known[1]

    tvm_ffi.register_global_func(_NAME, cached, override=True)


def warm_up() -> None:
    """Fill the caches that all children share, without running a kernel."""
    compile_once()
    known = availability.current()
    if known.build:  # else it is being found out, and anything may end this process
        with contextlib.suppress(Exception):  # where it matters, a child raises the same
            mod = example(ir_modules(), 0, 0)
            for name in stages.steps(Stage.LEGALIZED):
                stages.step(mod, name)
    process_state.warm_up()


def prepare(job: Job[Any]) -> None:
    """Import, before the fork, what every child with such a job would import by itself."""
    words = [call.name for call in getattr(job, "calls", ())]
    if isinstance(job, block.Block):
        words.append(job.recipe.family)
    if isinstance(job, trials.Try):
        words += [*job.names, *job.samples]
    families = {re.split(r"[. ]", word, maxsplit=1)[0] for word in words}
    imports = [name for family in families & FAMILIES.keys() for name in FAMILIES[family].imports]
    for name in imports:
        # Where it matters, a child raises the same.
        with quick_frames(), contextlib.suppress(Exception):
            importlib.import_module(name)


def folder(pid: int) -> str:
    """The folder for temporary files of one child."""
    return os.path.join(_TEMPORARY, f"child-{pid}")


_TEMPORARY = tempfile.gettempdir()
"""That of the zygote, which keeps compiled kernels there."""


def main(
    submit: Submit,
    journal: Journal,
    channel: Channel,
    zygote: int,
    signals: int,
    err: int,
    to_close: Sequence[int],
) -> NoReturn:
    """The forked process, to its end.

    Args:
        zygote: the process id of the zygote.
        signals: the pipe in which a byte says that the channel has data.
        err: the pipe for stderr.
        to_close: descriptors of the zygote.
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
        HANDLERS[type(submit.job)](submit.job, context)
        code, done = 0, True
    except SystemExit as exit:  # raised by a pass: as silent an end as `os._exit`
        code = 0 if exit.code is None else exit.code if isinstance(exit.code, int) else 1
    except MemoryError:
        journal.out_of_memory()
    except Exception as error:  # a defect of the harness: those of passes are violations
        context.fail(error)
        code, done = 0, True
    except BaseException as error:  # raised by a pass, like SystemExit
        code = 130 if isinstance(error, KeyboardInterrupt) else 1
        os.write(2, f"\n{RAISED}{type(error).__name__}\n{traceback.format_exc()}".encode())
    finally:
        if done:
            journal.finish()
        os._exit(code)


def _isolate(limits: Limits, zygote: int, err: int, to_close: Sequence[int]) -> Any:
    """Cut the process off; gives the memory that it has before its job, as psutil does."""
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

    `faulthandler` reserves a few KB for a stack, on the heap. TVM's handler needs more, and would
    overwrite the memory below.
    """
    if sys.platform == "linux":
        memory = mmap.mmap(-1, MEGABYTE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        _SIGNAL_STACKS.append(memory)
        ctypes.CDLL(None).sigaltstack(ctypes.byref(_Stack(start, 0, MEGABYTE)), None)


_SIGNAL_STACKS: list[mmap.mmap] = []
"""Kept mapped."""

"""Passes that misbehave, one function each, and two that do not; each acts on every module.

`innocent` has a fault of its own, so that it shows whether anybody else's hides or changes it.
"""

from __future__ import annotations

import atexit
import builtins
import ctypes
import gc
import json
import locale
import mmap
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import psutil
import tvm
import tvm_ffi
from tvm import relax

LIBC = ctypes.CDLL(None)
HOUR = 3600


def _pass(
    name: str, deed: Callable[[tvm.IRModule], object], *, gives: bool = False
) -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> object:
        given = deed(mod)
        return given if gives else mod

    return tvm.transform.module_pass(transform, opt_level=0, name=name)


def _does(deed: Callable[[], object]) -> Callable[[], tvm.transform.Pass]:
    """A factory of the pass that does this, by the name of the function."""
    return lambda: _pass(deed.__name__, lambda mod: deed())


def _returns(deed: Callable[[tvm.IRModule], object]) -> Callable[[], tvm.transform.Pass]:
    return lambda: _pass(deed.__name__, deed, gives=True)


# Signals


@_does
def segfault() -> None:
    ctypes.string_at(0)


@_does
def abort() -> None:
    os.abort()


@_does
def divide() -> None:
    """An integer division by zero in machine code."""
    code = bytes.fromhex("31c9b80100000031d2f7f1c3")  # xor ecx,ecx; mov eax,1; xor edx,edx; div ecx
    memory = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    memory.write(code)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    ctypes.CFUNCTYPE(ctypes.c_int)(address)()


@_does
def deaf_and_hung() -> None:
    """Hangs, having blocked or ignored all that can be."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGSEGV, signal.SIGABRT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        time.sleep(1)


@_does
def hang_in_c() -> None:
    """While holding the interpreter's lock."""
    ctypes.PyDLL(None).sleep(HOUR)


@_does
def hang_in_python() -> None:
    while True:
        pass


@_does
def blocks_signals() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


@_does
def handles_signals() -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGCHLD):
        signal.signal(number, lambda *_: None)


@_does
def sets_alarm() -> None:
    signal.alarm(1)


# Processes and threads


@_does
def forks() -> None:
    """Both processes come back."""
    os.fork()


@_does
def forks_and_leaves() -> None:
    if os.fork() == 0:
        os._exit(3)


@_does
def daemonizes() -> None:
    """A process of a session of its own, whose parent is gone."""
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 1024)
            time.sleep(HOUR)
        os._exit(0)
    os.wait()


@_does
def starts_threads() -> None:
    def spin() -> None:
        while True:
            time.sleep(0.01)

    for _ in range(4):
        threading.Thread(target=spin, daemon=False).start()


@_does
def starts_threads_with_locks() -> None:
    """The lock of an open stream, for ever in the hands of a thread."""
    locked = threading.Event()

    def hold() -> None:
        with gc_lock:
            locked.set()
            time.sleep(HOUR)

    if not gc_lock.locked():
        threading.Thread(target=hold, daemon=True).start()
        locked.wait()


gc_lock = threading.Lock()


@_does
def kills_parent() -> None:
    os.kill(os.getppid(), signal.SIGKILL)


@_does
def kills_group() -> None:
    os.killpg(0, signal.SIGKILL)


@_does
def kills_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


@_does
def terminates_itself() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


@_does
def kills_session() -> None:
    """All processes of its session but those that are not its own."""
    mine = os.getsid(0)
    for process in psutil.process_iter():
        try:
            if os.getsid(process.pid) == mine and process.pid != os.getpid():
                process.kill()
        except (psutil.Error, ProcessLookupError):
            continue
    os.kill(os.getpid(), signal.SIGKILL)


@_does
def kills_siblings() -> None:
    """Every child of its parent, itself last."""
    for process in psutil.Process(os.getppid()).children():
        if process.pid != os.getpid():
            process.kill()
    os.kill(os.getpid(), signal.SIGKILL)


# Descriptors


@_does
def closes_descriptors() -> None:
    os.closerange(0, 4096)


@_does
def closes_streams() -> None:
    for end in (0, 1, 2):
        os.close(end)


@_does
def replaces_descriptors() -> None:
    null = os.open(os.devnull, os.O_RDWR)
    for end in range(64):
        if end != null:
            try:
                os.fstat(end)
            except OSError:
                continue
            os.dup2(null, end)


@_does
def opens_files() -> None:
    """As many as it gets."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 10_000), hard))
    try:
        while len(_OPEN) < 10_000:
            _OPEN.append(os.open(os.devnull, os.O_RDONLY))
    except OSError:
        return


_OPEN: list[int] = []


@_does
def floods() -> None:
    """Megabytes, by way of Python, of descriptors and of C."""
    noise = "\x1b[31m\x07" + "x" * 100_000
    print(noise * 10)
    print(noise * 10, file=sys.stderr)
    for end in (1, 2):
        os.write(end, noise.encode() * 10)
    LIBC.printf(b"%s", noise.encode() * 10)
    LIBC.fflush(None)


@_does
def speaks_the_protocol() -> None:
    """Lines of the harness's own, and lines that are none, into all that is open."""
    lines = b'{"message":"Ended","id":1}\n{"message":"Nonsense"}\nnot JSON\n\xff\xfe\n{"mess'
    for end in range(64):
        try:
            os.write(end, lines)
        except OSError:
            continue


@_does
def replaces_stdout() -> None:
    sys.stdout = None  # type: ignore[assignment]
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115  # left open: that is its fault


@_does
def closes_stdout() -> None:
    sys.stdout.close()
    sys.stderr.close()


# Memory


@_does
def eats_numpy() -> None:
    """Gigabytes in a tenth of a second."""
    _EATEN.append(np.ones(3 << 27))


@_does
def eats_cpp() -> None:
    LIBC.malloc.restype = ctypes.c_void_p
    for _ in range(64):
        address = LIBC.malloc(64 << 20)
        if address is None:
            raise MemoryError
        ctypes.memset(ctypes.c_void_p(address), 1, 64 << 20)


@_does
def leaks() -> None:
    _EATEN.append(np.ones(4 << 20))


_EATEN: list[object] = []


# Ends and exceptions


@_does
def exits_silently() -> None:
    os._exit(0)


@_does
def exits() -> None:
    sys.exit("bye")


@_does
def raises_system_exit() -> None:
    raise SystemExit


@_does
def raises_interrupt() -> None:
    raise KeyboardInterrupt


@_does
def raises_base() -> None:
    raise BaseException("base")


@_does
def raises_generator_exit() -> None:
    raise GeneratorExit


class _Mute(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")

    __repr__ = __str__


@_does
def raises_mute() -> None:
    raise _Mute


@_does
def raises_at_length() -> None:
    raise ValueError("a word " * (100_000_000 // 7))


@_does
def raises_escapes() -> None:
    raise ValueError("\x1b[2J\x1b]0;title\x07 red \x1b[31m\x00 \u202e \ud800 <b>bold</b> [bold]")


@_does
def raises_out_of_memory() -> None:
    raise MemoryError


@_does
def recurses() -> None:
    def deeper(depth: int) -> int:
        return deeper(depth + 1)

    deeper(0)


@_does
def recurses_without_limit() -> None:
    sys.setrecursionlimit(10**9)

    def deeper(depth: int) -> list[int]:
        return sorted([depth], key=lambda _: len(deeper(depth + 1)))

    deeper(0)


# What it leaves behind in its process


@_does
def changes_surroundings() -> None:
    """Environment, import path, modules, random state, locale, limits, warnings, collector."""
    os.environ.clear()
    os.environ["PATH"] = "/nonexistent"
    sys.path.clear()
    for name in ("tempfile", "shutil", "numpy.random"):
        sys.modules.pop(name, None)
    random.seed(0)
    np.random.seed(0)
    locale.setlocale(locale.LC_ALL, "C")
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    warnings.simplefilter("error")
    gc.disable()
    sys.setswitchinterval(5)
    atexit.register(lambda: os.write(2, b"\x1b[31mgoodbye"))


@_does
def changes_directory() -> None:
    os.umask(0o777)
    os.chdir("/")


@_does
def stops_the_clock() -> None:
    time.sleep = lambda seconds: None
    time.time = time.monotonic = time.perf_counter = lambda: 0.0


@_does
def patches_json() -> None:
    json.dumps = json.loads = lambda *args, **kwargs: "{}"  # type: ignore[assignment]


@_does
def patches_builtins() -> None:
    builtins.len = lambda things: 7
    builtins.sorted = lambda *args, **kwargs: []  # type: ignore[assignment]


@_does
def patches_tvm() -> None:
    """Everything is equal, and nothing is ill-formed."""
    tvm.ir.structural_equal = lambda *args, **kwargs: True
    tvm_ffi.get_first_structural_mismatch = lambda *args, **kwargs: None
    tvm_ffi.structural_hash = lambda *args, **kwargs: 1
    relax.analysis.well_formed = relax.analysis.check_well_formed = lambda *args, **kwargs: True


@_does
def patches_relaxfuzz() -> None:
    for name, module in list(sys.modules.items()):
        if name.startswith("relaxfuzz.oracles.") and hasattr(module, "check"):
            module.check = lambda *args, **kwargs: []


@_does
def overrides_functions() -> None:
    """Functions that TVM's own passes call by name."""
    for name in ("tirx.build", "relax.analysis.well_formed", "ir.SaveJSON", "node.SaveJSON"):
        if tvm_ffi.get_global_func(name, allow_missing=True) is not None:
            tvm_ffi.register_global_func(name, lambda *args: None, override=True)


@tvm.instrument.pass_instrument
class _Refusing:
    """Runs no pass any more."""

    def should_run(self, mod: tvm.IRModule, info: tvm.transform.PassInfo) -> bool:
        return False


@_does
def leaves_contexts() -> None:
    context = tvm.transform.PassContext(opt_level=0, instruments=[_Refusing()])
    context.__enter__()
    _EATEN.append(context)
    tvm.target.Target("c").__enter__()


# Files


@_does
def deletes_its_source() -> None:
    """It is a copy, in tests."""
    Path(__file__).unlink(missing_ok=True)


@_does
def deletes_temporary_files() -> None:
    for path in Path(tempfile.gettempdir()).iterdir():
        shutil.rmtree(path, ignore_errors=True)
        if path.is_file():
            path.unlink(missing_ok=True)


@_does
def deletes_the_temporary_folder() -> None:
    shutil.rmtree(tempfile.gettempdir(), ignore_errors=True)


# Results


@_returns
def returns_none(mod: tvm.IRModule) -> object:
    return None


@_returns
def returns_text(mod: tvm.IRModule) -> object:
    return "no module"


@_returns
def returns_generator(mod: tvm.IRModule) -> object:
    def modules() -> Iterator[tvm.IRModule]:
        yield mod

    return modules()


@_returns
def returns_function(mod: tvm.IRModule) -> object:
    return next(iter(mod.functions.values()))


@_returns
def returns_huge(mod: tvm.IRModule) -> object:
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        value: relax.Expr = x
        for _ in range(100_000):
            value = builder.emit(relax.op.negative(value))
        builder.emit_func_output(value)
    return builder.get()


@_returns
def returns_nested(mod: tvm.IRModule) -> object:
    """Deeper than any recursion over it can go."""
    expr: relax.Expr = relax.Tuple([])
    for _ in range(200_000):
        expr = relax.Tuple([expr])
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    func = relax.Function([x], expr, relax.ObjectType())
    return tvm.IRModule({"main": func.with_attr("global_symbol", "main")})


@_returns
def returns_cycle(mod: tvm.IRModule) -> object:
    """An attribute of a function is the module that holds it, as far as nodes can be changed."""
    gvar, func = next(iter(mod.functions_items()))
    mod.update_func(gvar, func.with_attr("again", mod))
    return mod


@_does
def replaces_its_call() -> None:
    calls = len(_EATEN)
    _EATEN.append(None)
    tvm.transform.Pass.__call__ = lambda self, mod: None if calls else mod  # type: ignore[method-assign]


# Others


def innocent() -> tvm.transform.Pass:
    """a + b becomes b + a, and so on: a second run swaps the operands back."""

    @relax.expr_functor.mutator
    class Swap(relax.PyExprMutator):  # type: ignore[misc]  # untyped base
        def visit_call_(self, call: relax.Call) -> relax.Expr:
            call = self.visit_expr_post_order(call)
            if isinstance(call.op, tvm.ir.Op) and call.op.name in ("relax.add", "relax.multiply"):
                return relax.Call(call.op, [call.args[1], call.args[0]], call.attrs)
            return call

    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        mutator = Swap(mod)
        for gvar, func in mod.functions_items():
            if isinstance(func, relax.Function):
                mutator.builder_.update_func(gvar, mutator.visit_expr(func))
        return mutator.builder_.get()

    return tvm.transform.module_pass(transform, opt_level=0, name="innocent")


def spotless() -> tvm.transform.Pass:
    return _pass("spotless", lambda mod: None)

"""Passes that do to their process what no pass should; each leaves modules without `add` alone."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import tvm
from tvm import relax


def _adds(mod: tvm.IRModule) -> bool:
    return "R.add" in mod.script()


def _pass(name: str, deed: Callable[[], object]) -> tvm.transform.Pass:
    def transform(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        if _adds(mod):
            deed()
        return mod

    return tvm.transform.module_pass(transform, opt_level=0, name=name)


def segfault() -> tvm.transform.Pass:
    return _pass("segfault", lambda: ctypes.string_at(0))


def division() -> tvm.transform.Pass:
    return _pass("division", lambda: os.kill(os.getpid(), signal.SIGFPE))


def abort() -> tvm.transform.Pass:
    return _pass("abort", os.abort)


def hang() -> tvm.transform.Pass:
    def forever() -> None:
        while True:
            time.sleep(0.01)

    return _pass("hang", forever)


def storm() -> tvm.transform.Pass:
    """Starts more processes than any pass needs, each of which outlives it."""
    return _pass("storm", lambda: _shell("for i in $(seq 400); do sleep 20 & done; sleep 5"))


def storm_apart() -> tvm.transform.Pass:
    """The same, in sessions of their own whose parents have ended."""
    return _pass("storm_apart", lambda: _shell("for i in $(seq 400); do setsid -f sleep 20; done"))


def _shell(script: str) -> None:
    """Run it without a fork of this process, which is large: each takes 10 ms."""
    os.waitpid(os.posix_spawn("/bin/sh", ["sh", "-c", script], os.environ), 0)


def dawdle() -> tvm.transform.Pass:
    """Takes long, and comes to its end."""
    return _pass("dawdle", _be_busy)


def spin() -> tvm.transform.Pass:
    """Hangs in C, where Python's signal handlers do not run."""
    return _pass("spin", lambda: ctypes.CDLL(None).sleep(600))


def eat() -> tvm.transform.Pass:
    """Takes memory in big pieces, as a vector that grows does."""

    def take() -> None:
        blocks = []
        while True:
            blocks.append(b"x" * (16 << 20))

    return _pass("eat", take)


def nibble() -> tvm.transform.Pass:
    """Takes memory in small pieces from C, with no Python exception in the end."""

    def take() -> None:
        libc = ctypes.CDLL(None)
        libc.malloc.restype = ctypes.c_void_p
        while True:
            if (address := libc.malloc(1 << 20)) is None:
                os.abort()
            ctypes.memset(address, 1, 1 << 20)

    return _pass("nibble", take)


def run_out() -> tvm.transform.Pass:
    """Takes long, and runs out of memory."""

    def take() -> None:
        _be_busy()
        raise MemoryError

    return _pass("run_out", take)


def run_out_in_cpp() -> tvm.transform.Pass:
    """Asks C++ for more memory than there is, in a thread where nobody catches the exception."""

    def take() -> None:
        new = ctypes.CDLL("libstdc++.so.6")._Znwm
        thread = threading.Thread(target=new, args=(ctypes.c_size_t(1 << 62),))
        thread.start()
        thread.join()

    return _pass("run_out_in_cpp", take)


def segfault_late() -> tvm.transform.Pass:
    """Takes long, and ends in a segmentation fault."""

    def deed() -> None:
        _be_busy()
        ctypes.string_at(0)

    return _pass("segfault_late", deed)


def _be_busy() -> None:
    end = time.process_time() + 1
    while time.process_time() < end:
        pass


def leave() -> tvm.transform.Pass:
    return _pass("leave", lambda: os._exit(0))


def recurse() -> tvm.transform.Pass:
    """Overflows the C++ stack inside TVM."""

    def deep() -> None:
        expr: relax.Expr = relax.Tuple([])
        for _ in range(200_000):
            expr = relax.Tuple([expr])
        relax.analysis.free_vars(expr)

    return _pass("recurse", deep)


def fork() -> tvm.transform.Pass:
    """Both processes come back from the pass."""
    return _pass("fork", os.fork)


def leave_child() -> tvm.transform.Pass:
    """Leaves a process behind that would live for ten minutes."""

    def spawn() -> None:
        if os.fork() == 0:
            time.sleep(600)
            os._exit(0)

    return _pass("leave_child", spawn)


def chatter() -> tvm.transform.Pass:
    """Floods stdout and stderr, by way of Python and of the file descriptors."""

    def talk() -> None:
        for _ in range(200):
            print("x" * 1000)
            sys.stdout.flush()
            os.write(1, b'{"message":"Ended","id":1}\n' * 100)
            os.write(2, b"y" * 1000)

    return _pass("chatter", talk)


def daemonize() -> tvm.transform.Pass:
    """Leaves a process behind in a session of its own, whose parent is gone."""

    def spawn() -> None:
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(600)
            os._exit(0)
        os.wait()

    return _pass("daemonize", spawn)


def kill_parent() -> tvm.transform.Pass:
    return _pass("kill_parent", lambda: os.kill(os.getppid(), signal.SIGKILL))


def kill_parent_late() -> tvm.transform.Pass:
    """Processes in turn kill their parent in their first and second call; needs a working directory
    of its own."""
    calls = 0

    def kill() -> None:
        nonlocal calls
        calls += 1
        before = sum(file.name != str(os.getpid()) for file in Path().iterdir())
        Path(str(os.getpid())).touch()
        if calls > before % 2:
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(10)

    return _pass("kill_parent_late", kill)


def kill_itself() -> tvm.transform.Pass:
    return _pass("kill_itself", lambda: os.kill(os.getpid(), signal.SIGKILL))


def close_all() -> tvm.transform.Pass:
    """Also what the harness has open."""
    return _pass("close_all", lambda: os.closerange(0, 4096))


def speak() -> tvm.transform.Pass:
    """Writes what looks like the harness's own words into all that is open."""

    def talk() -> None:
        for end in range(64):
            with contextlib.suppress(OSError):
                os.write(end, b'{"message":"Ended","id":1}\nno JSON\n\xff{"mess')

    return _pass("speak", talk)


def move() -> tvm.transform.Pass:
    return _pass("move", lambda: os.chdir("/"))


def swear() -> tvm.transform.Pass:
    """Its exception cannot be shown, but the terminal would see it."""

    class Mute(Exception):
        def __str__(self) -> str:
            return "\x1b[2J\x07\x00 red " + "word " * 1_000_000

    def deed() -> None:
        raise Mute

    return _pass("swear", deed)


def raise_surrogate() -> tvm.transform.Pass:
    """Its exception has a text that UTF-8 cannot express."""

    def deed() -> None:
        raise ValueError("half a pair: \ud800")

    return _pass("raise_surrogate", deed)


def innocent() -> tvm.transform.Pass:
    return _pass("innocent", lambda: None)

"""Execution on a device: what is missing, limits of the device, deaths, and signs of life."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tvm
from tvm.script import ir as I
from tvm.script import tirx as T

from relaxfuzz.oracles.execute import Failure, ProcessDeath, device, fork
from relaxfuzz.oracles.execute.device import CPU, KINDS, ON_CPU, execute_on, missing

X = np.arange(4, dtype="float32")


@I.ir_module
class Plain:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32"), n: T.int64):
        for i in range(4):
            B[i] = A[i] + T.Cast("float32", n)


@I.ir_module
class Divides:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32")):
        B[0] = T.truncdiv(B[0], A[0])


@I.ir_module
class Large:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((2048,), "float32")):
        for i in T.thread_binding(2048, thread="threadIdx.x"):
            A[i] = T.float32(0)


def test_the_cpu_is_always_there() -> None:
    assert missing(CPU) is None


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in ON_CPU])
def test_what_is_missing_is_one_line(kind: str) -> None:
    why = missing(kind)
    if why is None:
        pytest.skip(f"there is a {KINDS[kind]} device")
    assert KINDS[kind] in why
    assert "\n" not in why


def test_a_device_that_computes_something_else_cannot_be_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device, "called", lambda function, args, device: args)
    assert missing(CPU) == "the CPU device cannot be used: it does not add 1 to 32 numbers"


def test_a_toolkit_that_is_not_installed_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def built(mod: tvm.IRModule, target: Any) -> Any:
        raise RuntimeError("no compiler here\nand more")

    monkeypatch.setattr(device, "built", built)
    assert missing(CPU) == "the CPU device cannot be used: RuntimeError: no compiler here"


def test_all_buffers_come_back_and_the_arguments_stay() -> None:
    args = [X, np.zeros(4, "float32"), 2]
    results = execute_on(CPU, Plain, "main", [args, [X + 1, X, 1]])
    assert isinstance(results, list)
    np.testing.assert_equal(results[0], (X, X + 2))
    np.testing.assert_equal(results[1], (X + 1, X + 2))
    assert not args[1].any()


def test_what_a_function_is_bound_to_is_replaced() -> None:
    bound = tvm.tirx.transform.BindTarget(tvm.target.Target("opencl", host="llvm"))(Plain)
    results = execute_on(CPU, bound, "main", [[X, X, 2]])
    assert isinstance(results, list)


def test_a_death_is_a_value() -> None:
    zero, one = np.zeros(1, "int32"), np.ones(1, "int32")
    death = execute_on(CPU, Divides, "main", [[one, one], [zero, one]])
    assert isinstance(death, ProcessDeath)
    assert (death.step, death.error, death.plan) == ("run", "SIGFPE", 1)


def test_what_the_device_cannot_take_is_refused_before_code_is_made(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(device, "target_of", lambda kind: tvm.target.Target("cuda", host="llvm"))
    failure = execute_on(CPU, Large, "main", [[np.zeros(2048, "float32")]])
    assert isinstance(failure, Failure)
    assert failure.step == "lower"
    assert failure.text == "2048 threads in a block, and cuda has max_num_threads = 1024"


def test_a_fork_that_works_gives_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork, "BEAT", 0.05)
    beats = []

    def work() -> Iterator[int]:
        time.sleep(0.5)
        yield 1

    assert fork.in_fork(work, 60.0, lambda: beats.append(1)) == ([1], None)
    assert len(beats) >= 2


def test_its_time_is_up_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork, "BEAT", 0.05)

    def work() -> Iterator[int]:
        yield 1
        signal.pause()

    assert fork.in_fork(work, 0.3, lambda: None) == ([1], fork.LATE)

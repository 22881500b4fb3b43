"""Execution in the VM: every stage, both modes, kept PrimFuncs, deaths as values."""

from __future__ import annotations

import collections
import importlib.util
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tvm_ffi
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from relaxfuzz.compat.drift import Drift
from relaxfuzz.generators.stages import Stage, advance
from relaxfuzz.oracles import execute as oracle_execute
from relaxfuzz.oracles.check import check
from relaxfuzz.oracles.execute import (
    Failure,
    ProcessDeath,
    execute,
    fork,
    kept,
    kernels,
    linker,
    lower,
)
from relaxfuzz.oracles.expected.expectation import Expectation
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.silence.log import answers
from relaxfuzz.oracles.violation import Case
from relaxfuzz.oracles.vote import Vote, vote

X = np.arange(6, dtype="float32").reshape(2, 3)
EXPECTED = (np.square(X + 1), (X + 1).T)


@I.ir_module
class Several:
    @R.function
    def main(
        x: R.Tensor(("n", 3), "float32"),
    ) -> R.Tuple(R.Tensor(("n", 3), "float32"), R.Tensor((3, "n"), "float32")):
        with R.dataflow():
            a = R.add(x, R.const(1.0, "float32"))
            b = R.permute_dims(a)
            c = R.multiply(a, a)
            R.output(b, c)
        return (c, b)


@I.ir_module
class Quotient:
    @R.function
    def main(x: R.Tensor((1,), "int32"), y: R.Tensor((1,), "int32")) -> R.Tensor((1,), "int32"):
        return R.floor_divide(x, y)


@I.ir_module
class Twice:
    """A PrimFunc that calls another one."""

    @T.prim_func(private=True, s_tir=True)
    def one_more(x: T.float32) -> T.float32:
        return x + T.float32(1)

    @T.prim_func(s_tir=True)
    def two_more(A: T.Buffer((1,), "float32"), B: T.Buffer((1,), "float32")):
        B[0] = Twice.one_more(A[0]) + T.float32(1)

    @R.function
    def main(x: R.Tensor((1,), "float32")) -> R.Tensor((1,), "float32"):
        cls = Twice
        return R.call_tir(cls.two_more, (x,), out_ty=R.Tensor((1,), "float32"))


def main(*args: Any) -> Callable[[Any], Any]:
    return lambda run: run("main", list(args))


def assert_expected(results: Any) -> None:
    assert isinstance(results, list), results
    for got, want in zip(results[0], EXPECTED, strict=True):
        np.testing.assert_array_equal(got, want)


@pytest.fixture
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(kept, "folder", lambda: tmp_path / "build")
    (tmp_path / "build").mkdir()
    return tmp_path / "build"


@pytest.mark.parametrize("stage", list(Stage))
def test_modules_of_every_stage_run(stage: Stage) -> None:
    assert_expected(execute(advance(Several, stage), [main(X)]))


@pytest.mark.parametrize("pipeline", ["zero", "default", "cpu_generic"])
@pytest.mark.parametrize("stage", [Stage.RAW, Stage.PLANNED, Stage.LOWERED])
def test_every_pipeline_takes_modules_of_later_stages(stage: Stage, pipeline: str) -> None:
    assert_expected(execute(advance(Several, stage), [main(X)], pipeline))


def test_what_tvm_lacks_is_no_failure_of_a_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(relax, "ExecBuilder")
    with pytest.raises(Drift, match=r"this TVM has no tvm\.relax\.ExecBuilder"):
        execute(Several, [main(X)])


def test_a_lowered_module_is_left_as_it_is() -> None:
    lowered = advance(Several, Stage.LOWERED)
    assert tvm_ffi.structural_equal(lower(lowered, "default"), lowered)


@pytest.mark.parametrize("stage", [Stage.RAW, Stage.LOWERED])
def test_a_prefix_for_system_libraries_changes_nothing(stage: Stage) -> None:
    prefixed = Several.with_attr("system_lib_prefix", "lib_")
    assert_expected(execute(advance(prefixed, stage), [main(X)]))


def test_local_functions_are_lifted() -> None:
    builder = relax.BlockBuilder()
    x, y = (relax.Var(name, relax.TensorType((2, 3), "float32")) for name in "xy")
    inner = relax.Function([y], relax.SeqExpr([], y), relax.TensorType((2, 3), "float32"))
    with builder.function("main", [x]):
        local = builder.emit(builder.normalize(inner))
        builder.emit_func_output(builder.emit(relax.Call(local, [x])))
    (got,) = execute(builder.get(), [main(X)]) or ()
    np.testing.assert_array_equal(got, X)


@I.ir_module
class Elsewhere:
    I.module_global_infos({"vdevice": [I.vdevice({"kind": "cuda", "arch": "sm_50"}, 0)]})

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        return R.to_vdevice(x, "cuda:0")


@pytest.mark.parametrize("pipeline", ["default", "zero"])
def test_values_on_another_device_than_the_cpu_are_not_known(pipeline: str) -> None:
    """No build is to blame for a device that the machine does not have."""
    plan = Expectation(Elsewhere, "main", [np.zeros(2, "float32")], None).plan()
    assert execute(Elsewhere, [plan], pipeline) is None
    assert check(Case(Elsewhere, pipeline=pipeline), oracles=["executed-by-pipeline"]) == []


def test_equal_prim_funcs_are_compiled_once(empty_folder: Path) -> None:
    assert_expected(execute(Several, [main(X)]))
    kept = sorted(empty_folder.glob("k*"))
    (library,) = empty_folder.glob("*.so")
    assert kept
    assert {path.resolve() for path in kept} == {library.resolve()}
    # The same PrimFuncs under other names, and one that is new.
    renamed = relax.transform.LegalizeOps()(Several)
    assert_expected(execute(renamed, [main(X)], "default"))
    assert sorted(empty_folder.glob("k*")) == kept
    execute(Quotient, [])
    assert len(list(empty_folder.glob("k*"))) == len(kept) + 1
    assert len(list(empty_folder.glob("*.so"))) == 2


def test_a_missing_library_is_rebuilt(empty_folder: Path) -> None:
    assert_expected(execute(Several, [main(X)]))
    for library in empty_folder.glob("*.so"):
        library.unlink()
    assert_expected(execute(Several, [main(X)]))


def test_prim_funcs_that_call_others_keep_their_names(empty_folder: Path) -> None:
    (failure,) = execute(Twice, [main(np.ones(1, "float32"))]) or ()
    # As after `relax.build`, where a PrimFunc called by another one takes packed arguments.
    assert isinstance(failure, Failure)
    assert "one_more(x: float32)" in failure.text
    assert list(empty_folder.glob("k*")) == []


def test_without_a_compiler_it_is_compiled_just_in_time_with_one_warning(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", "")
    linker.cache_clear()
    try:
        for _ in range(2):
            assert_expected(execute(Several, [main(X)]))
    finally:
        linker.cache_clear()
    lines = capfd.readouterr().err.splitlines()
    assert lines == [
        "No C compiler on the PATH: modules are compiled just in time, at a third of the speed"
    ]


def test_generated_code_that_kills_its_process_kills_no_other() -> None:
    one, zero = np.ones(1, "int32"), np.zeros(1, "int32")
    assert isinstance(execute(Quotient, [main(one, one)]), list)
    death = execute(Quotient, [main(one, one), main(one, zero)])
    assert isinstance(death, ProcessDeath)
    assert (death.step, death.error, death.plan) == ("run", "SIGFPE", 1)


@pytest.mark.parametrize(
    ("factory", "signals"),
    [("divides_by_zero", ["SIGFPE"]), ("reads_far_away", ["SIGSEGV"]), ("divides_by_one", [])],
)
def test_a_result_that_kills_the_process_is_reported(factory: str, signals: list[str]) -> None:
    path = Path(__file__).with_name("death_faults.py")
    call = PassCall(f"{factory}()", factory=f"{path}:{factory}")
    before = module_of(path)
    found = check(Case(before, (call,)), oracles=["executed"])
    keys = [violation.key for violation in found]
    what = "the result kills the process in the VM (run), where the module does not"
    assert keys == [(what, signal) for signal in signals]


def module_of(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("relaxfuzz_death_faults", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where TVMScript looks for the source
    spec.loader.exec_module(module)
    return module.module()


def test_a_death_that_does_not_recur_is_not_reported(tmp_path: Path) -> None:
    def once(run: Any) -> Any:
        if not (tmp_path / "died").exists():
            (tmp_path / "died").touch()
            os.kill(os.getpid(), signal.SIGSEGV)
        return run("main", [X])

    assert execute(Several, [once]) is None


def test_a_hang_is_recognized_by_its_cpu_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork, "CPU_SECONDS", 0)

    def loop(run: Any) -> Any:
        while True:
            pass

    death = execute(Several, [loop])
    assert isinstance(death, ProcessDeath)
    assert (death.step, death.error) == ("run", "hang")


def test_a_process_that_waits_is_not_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork, "WALL_SECONDS", 0.5)

    def work() -> Iterator[Any]:
        yield 1
        signal.pause()

    assert fork.in_fork(work) == ([1], fork.LATE)


def test_values_that_take_too_long_are_omitted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fork, "WALL_SECONDS", 0.5)
    with answers() as given:
        assert execute(Several, [lambda run: signal.pause()]) is None
    assert [answer.omitted for answer in given.values()] == [("values in the VM",)]


@I.ir_module
class Closed:
    @R.function(private=True)
    def inner(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32")) -> R.Any:
        return R.add(x, y)

    @R.function(pure=False)
    def main(x: R.Tensor((2,), "float32")) -> R.Any:
        cls = Closed
        return R.make_closure(cls.inner, (x,))


def test_a_closure_is_no_death() -> None:
    (failure,) = execute(Closed, [lambda run: run("main", [X[0, :2]])]) or [None]  # type: ignore[list-item]
    assert isinstance(failure, Failure)
    assert not isinstance(failure, ProcessDeath)
    assert (failure.step, failure.error) == ("run", "Unsupported")


def test_an_exception_of_the_work_itself_is_no_death() -> None:
    def work() -> Iterator[Any]:
        yield 1
        raise ValueError("of the oracle")

    with pytest.raises(RuntimeError, match="of the oracle"):
        fork.in_fork(work)


def test_a_limit_of_the_user_on_cpu_time_stays() -> None:
    """As batch systems set it: no process can raise it."""

    def work() -> Iterator[Any]:
        for hard in (3600, fork.CPU_SECONDS):
            resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
            fork.allow()
            yield resource.getrlimit(resource.RLIMIT_CPU)

    (wide, narrow), end = fork.in_fork(work)
    assert end is None
    assert wide[0] < wide[1] == 3600
    assert narrow == (fork.CPU_SECONDS, fork.CPU_SECONDS)


def test_exceptions_come_back_as_values() -> None:
    (failure,) = execute(Several, [main()]) or [None]  # type: ignore[list-item]
    assert isinstance(failure, Failure)
    assert failure.step == "run"
    unbuilt = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((1,), "float32"))
    with unbuilt.function("main", [x]):
        unbuilt.emit_func_output(unbuilt.emit(relax.op.ewise_fma(x, x, x)))
    failure = execute(unbuilt.get(), [main()])
    assert isinstance(failure, Failure)
    assert failure.step == "build"
    assert "ewise_fma" in failure.text


def test_calls_of_packed_functions_are_recorded_in_place_of_results() -> None:
    @I.ir_module
    class Printing:
        @R.function(pure=False)
        def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
            y = R.add(x, x)
            _ = R.print(y, format="y is {}")
            return y

    first, second = execute(Printing, [main(X), main(2 * X)], record=["relax.run.print"]) or ()
    for calls, expected in ((first, 2 * X), (second, 4 * X)):
        ((function, text, value),) = calls
        assert (function, text) == ("relax.run.print", "y is {}")
        np.testing.assert_array_equal(value, expected)


def test_a_failing_pass_is_distinguished_from_code_generation() -> None:
    builder = relax.BlockBuilder()
    shaped = relax.Var("x", relax.TensorType((1, 4, 1, 1), "float32"))
    with builder.function("main", [shaped]):
        builder.emit_func_output(builder.emit(relax.op.nn.pixel_shuffle(shaped, 2)))
    failure = execute(builder.get(), [])
    if isinstance(failure, Failure):  # TVM 0.27 cannot legalize it
        assert failure.step == "lower"
    else:
        assert failure == []


def test_the_hash_distinguishes_zeros_and_nans() -> None:
    def key(func: Any, target: Any = oracle_execute.TARGET) -> str:
        return kernels._key(func, target)

    values = (0.0, -0.0, 1.0, float("nan"), float("inf"))
    assert len({key(constant(value)) for value in values}) == len(values)
    one = constant(1.0)
    assert key(one) == key(one.with_attr("global_symbol", "f"))
    assert key(one) != key(one, kernels.OPTIMIZING)


def constant(value: float) -> Any:
    @T.prim_func(private=True, s_tir=True)
    def func(out: T.Buffer((1,), "float32")) -> None:
        out[0] = T.float32(value)

    return func


def test_a_vote_records_that_a_side_dies() -> None:
    one, zero = np.ones(1, "int32"), np.zeros(1, "int32")
    module, result = (Expectation(Quotient, "main", [one, by], one) for by in (one, zero))
    assert vote(module, result, None) == (
        Vote.NONE,
        "the process of the result dies (run): SIGFPE",
    )


def test_a_large_tensor_that_takes_long_is_no_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    """Code that is not optimised multiplies these matrices in several seconds."""
    monkeypatch.setattr(fork, "CPU_SECONDS", 0)
    bb = relax.BlockBuilder()
    x, y = (relax.Var(name, R.Tensor((1500, 1500), "float32")) for name in "xy")
    with bb.function("main", [x, y]):
        bb.emit_func_output(bb.emit(relax.op.matmul(x, y)))
    ones = np.ones((1500, 1500), "float32")
    assert execute(bb.get(), [lambda run: run("main", [ones, ones])]) is None


def matmul(size: int) -> Any:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((size, size), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.matmul(x, x)))
    return builder.get()


def test_only_primfuncs_with_much_arithmetic_are_optimized(monkeypatch: pytest.MonkeyPatch) -> None:
    builder = relax.BlockBuilder()
    x, y = (
        relax.Var(name, R.Tensor((size, size), "float32")) for name, size in (("x", 8), ("y", 180))
    )
    with builder.function("main", [x, y]):
        products = [builder.emit(relax.op.matmul(each, each)) for each in (x, y)]
        builder.emit_func_output(relax.Tuple(products))
    compiled = {}

    def compile_none(functions: Any, target: Any) -> Any:
        found = {kernels.iterations_of(func) for func in functions.values()}
        compiled[int(target.attrs["opt-level"])] = found
        return collections.defaultdict(lambda: collections.defaultdict(lambda: print))

    monkeypatch.setattr(kernels, "_libraries", compile_none)
    monkeypatch.setattr(kernels, "_register", lambda *_: None)
    kernels.provide(lower(builder.get(), "default"), oracle_execute.TARGET, optimize=True)
    assert compiled == {0: {8**3}, 1: {180**3}}


def test_optimised_code_computes_the_same() -> None:
    x = np.random.default_rng(0).integers(-3, 4, (180, 180)).astype("float32")
    results = execute(matmul(180), [main(x)])
    assert isinstance(results, list), results
    np.testing.assert_array_equal(results[0], x @ x)

"""TVM, its ffi, and what it compiles with. Imports TVM: only ever in a process of its own."""

from __future__ import annotations

import shutil
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

from ...generators import tvm_api
from .line import Line, Step, ok, problem, warning

INSTALL = "pip install 'relaxfuzz[tvm]'"


def lines() -> Iterator[Line | Step]:
    """As far as it goes: what needs TVM is not looked at where there is none."""
    yield Step("ffi", INSTALL)
    try:
        tvm_api.refuse_bad_ffi()
    except tvm_api.TVMUnsupported as error:
        yield _refusal("ffi", error)
        return
    yield Step("TVM", f"it must survive `python -c 'import tvm'`; mend it, or {INSTALL}")
    try:
        with warnings.catch_warnings(record=True) as told:
            versions = tvm_api.require_tvm()
    except tvm_api.TVMUnsupported as error:
        yield _refusal("TVM", error)
        return
    import tvm
    from tvm import relax

    where = Path(tvm.__file__).parent
    value = f"{versions['tvm']} (git {versions['tvm_git'][:10]}), {where}"
    if told:
        yield warning(
            "TVM", f"{value}: {told[0].message}", "read findings with care; or update relaxfuzz"
        )
    else:
        yield ok("TVM", f"{value}, a tested release")
    yield Step(
        "ffi",
        f"apache-tvm-ffi {versions['tvm_ffi']} does not fit this TVM: tvm.ir.save_json must not "
        f"end the process; {INSTALL}",
    )
    tvm.ir.save_json(relax.Var("x", relax.TensorType((2, 3), "float32")))
    yield ok("ffi", f"{versions['tvm_ffi']}, saves JSON")
    yield from _compiler()


def _refusal(part: str, error: tvm_api.TVMUnsupported) -> Line:
    value, _, advice = str(error).partition("\n")
    return problem(part, value, advice or INSTALL)


def _compiler() -> Iterator[Line | Step]:
    """Code for this machine is made, linked, loaded and run, as the oracles do it."""
    import tvm_ffi

    advice = "use a TVM that is built with LLVM (USE_LLVM): " + INSTALL
    if tvm_ffi.get_global_func("target.build.llvm", allow_missing=True) is None:
        yield problem("LLVM", "this TVM is built without it", advice)
        return
    yield Step("LLVM", advice)
    version = tvm_ffi.get_global_func("target.llvm_version_major", allow_missing=True)
    yield ok("LLVM", f"{version()}" if version is not None else "in TVM")
    compiler = next(filter(None, map(shutil.which, ("gcc", "cc", "clang"))), None)
    advice = "install gcc or clang, with its linker (Debian: apt install gcc)"
    yield Step("compiler", advice)
    import numpy
    from tvm import relax

    from ...oracles.execute import Failure, execute

    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType((2,), "float32"))
    with builder.function("main", [x]):
        builder.emit_func_output(builder.emit(relax.op.add(x, x)))
    began = time.monotonic()
    made = execute(builder.get(), [lambda run: run("main", [numpy.ones(2, "float32")])])
    seconds = time.monotonic() - began
    result = made[0] if isinstance(made, list) else made
    name = compiler or "none"
    if result is None:
        yield warning(
            "compiler", f"{name}: building took too long", "wait until the machine is less busy"
        )
    elif isinstance(result, Failure):
        yield problem("compiler", f"{name}: {result.error} in {result.step}: {result.text}", advice)
    elif result.tolist() != [2.0, 2.0]:
        yield problem("compiler", f"{name}: 1 + 1 is {result.tolist()}", advice)
    elif compiler is None:
        yield warning(
            "compiler",
            f"none on the PATH: modules are compiled just in time ({seconds:.1f} s), at a third of "
            "the speed",
            advice,
        )
    else:
        linker = shutil.which("ld") or "its own linker"
        yield ok("compiler", f"{compiler}, {linker}: 1 + 1 is 2 ({seconds:.1f} s)")

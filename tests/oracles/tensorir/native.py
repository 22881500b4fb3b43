"""PrimFuncs compiled and run: the truth that programs are compared with."""

from __future__ import annotations

import os
import pickle
import signal
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tvm
from tvm import tirx

from relaxfuzz.oracles.execute.vectors import vectors_of, with_vectors


def run_native(
    funcs: Mapping[str, tirx.PrimFunc], args: Mapping[str, Sequence[Any]]
) -> dict[str, list[Any]]:
    """The arguments after the calls, all in one build by LLVM without optimization, in a fork.

    A process that has run compiled code may not be forked any more, and it may die.
    """
    results: dict[str, list[Any]] | None = in_fork(lambda: run(funcs, args))
    assert results is not None, f"the compiled code of one of {sorted(funcs)} died"
    return results


def in_fork(function: Callable[[], Any], limit: int = 0) -> Any:
    """What the function gives, in a process of its own; None where that dies.

    Args:
        limit: seconds after which it does; 0: none.
    """
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            signal.alarm(limit)
            os.close(read)
            with os.fdopen(write, "wb") as pipe:
                pipe.write(pickle.dumps(function()))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        data = pipe.read()
    os.waitpid(pid, 0)
    return pickle.loads(data) if data else None


def run(
    funcs: Mapping[str, tirx.PrimFunc], args: Mapping[str, Sequence[Any]]
) -> dict[str, list[Any]]:
    """The same, in this process."""
    mod = tvm.IRModule({n: f.with_attr("global_symbol", n) for n, f in funcs.items()})
    built = tvm.compile(mod, target=tvm.target.Target({"kind": "llvm", "opt-level": 0}))
    results = {}
    for name, values in args.items():
        own = [tvm.runtime.tensor(v) if isinstance(v, np.ndarray) else v for v in values]
        built[name](*with_vectors(own, vectors_of(funcs[name])))
        results[name] = [v.numpy() if isinstance(v, tvm.runtime.Tensor) else v for v in own]
    return results


def copies(args: Sequence[Any]) -> list[Any]:
    return [arg.copy() if isinstance(arg, np.ndarray) else arg for arg in args]


def assert_close(expected: Sequence[Any], actual: Sequence[Any], text: str = "") -> None:
    """Integers exactly, floats up to rounding, NaN where NaN is."""
    for want, got in zip(expected, actual, strict=True):
        if not isinstance(want, np.ndarray):
            continue
        if want.dtype.kind in "iub":
            np.testing.assert_array_equal(got, want, text)
        else:
            bound = {"float64": 1e-9, "float32": 1e-5}.get(want.dtype.name, 1e-2)
            wide, other = want.astype("float64"), got.astype("float64")
            np.testing.assert_allclose(other, wide, bound, bound, err_msg=text)


def assert_same_bits(expected: Sequence[Any], actual: Sequence[Any], text: str = "") -> None:
    """All bits, but for those of NaN and the sign of zero."""
    for want, got in zip(expected, actual, strict=True):
        if isinstance(want, np.ndarray):
            assert want.dtype == got.dtype
            # NumPy does not know the NaN of dtypes that are not its own.
            wide = want.dtype if want.dtype.kind in "iubf" else np.dtype("float64")
            np.testing.assert_array_equal(got.astype(wide), want.astype(wide), text)

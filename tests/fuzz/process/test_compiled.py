"""FoldConstant compiles a PrimFunc once in a process, and computes the same."""

from __future__ import annotations

import subprocess
import sys

PROGRAM = """
import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from relaxfuzz.compat import ir
from relaxfuzz.fuzz.zygote import compile_once

calls = []
build = tvm_ffi.get_global_func("tirx.build")

def counting(*args):
    calls.append(args)
    return build(*args)

tvm_ffi.register_global_func("tirx.build", counting, override=True)


def module(value, op):
    b = relax.BlockBuilder()
    with b.function("main", []):
        with b.dataflow():
            x = relax.const(np.array([value, 1.0], "float32"))
            y = b.emit_output(op(x, x))
        b.emit_func_output(y)
    return b.finalize()


def found(mod):
    constants = []
    tvm_ffi.structural_walk(mod["main"], (tvm.ir.GenericConst, constants.append))
    return constants


def folded(value, op):
    mod = relax.transform.FoldConstant()(module(value, op))
    (constant,) = (v for v in found(mod) if ir.constant_data(v).numpy().shape == (2,))
    return [float(each) for each in ir.constant_data(constant).numpy()]


first = folded(3.0, relax.op.add)
compile_once()
assert folded(3.0, relax.op.add) == first == [6.0, 2.0]
assert len(calls) == 2, len(calls)
assert folded(5.0, relax.op.add) == [10.0, 2.0]  # an equal PrimFunc, other data
assert len(calls) == 2, len(calls)
assert folded(5.0, relax.op.multiply) == [25.0, 1.0]
assert len(calls) == 3, len(calls)
"""


def test_equal_functions_are_compiled_once_and_others_anew() -> None:
    # In a process of its own: it changes a global function of TVM and runs kernels.
    answer = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr

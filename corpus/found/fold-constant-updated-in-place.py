# the operand that call_tir_inplace overwrites becomes a constant: each call of the built function finds what the one before left there

import numpy as np
import tvm
from tvm import relax
from tvm.relax.transform import FoldConstant
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def bump(A: T.Buffer((3,), "float32")):
        T.func_attr({"tirx.noalias": True})
        for i in range(3):
            A[i] = A[i] + T.float32(1.0)

    @R.function
    def main() -> R.Tensor((3,), dtype="float32"):
        cls = mod
        with R.dataflow():
            a: R.Tensor((3,), dtype="float32") = R.ones(R.shape([3]), dtype="float32")
            c: R.Tensor((3,), dtype="float32") = R.add(a, a)
            b: R.Tensor((3,), dtype="float32") = R.call_tir_inplace(cls.bump, (c,), out_ty=R.Tensor((3,), dtype="float32"), inplace_indices=[0])
            R.output(b)
        return b


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        FoldConstant(),
    ]
    the_pass = passes[0]

    target = tvm.target.Target({"kind": "llvm", "opt-level": 0})
    machine = relax.VirtualMachine(relax.build(apply(mod), target), tvm.cpu())
    first, second = machine["main"]().numpy().copy(), machine["main"]().numpy()
    np.testing.assert_array_equal(second, first)

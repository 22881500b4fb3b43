# SpecializePrimFuncBasedOnCallSite: a call_tir with an argument that is no tensor: 'Expected Tensor struct Info'
#
# pass: SpecializePrimFuncBasedOnCallSite
# oracle: crash
# fingerprint: ["crash", "SpecializePrimFuncBasedOnCallSite", "InternalError", "Check failed: (ty->IsInstance<TensorTypeNode>()) is false: Expected Tensor struct Info for call :<node>"]
# tvm: fails on 0.26.0, 0.27.0.post1
# fails with: InternalError: Check failed: (ty->IsInstance<TensorTypeNode>()) is false: Expected Tensor struct Info for call :<node>
# promise: docstring: 'updates the var_buffer mapping of PrimFunctions from the call_tir info'; docs/errors.rst: 'Internal check failures often indicate that TVM reached a state that the implementation did not expect'

import tvm
from tvm import relax
from tvm.relax.transform import SpecializePrimFuncBasedOnCallSite
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def fill(n: T.int64, a: T.handle):
        m = T.int64()
        A = T.match_buffer(a, (m,), "float32")
        for i in range(m):
            A[i] = T.Cast("float32", n)

    @R.function
    def main(x: R.Tensor(("n",), "float32")) -> R.Tensor(("n",), "float32"):
        n = T.int64()
        return R.call_tir(mod.fill, (n,), out_ty=R.Tensor((n,), "float32"))


def apply(mod):
    return SpecializePrimFuncBasedOnCallSite()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    apply(mod)

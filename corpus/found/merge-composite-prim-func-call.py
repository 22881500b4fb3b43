# MergeCompositeFunctions: a direct call of a PrimFunc, as LegalizeOps makes for relax.inspect.tensor_dtype_bits: 'Cannot treat type `tirx.PrimFunc` as type `relax.expr.Function`'

import tvm
from tvm.relax.transform import MergeCompositeFunctions
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def _get_tensor_dtype_bits(dlpack_handle: T.handle) -> T.uint8:
        value: T.let[T.uint8] = T.tvm_struct_get(dlpack_handle, 0, 6, "uint8")
        return value

    @R.function(private=True)
    def composite(x0: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        R.func_attr({"Composite": "tensorrt.add", "Primitive": True})
        return x0

    @R.function
    def main(x0: R.Tensor((), dtype="float32")) -> R.Tuple(R.Tensor((), dtype="float32")):
        cls = mod
        with R.dataflow():
            gv1: T.uint8 = cls._get_tensor_dtype_bits(x0)
            R.output(gv1)
        return (x0,)


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        MergeCompositeFunctions(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

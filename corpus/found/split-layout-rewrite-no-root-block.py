# SplitLayoutRewritePreproc: a PrimFunc without a root block, as LegalizeOps makes for relax.inspect.tensor_byte_offset

import tvm
from tvm.relax.transform import SplitLayoutRewritePreproc
from tvm.script import ir as I
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def _get_tensor_byte_offset(dlpack_handle: T.handle) -> T.int64:
        byte_offset: T.let[T.uint64] = T.tvm_struct_get(dlpack_handle, 0, 8, "uint64")
        return byte_offset


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        SplitLayoutRewritePreproc(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

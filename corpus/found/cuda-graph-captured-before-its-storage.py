# ValueError: Var storage is not defined.

import tvm
from tvm import relax
from tvm.relax.transform import RewriteCUDAGraph
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def read(a: T.Buffer((T.int64(2),), "float32")):
        T.evaluate(a[0])

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"relax.force_pure": True})
        cls = mod
        _ = cls.read(R.const([1.0, 1.0], "float32"))
        storage = R.memory.alloc_storage(R.shape([8]), 0, "global", "float32")
        y = R.memory.alloc_tensor(storage, 0, R.shape([2]), "float32")
        return x


if __name__ == "__main__":
    with tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        result = RewriteCUDAGraph()(mod)
    relax.analysis.well_formed(result)

# OptimizeLayoutTransform: a call of a PrimFunc without operator_name between two layout_transforms raises a KeyError

from tvm.relax.transform import OptimizeLayoutTransform
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def kernel(A: T.Buffer((1, 2, 1, 1), "int64", layout=None), add_one: T.Buffer((1, 2, 1, 1), "int64", layout=None)):
        T.evaluate(0)

    @R.function
    def main(x: R.Tensor((1, 1, 2, 1), dtype="int64")) -> R.Tensor((1, 2, 1, 1, 2), dtype="int64"):
        cls = mod
        gv: R.Tensor((1, 2, 1, 1), dtype="int64") = R.layout_transform(x, index_map=T.index_map(lambda n, ch, h, w: (n, h, w, ch)), pad_value=None)
        gv1 = R.call_tir(cls.kernel, (gv,), out_ty=R.Tensor((1, 2, 1, 1), dtype="int64"))
        gv2: R.Tensor((1, 2, 1, 1, 2), dtype="int64") = R.layout_transform(gv1, index_map=T.index_map(lambda n, ch, h, w: (n // 2, ch, h, w, n % 2)), pad_value=None)
        return gv2


if __name__ == "__main__":
    OptimizeLayoutTransform()(mod)

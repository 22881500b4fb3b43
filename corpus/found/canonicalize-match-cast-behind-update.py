# CanonicalizeBindings: a value is computed behind the call_tir_inplace that overwrites its operand

from tvm.relax.transform import CanonicalizeBindings
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @T.prim_func(private=True)
    def clear(A: T.Buffer((2,), "int32")):
        for i in range(2):
            A[i] = 0

    @R.function
    def main(x: R.Tensor((2,), dtype="int32")):
        cls = mod
        with R.dataflow():
            lv = R.negative(x)
            gv = R.call_tir_inplace(cls.clear, (x,), out_ty=R.Tensor((2,), "int32"), inplace_indices=[0])
            gv1 = R.match_cast(lv, R.Tensor(dtype="int32", ndim=1))
            R.output(gv, gv1)
        return (gv1, gv)


if __name__ == "__main__":
    text = CanonicalizeBindings()(mod)["main"].script()
    assert text.index("R.negative(") < text.index("R.call_tir_inplace("), f"the order is lost:\n{text}"

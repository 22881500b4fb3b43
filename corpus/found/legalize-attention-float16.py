# the result of a public function has another type, since relax.nn.attention has

import tvm
from tvm import relax
from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x0: R.Tensor((1, 4, 2, 4), dtype="float16"), x1: R.Tensor((1, 3, 2, 4), dtype="float16")) -> R.Tensor((1, 4, 2, 4), dtype="float16"):
        with R.dataflow():
            gv12: R.Tensor((1, 4, 2, 4), dtype="float16") = R.nn.attention(x0, R.const([[[[-3.0, -1.0, 1.0, 3.0], [-2.0, 0.0, 2.0, -3.0]], [[-1.0, 1.0, 3.0, -2.0], [0.0, 2.0, -3.0, -1.0]], [[1.0, 3.0, -2.0, 0.0], [2.0, -3.0, -1.0, 1.0]]]], "float16"), x1, scale=T.float32(0.5), causal_mask="BottomRight", window_size=None)
            R.output(gv12)
        return gv12


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LegalizeOps(),
    ]
    the_pass = passes[0]

    def public(mod):
        return {
            gvar.name_hint: func
            for gvar, func in mod.functions_items()
            if func.attrs is not None and "global_symbol" in func.attrs
        }


    before, after = public(mod), public(apply(mod))
    for name, func in before.items():
        new = after[name]
        assert len(func.params) == len(new.params), f"{name}: another number of parameters"
        if not isinstance(func, relax.Function):
            continue
        params = [relax.FuncType([p.ty for p in f.params], relax.AnyType()) for f in (func, new)]
        tvm.ir.assert_structural_equal(*params, map_free_vars=True)
        assert new.is_pure or not func.is_pure, f"{name} becomes impure"
        known = relax.analysis.type_base_check(func.ret_ty, new.ret_ty)
        assert int(known) == 3, f"{name} returns {func.ret_ty} before and {new.ret_ty} after"

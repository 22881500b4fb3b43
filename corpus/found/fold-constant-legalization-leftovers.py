# ill-formed: GlobalVar I.GlobalVar("shape_func") is not defined.

import tvm
from tvm import relax
from tvm.relax.transform import FoldConstant
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function(private=True)
    def func_1(x3: R.Tensor((3, 4, 4), dtype="float32")) -> R.Tensor(dtype="float32", ndim=3):
        with R.dataflow():
            gv22: R.Tensor(dtype="float32", ndim=3) = R.dynamic_strided_slice(x3, R.const([-1, 0, 0], "int64"), R.const([-9, 1, 9], "int64"), R.const([-1, 1, 1], "int64"))
            R.output(gv22)
        return gv22


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        FoldConstant(),
    ]
    the_pass = passes[0]

    import tvm_ffi

    result = apply(mod)
    relax.analysis.well_formed(result)
    tvm.s_tir.analysis.verify_well_formed(result)
    functions = {gvar.name_hint: gvar for gvar in result.functions}
    for gvar, func in result.functions_items():
        symbol = None if func.attrs is None else func.attrs.get("global_symbol")
        assert symbol in (None, gvar.name_hint), f"{gvar}: the global_symbol is {symbol!r}"
        used = []
        tvm_ffi.structural_walk(func, (tvm.ir.GlobalVar, used.append))
        for other in used:
            defined = functions.get(other.name_hint)
            assert defined is not None and defined.same_as(other), f"{gvar} uses {other}, no function"

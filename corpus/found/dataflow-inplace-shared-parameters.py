# DataflowUseInplaceCalls: two calls that share one legalization get two in-place PrimFuncs with the same parameters: 'multiple definitions of variable'

import tvm
from tvm import relax
from tvm.relax.transform import DataflowUseInplaceCalls
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def loss(x0: R.Tensor((3, 3), dtype="float32"), x1: R.Tensor((3, 3), dtype="float32")) -> R.Tensor((3, 3), dtype="float32"):
        with R.dataflow():
            lv0: R.Tensor((3, 3), dtype="float32") = R.cumsum(x0, axis=0, dtype=None, exclusive=False)
            lv2: R.Tensor((3, 3), dtype="float32") = R.add(lv0, lv0)
            lv3: R.Tensor((3, 3), dtype="float32") = R.add(lv2, x1)
            R.output(lv3)
        return lv3


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        DataflowUseInplaceCalls(),
    ]
    the_pass = passes[0]

    import tvm_ffi

    result = apply(mod)
    relax.analysis.well_formed(result)
    new, old = tvm.s_tir.analysis, tvm.tirx.analysis
    (new if hasattr(new, "verify_well_formed") else old).verify_well_formed(result)
    functions = {gvar.name_hint: gvar for gvar in result.functions}
    for gvar, func in result.functions_items():
        symbol = None if func.attrs is None else func.attrs.get("global_symbol")
        assert symbol in (None, gvar.name_hint), f"{gvar}: the global_symbol is {symbol!r}"
        used = []
        if hasattr(tvm_ffi, "structural_walk"):  # since TVM 0.26
            tvm_ffi.structural_walk(func, (tvm.ir.GlobalVar, used.append))
        for other in used:
            defined = functions.get(other.name_hint)
            assert defined is not None and defined.same_as(other), f"{gvar} uses {other}, no function"

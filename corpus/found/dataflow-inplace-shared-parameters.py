# DataflowUseInplaceCalls: two calls that share one legalization get two in-place PrimFuncs with the same parameters: 'multiple definitions of variable'

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import DataflowUseInplaceCalls
from tvm.script import relax as R

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

shape = relax.ShapeExpr([3, 3])
ty = TensorType(shape, "float32")
ty_1 = TensorType((3, 3), "float32")
ty_2 = TensorType((3, 3), "float32")
loss_gv = typed(tvm.ir.GlobalVar("loss"), FuncType([ty, ty_1], ty_2))
x0 = relax.Var("x0", ty)
x1 = relax.Var("x1", ty_1)
lv0 = relax.DataflowVar("lv0", TensorType(shape, "float32"))
lv2 = relax.DataflowVar("lv2", R.Tensor((3, 3), "float32"))
lv3 = relax.Var("lv3", ty_2)
loss = relax.Function(
    [x0, x1],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(lv0, op("cumsum", [x0], "ScanopAttrs", axis=0, dtype=None, exclusive=False)),
            bind(lv2, relax.op.add(lv0, lv0)),
            bind(lv3, relax.op.add(lv2, x1)),
        ])],
        lv3,
    ),
    type_of(lv3),
    True,
    DictAttrs({"global_symbol": "loss"}),
)
set_type(loss.body, type_of(lv3))

mod = tvm.IRModule({loss_gv: loss})


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

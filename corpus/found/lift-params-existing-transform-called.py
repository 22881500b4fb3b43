# ill-formed: GlobalVar I.GlobalVar("main_transform_params") is not defined.

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import LiftTransformParams
from tvm.script import relax as R

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

ty = TensorType((2,), "float32")
ty_1 = TensorType((2,), "float32")
ty_2 = TupleType([ty, ty_1])
func_gv = tvm.ir.GlobalVar("func")
x1 = relax.Var("x1", R.Tensor((2,), "float32"))
lv5 = relax.Var("lv5", ty_2)
ty_3 = TupleType([ty, ty_1])
main_transform_params_gv = typed(
    tvm.ir.GlobalVar("main_transform_params"),
    FuncType([ty_3], ty_2),
)
func = relax.Function(
    [x1],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(lv5, relax.Call(
            main_transform_params_gv,
            [relax.Tuple([x1, x1])],
        ))])],
        lv5,
    ),
    type_of(lv5),
)
set_type(func.body, type_of(lv5))

shape = relax.ShapeExpr([4, 4])
ty_4 = TensorType(shape, "float64")
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([ty_4], TensorType(shape, "float64")))
x0 = relax.Var("x0", ty_4)
main = relax.Function([x0], relax.SeqExpr([], x0), type_of(x0), True, DictAttrs(
    {"num_input": 0, "global_symbol": "main"},
))
set_type(main.body, type_of(x0))

params0 = relax.Var("params0", ty_3)
main_transform_params = relax.Function(
    [params0],
    relax.SeqExpr([], params0),
    type_of(params0),
    True,
    DictAttrs({"global_symbol": "main_transform_params"}),
)
set_type(main_transform_params.body, type_of(params0))

mod = tvm.IRModule({
    func_gv: func,
    main_gv: main,
    main_transform_params_gv: main_transform_params,
})
set_type(func_gv, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LiftTransformParams(),
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

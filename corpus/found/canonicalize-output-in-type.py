# CanonicalizeBindings: an output of a dataflow block that a type outside of the block names becomes a DataflowVar

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import CanonicalizeBindings

ShapeType = getattr(relax, "ShapeStructInfo", relax.ShapeType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

x0 = relax.Var("x0", TensorType(None, None, ndim=-1))
gv14 = relax.Var("gv14", ShapeType(ndim=-1))
gv15 = relax.Var("gv15", TensorType(gv14, None))
func = relax.Function(
    [x0],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(gv14, op("shape_of", [x0])),
            bind(gv15, op("reshape", [x0, gv14])),
        ])],
        gv15,
    ),
    TensorType(None, None, ndim=-1),
    True,
    DictAttrs({"global_symbol": "func"}),
)
set_type(func.body, type_of(gv15))

mod = tvm.IRModule({"func": func})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        CanonicalizeBindings(),
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

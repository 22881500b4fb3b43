# LegalizeOps: quantize with a scale of rank 3 raises a ValueError, though its type is inferred

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

ty = R.Tensor((2, 2, 2), "float32")
ty_1 = R.Tensor((2, 2, 2), "int8")
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([ty], ty_1))
x = relax.Var("x", ty)
gv = relax.Var("gv", ty_1)
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(gv, typed(
            op(
                "quantize",
                [x, x, relax.const(1, "int8")],
                "QuantizeAttrs",
                out_dtype="int8",
                axis=-1,
            ),
            R.Tensor((2, 2, 2), "int8"),
        ))])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({main_gv: main})

if __name__ == "__main__":
    LegalizeOps()(mod)

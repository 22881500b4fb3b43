# roi_align of float16 becomes float32

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

x = relax.Var("x", R.Tensor((2, 2, 2, 2), "int64"))
y = relax.Var("y", R.Tensor((2, 5), "int64"))
gv = relax.Var("gv", R.Tensor((2, 2, 2, 2), "int64"))
main = relax.Function(
    [x, y],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, op(
            "vision.roi_align",
            [x, y],
            "ROIAlignAttrs",
            pooled_size=[2, 2],
            spatial_scale=1.0,
            sample_ratio=-1,
            aligned=False,
            layout="NCHW",
            mode="avg",
        ))])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    before, after = mod['main'], LegalizeOps()(mod)['main']
    known = relax.analysis.type_base_check(before.ret_ty, after.ret_ty)
    assert int(known) == 3, f"returned {before.ret_ty}, returns {after.ret_ty}"

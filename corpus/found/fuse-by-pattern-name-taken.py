# FuseOpsByPattern: an annotated function whose name is taken gets another, and its global_symbol stays

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.dpl import is_const, is_op, wildcard
from tvm.relax.transform import FuseOpsByPattern
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

x = relax.Var("x", R.Tensor((2, 2, 2, 2, 2), "float32"))
fused_relax_add_cutlass = relax.Function([x], relax.SeqExpr([], x), type_of(x), True, DictAttrs(
    {"global_symbol": "fused_relax_add_cutlass"},
))
set_type(fused_relax_add_cutlass.body, type_of(x))

x_1 = relax.Var("x", R.Tensor((2, 2), "float32"))
y = relax.Var("y", R.Tensor((2,), "float32"))
gv = relax.Var("gv", R.Tensor((2, 2), "float32"))
f = relax.Function(
    [x_1, y],
    relax.SeqExpr([relax.DataflowBlock([bind(gv, relax.op.add(x_1, y))])], gv),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "f"}),
)
set_type(f.body, type_of(gv))

mod = tvm.IRModule({"fused_relax_add_cutlass": fused_relax_add_cutlass, "f": f})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    relax.analysis.well_formed(FuseOpsByPattern([('cutlass.add', is_op('relax.add')(wildcard(), wildcard()))], annotate_codegen=True)(mod))

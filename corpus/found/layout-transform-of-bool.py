# layout_transform of bool with padding: ScheduleError

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, make_node
from tvm.relax.transform import LegalizeOps
from tvm.script import relax as R, tirx as T

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

x = relax.Var("x", R.Tensor((2,), "bool"))
gv = relax.Var("gv", R.Tensor((1, 2), "bool"))
i = tirx.Var("i", "int64")
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, relax.op.layout_transform(x, make_node(
            "tirx.IndexMap",
            initial_indices=[i],
            final_indices=[tirx.FloorDiv(i, T.int64(2)), tirx.FloorMod(i, T.int64(2))],
            inverse_index_map=None,
        )))])],
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
    LegalizeOps()(mod)

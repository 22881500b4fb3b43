# FuseOps: a copy of x, before x is overwritten, is taken behind it

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import FuseOps
from tvm.script import relax as R, tirx as T

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info


def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)


@T.prim_func(private=True, s_tir=True)
def copy(x: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
    T.func_attr({"op_pattern": 0})
    for i in range(T.int64(2)):
        with T.sblock("copy"):
            v = T.axis.spatial(T.int64(2), i)
            y[v] = x[v]


@T.prim_func(private=True, s_tir=True)
def clear(x: T.Buffer((T.int64(2),), "float32"), y: T.Buffer((T.int64(2),), "float32")):
    T.func_attr({"op_pattern": 0})
    for i in range(T.int64(2)):
        with T.sblock("clear"):
            v = T.axis.spatial(T.int64(2), i)
            x[v] = T.float32(0)


ty = R.Tensor((2,), "float32")
copy_gv, clear_gv = tvm.ir.GlobalVar("copy"), tvm.ir.GlobalVar("clear")
for gvar, func in ((copy_gv, copy), (clear_gv, clear)):
    set_type(gvar, type_of(func))
x = relax.Var("x", ty)
lv = relax.DataflowVar("lv", ty)
old = relax.Var("old", ty)
inplace = relax.op.call_tir_inplace(clear_gv, relax.Tuple([x, lv]), [0, 1], [ty, ty])
new = relax.Var("new", R.Tuple(ty, ty))
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(lv, relax.op.call_tir(copy_gv, [x], ty)),
            bind(old, relax.op.call_tir(copy_gv, [x], ty)),
            bind(new, inplace),
        ])],
        old,
    ),
    ty,
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, ty)

mod = tvm.IRModule({"main": main, copy_gv: copy, clear_gv: clear})
set_type(mod.get_global_var("main"), type_of(main))

if __name__ == "__main__":
    results = []
    for one in (mod, FuseOps(fuse_opt_level=4)(mod)):
        machine = relax.VirtualMachine(relax.build(one, "llvm"), tvm.cpu())
        results.append(machine["main"](tvm.runtime.tensor(np.array([1, 2], "float32"))).numpy())
    before, after = results
    np.testing.assert_array_equal(after, before)

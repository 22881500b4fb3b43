# TVMScript: a symbolic dim of int64 in a parameter of a PrimFunc is printed as a string, and parsed as int32

import os
import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.script import tirx as T

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def buffer(shape, dtype, name, **options):
    shape = [T.int64(dim) if isinstance(dim, int) else dim for dim in shape]
    return tirx.decl_buffer(shape, dtype, name, layout=None, **options)

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

ty = TensorType((2, 2), "float32")
gv = relax.Var("gv", ty)
n = tirx.Var("n", "int64")
zeros_gv = tvm.ir.GlobalVar("zeros")
main = relax.Function(
    [],
    relax.SeqExpr([relax.BindingBlock([bind(gv, relax.op.call_tir(zeros_gv, [], ty))])], gv),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

T_full = buffer([n, 2], "float32", "T_full")
zeros = prim_func([T_full], tirx.Evaluate(0))

mod = tvm.IRModule({"main": main, zeros_gv: zeros})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    result = mod
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)

# FoldConstant: zeros of the shape (-1,), whose type is inferred, raises std::bad_alloc

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import FoldConstant
from tvm.script import relax as R

set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

shape = relax.ShapeExpr([-1])
gv = relax.Var("gv", R.Tensor((-1,), "int64"))
main = relax.Function(
    [],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(gv, op(
            "zeros",
            [shape],
            "InitAttrs",
            dtype=tvm.DataType("int64"),
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
    with tvm.target.Target("llvm"):
        import resource

        resource.setrlimit(resource.RLIMIT_DATA, (3072 << 20, 3072 << 20))
        FoldConstant()(mod)

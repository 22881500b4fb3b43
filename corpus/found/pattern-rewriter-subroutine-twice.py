# PatternMatchingRewriter: two rules with a function of one name: Duplicate global function name

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, make_node
from tvm.relax import dpl
from tvm.script import relax as R, tirx as T


def relu_module(shape: tuple[int, ...], dtype: str) -> tvm.IRModule:
    """The function that comes with it bears the name of the one that comes with another rule."""
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(shape, dtype))
    with builder.function("squared", [x], private=True):
        builder.emit_func_output(builder.emit(relax.op.maximum(x, relax.const(0, dtype))))
    squared = builder.get().get_global_var("squared")
    for name in ("pattern", "replacement"):
        x = relax.Var("x", relax.TensorType(shape, dtype))
        with builder.function(name, [x]):
            with builder.dataflow():
                result = relax.op.nn.relu(x) if name == "pattern" else relax.Call(squared, [x])
                output = builder.emit_output(result)
            builder.emit_func_output(output)
    return builder.finalize()


TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

shape = relax.ShapeExpr([2, 3])
x = relax.Var("x", TensorType(
    make_node(
        "relax.expr.ShapeExpr",
        ty=type_of(shape),
        values=[T.int64(2), T.int64(3)],
        span=None,
    ),
    "float32",
))
gv = relax.Var("gv", R.Tensor((2, 3), "float32"))
f = relax.Function(
    [x],
    relax.SeqExpr([relax.BindingBlock([bind(gv, relax.op.nn.relu(x))])], gv),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "f"}),
)
set_type(f.body, type_of(gv))

shape_1 = relax.ShapeExpr([4, 3])
x_1 = relax.Var("x", TensorType(
    make_node(
        "relax.expr.ShapeExpr",
        ty=type_of(shape_1),
        values=[T.int64(4), T.int64(3)],
        span=None,
    ),
    "float16",
))
gv_1 = relax.Var("gv", R.Tensor((4, 3), "float16"))
main = relax.Function(
    [x_1],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(gv_1, typed(
            relax.op.nn.relu(x_1),
            R.Tensor((4, 3), "float16"),
        ))])],
        gv_1,
    ),
    type_of(gv_1),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv_1))

mod = tvm.IRModule({"f": f, "main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        dpl.PatternMatchingRewriter.from_module(relu_module((2, 3), 'float32')) | dpl.PatternMatchingRewriter.from_module(relu_module((4, 3), 'float16')),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

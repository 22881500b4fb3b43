# rewrite_bindings: a constant operand moves the others: the pattern matches a symbolic variable

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax import dpl
from tvm.script import relax as R


def parallel_matmuls() -> tuple[object, object]:
    """Three calls of one operand, as in the docstring of `rewrite_bindings`."""
    with dpl.PatternContext() as context:
        x, weights = dpl.wildcard(), [dpl.wildcard() for _ in range(2)]
        products = [dpl.is_op("relax.matmul")(x, weight) for weight in weights]

    def rewritten(
        found: dict[relax.Expr, relax.Expr], bound: dict[relax.Expr, relax.Expr]
    ) -> dict[relax.Expr, relax.Expr]:
        given = [found[weight] for weight in weights]
        types = [found[x].ty, *(each.ty for each in given), *(found[p].ty for p in products)]
        if any(ty.ndim != 2 or ty.dtype is None or ty.shape is None for ty in types):
            return {}
        if len({str(ty.dtype) for ty in types}) > 1:
            return {}
        width = types[1].shape[1]
        if not all(isinstance(ty.shape[1], tvm.tirx.IntImm) for ty in types[1:3]):
            return {}
        product = relax.op.matmul(found[x], relax.op.concat(given, 1))
        parts = relax.op.split(product, [int(width)], 1)
        return {found[each]: relax.TupleGetItem(parts, i) for i, each in enumerate(products)}

    return context, rewritten


FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

n = tirx.Var("n", "int64")
ty = TensorType((n, 2), "float32")
ty_1 = TensorType((2, n), "float32")
ty_2 = TensorType((2, 2, 2, n), "float32")
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([ty, ty_1], ty_2))
x = relax.Var("x", ty)
y = relax.Var("y", ty_1)
gv = relax.Var("gv", ty_2)
gv1 = relax.Var("gv1", R.Tensor((2, 2), "float32"))
main = relax.Function(
    [x, y],
    relax.SeqExpr(
        [relax.BindingBlock([
            relax.VarBinding(gv, typed(
                op(
                    "matmul",
                    [relax.const(np.full((2, 2, 2, 2), 1.0, "float32"), "float32"), y],
                    "MatmulAttrs",
                    out_dtype=None,
                ),
                R.Tensor((2, 2, 2, n), "float32"),
            )),
            bind(gv1, op("matmul", [y, x], "MatmulAttrs", out_dtype=None)),
        ])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({main_gv: main})

if __name__ == "__main__":
    relax.transform.function_pass(lambda func, mod, context: dpl.rewrite_bindings(*parallel_matmuls(), func), opt_level=0)(mod)

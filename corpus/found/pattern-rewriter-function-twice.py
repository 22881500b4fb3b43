# PatternMatchingRewriter: a rule that replaces a field of a tuple by a local function stands for it a second time

import tvm
from tvm import relax
from tvm.ir import Op, make_node
from tvm.relax import dpl


def concatenated_constant() -> tuple[object, object]:
    """A constant and something else in either order; what it finds stays as it is."""
    fields = dpl.is_tuple([dpl.is_const(), dpl.wildcard()], unordered=True)
    return dpl.is_op("relax.concat")(fields), lambda call, found: call



def field_of_tuple() -> tuple[object, object]:
    """A field of a tuple of two."""
    x = dpl.wildcard()
    pattern = dpl.is_tuple_get_item(dpl.is_tuple([x, dpl.wildcard()]), 0)
    return pattern, lambda call, found: found[x]


TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
StringImm = getattr(relax, "StringImm", None) or tvm.ir.StringImm
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

ty = TensorType((2,), "float32")
a = relax.Var("a", ty)
gv = relax.Var("gv", TupleType([]))
expr = relax.Function(
    [a],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(gv, typed(
            op("print", [StringImm("{}"), a]),
            TupleType([]),
        ))])],
        a,
    ),
    type_of(a),
    False,
)
set_type(expr.body, type_of(a))

x = relax.Var("x", ty)
gv1 = relax.Var("gv1", type_of(expr))
expr_1 = relax.Tuple([gv1, x])
gv2 = relax.Var("gv2", type_of(expr_1))
gv3 = relax.Var("gv3", type_of(expr))
f = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([
            relax.VarBinding(gv1, expr),
            relax.VarBinding(gv2, expr_1),
            relax.VarBinding(gv3, relax.TupleGetItem(gv2, 0)),
        ])],
        gv3,
    ),
    type_of(gv3),
)
set_type(f.body, type_of(gv3))

mod = tvm.IRModule({"f": f})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    dpl.PatternMatchingRewriter.from_pattern(*concatenated_constant()) | dpl.PatternMatchingRewriter.from_pattern(*field_of_tuple())(mod)

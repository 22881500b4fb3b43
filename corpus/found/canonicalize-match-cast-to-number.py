# CanonicalizeBindings: match_cast to a number: Explicit binding for symbolic variable

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import CanonicalizeBindings

AnyType = getattr(relax, "ObjectStructInfo", relax.ObjectType)
PrimType = getattr(relax, "PrimStructInfo", tvm.ir.PrimType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

x = relax.Var("x", AnyType())
number1 = relax.Var("number1", PrimType("int64"))
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([relax.MatchCast(number1, x, PrimType("int64"))])],
        number1,
    ),
    type_of(number1),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(number1))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    CanonicalizeBindings()(mod)

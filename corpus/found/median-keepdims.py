# median of all elements with keepdims has one axis only

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

x0 = relax.Var("x0", R.Tensor((2, 3), "float32"))
gv = relax.Var("gv", R.Tensor((1, 1), "float32"))
main = relax.Function(
    [x0],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(gv, op(
            "median",
            [x0],
            "StatisticalAttrs",
            axis=None,
            keepdims=True,
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


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        LegalizeOps(),
    ]
    the_pass = passes[0]

    def public(mod):
        return {
            gvar.name_hint: func
            for gvar, func in mod.functions_items()
            if func.attrs is not None and "global_symbol" in func.attrs
        }


    before, after = public(mod), public(apply(mod))
    for name, func in before.items():
        new = after[name]
        assert len(func.params) == len(new.params), f"{name}: another number of parameters"
        if not isinstance(func, relax.Function):
            continue
        params = [relax.FuncType([p.ty for p in f.params], relax.AnyType()) for f in (func, new)]
        tvm.ir.assert_structural_equal(*params, map_free_vars=True)
        assert new.is_pure or not func.is_pure, f"{name} becomes impure"
        known = relax.analysis.type_base_check(func.ret_ty, new.ret_ty)
        assert int(known) == 3, f"{name} returns {func.ret_ty} before and {new.ret_ty} after"

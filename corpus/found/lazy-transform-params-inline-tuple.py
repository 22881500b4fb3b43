# a transform_params function still returns a tuple of weights

import tvm
import tvm.relax.op.vm
from tvm import relax
from tvm.ir import DictAttrs, make_node
from tvm.relax.transform import LazyTransformParams
from tvm.script import relax as R

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

ty = TensorType((3, 3), "float32")
ty_1 = TupleType([ty])
ty_2 = TupleType([R.Tensor((3, 3), "float32")])
main_transform_params_gv = typed(
    tvm.ir.GlobalVar("main_transform_params"),
    FuncType([ty_1], ty_2),
)
params0 = relax.Var("params0", ty_1)
gv0 = relax.Var("gv0", ty)
expr = make_node("ir.Tuple" if hasattr(tvm.ir, "Tuple") else "relax.expr.Tuple", ty=ty_2, fields=[gv0], span=None)
main_transform_params = relax.Function(
    [params0],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(gv0, relax.TupleGetItem(params0, 0))])],
        expr,
    ),
    type_of(expr),
    True,
    DictAttrs({"global_symbol": "main_transform_params"}),
)
set_type(main_transform_params.body, type_of(expr))

mod = tvm.IRModule({main_transform_params_gv: main_transform_params})


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    expressions = ['LazyTransformParams()']
    passes = [
        LazyTransformParams(),
    ]
    the_pass = passes[0]

    from relaxfuzz.oracles.catalogue import catalogue
    from relaxfuzz.oracles.passcall import PassCall

    call = PassCall(expressions[0])
    wrong = catalogue[call.name].post(mod, apply(mod), call)
    assert wrong is None, wrong

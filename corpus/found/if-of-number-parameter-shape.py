# passes that rewrite functions: behind an If, a shape that names a number of the parameters is unknown: 'Back optional access'

import tvm
from tvm import relax
from tvm.ir import DictAttrs
from tvm.relax.transform import ToNonDataflow
from tvm.script import relax as R

PrimType = getattr(relax, "PrimStructInfo", tvm.ir.PrimType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info


def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)


def branch(name, value):
    var = relax.Var(name, ty)
    seq = relax.SeqExpr([relax.BindingBlock([bind(var, value)])], var)
    set_type(seq, ty)
    return seq


n = relax.Var("n", PrimType("int64"))
cond = relax.Var("cond", R.Tensor((), "bool"))
ty = R.Tensor((n, n), "float32")
x = relax.Var("x", ty)
y = relax.Var("y", ty)
z = relax.Var("z", ty)
zeros = relax.op.zeros(relax.ShapeExpr([n, n]), "float32")
either = relax.If(cond, branch("y1", relax.op.exp(x)), branch("y2", relax.op.negative(x)))
main = relax.Function(
    [n, cond],
    relax.SeqExpr(
        [relax.BindingBlock([bind(x, zeros), bind(y, either), bind(z, relax.op.eye_like(y))])], z
    ),
    R.Tensor(dtype="float32", ndim=2),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, ty)
mod = tvm.IRModule({"main": main})

if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    ToNonDataflow()(mod)

# SplitCallTIRByPattern: the variable of an If gets a new type, and a call whose kernel matches no pattern keeps the old one

import tvm
from tvm import relax, te, tirx
from tvm.ir import DictAttrs
from tvm.relax.transform import SplitCallTIRByPattern
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


def elementwise(f):
    x = te.placeholder((tirx.Var("d", "int64"),), "float32", name="x")
    return te.create_prim_func([x, te.compute(x.shape, lambda i: f(x[i]), name="y")])


n = relax.Var("n", PrimType("int64"))
cond = relax.Var("cond", R.Tensor((), "bool"))
ty = R.Tensor((n,), "float32")
y = relax.Var("y", ty)
z = relax.Var("z", ty)
kernel = tvm.ir.GlobalVar("kernel")
zeros = relax.op.zeros(relax.ShapeExpr([n]), "float32")
ones = relax.op.ones(relax.ShapeExpr([n]), "float32")
either = relax.If(cond, branch("y1", zeros), branch("y2", ones))
main = relax.Function(
    [n, cond],
    relax.SeqExpr(
        [relax.BindingBlock([bind(y, either), bind(z, relax.op.call_tir(kernel, [y], ty))])], z
    ),
    R.Tensor(dtype="float32", ndim=1),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, ty)

mod = tvm.IRModule({"main": main, kernel: elementwise(lambda v: v + 1).without_attr("global_symbol")})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod):
    return SplitCallTIRByPattern([elementwise(lambda v: v * v)], lambda matches: [])(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))

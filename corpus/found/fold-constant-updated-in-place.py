# the operand that call_tir_inplace overwrites becomes a constant: each call of the built function finds what the one before left there

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import FoldConstant
from tvm.script import relax as R, tirx as T

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

bump_gv = tvm.ir.GlobalVar("bump")
A = tirx.decl_buffer([3], "float32", "A", layout=make_node(
    "tirx.TileLayout",
    shard=[make_node(
        "tirx.Iter",
        extent=T.int32(3),
        stride=T.int32(1),
        axis=tirx.layout.Axis.get("m"),
    )],
    replica=[],
    offset={},
))
i = tirx.Var("i", "int32")
bump = prim_func(
    [A],
    tirx.For(i, 0, 3, tirx.ForKind.SERIAL, tirx.BufferStore(
        A,
        tirx.Add(A[i], T.float32(1.0)),
        [i],
    )),
    attrs=DictAttrs({"tirx.noalias": True}),
)

ty = TensorType((3,), "float32")
shape = relax.ShapeExpr([3])
a = relax.DataflowVar("a", TensorType(shape, "float32"))
c = relax.DataflowVar("c", R.Tensor((3,), "float32"))
b = relax.Var("b", ty)
main = relax.Function(
    [],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(a, op("ones", [shape], "InitAttrs", dtype=tvm.DataType("float32"))),
            bind(c, relax.op.add(a, a)),
            bind(b, relax.Call(
                Op.get("relax.call_tir_inplace"),
                [bump_gv, relax.Tuple([c])],
                make_node("relax.attrs.CallTIRInplaceAttrs", inplace_indices=[0]),
                [ty],
            )),
        ])],
        b,
    ),
    type_of(b),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(b))

mod = tvm.IRModule({bump_gv: bump, "main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        FoldConstant(),
    ]
    the_pass = passes[0]

    target = tvm.target.Target({"kind": "llvm", "opt-level": 0})
    machine = relax.VirtualMachine(relax.build(apply(mod), target), tvm.cpu())
    first, second = machine["main"]().numpy().copy(), machine["main"]().numpy()
    np.testing.assert_array_equal(second, first)

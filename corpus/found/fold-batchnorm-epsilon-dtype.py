# TypeError: Binary operators must have the same datatype for both operands.  However, R.add(metadata["ir.GenericConst"][0], T.float32(1.0000000000000001e-05))

import json
import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import FoldBatchnormToConv2D
from tvm.script import relax as R

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
constant = getattr(tvm.ir, "GenericConst", None) or relax.Constant
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def tensor(data):
    graph = {"root_index": 0, "nodes": [{"type": "ffi.Tensor", "data": data}]}
    return tvm.ir.load_json(json.dumps(graph))

ty = TensorType((1, 4, 8, 8), "float64")
x6 = relax.Var("x6", R.Tensor((1, 3, 8, 8), "float64"))
gv39 = relax.Var("gv39", ty)
ty_1 = TensorType((4,), "float64")
ty_2 = TensorType((4,), "float64")
gv40 = relax.Var("gv40", TupleType([ty, ty_1, ty_2]))
gv41 = relax.Var("gv41", ty)
func_2 = relax.Function(
    [x6],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(gv39, relax.Call(
                Op.get("relax.nn.conv2d"),
                [x6, relax.const(np.full((4, 3, 1, 1), 1.0, "float64"), "float64")],
                make_node(
                    "relax.attrs.Conv2DAttrs",
                    strides=[1, 1],
                    padding=[0, 0, 0, 0],
                    dilation=[1, 1],
                    groups=1,
                    data_layout="NCHW",
                    kernel_layout="OIHW",
                    out_layout="NCHW",
                    out_dtype=None,
                ),
            )),
            bind(gv40, relax.Call(
                Op.get("relax.nn.batch_norm"),
                [
                    gv39,
                    relax.const(np.array([3.0, 2.0, 1.0, 3.0], "float64"), "float64"),
                    relax.const(np.full((4,), 2.0, "float64"), "float64"),
                    constant(
                        tvm.runtime.tensor(np.array([1.0, 3.0, 2.0, 1.0], "float64")),
                        ty_1,
                    ),
                    constant(
                        tvm.runtime.tensor(np.array([2.0, 3.0, 1.0, 2.0], "float64")),
                        ty_2,
                    ),
                ],
                make_node(
                    "relax.attrs.BatchNormAttrs",
                    axis=1,
                    epsilon=1e-05,
                    center=True,
                    scale=True,
                    momentum=0.1,
                    training=False,
                ),
            )),
            relax.VarBinding(gv41, relax.TupleGetItem(gv40, 0)),
        ])],
        gv41,
    ),
    type_of(gv41),
    True,
    DictAttrs({"global_symbol": "func_2"}),
)
set_type(func_2.body, type_of(gv41))

mod = tvm.IRModule({"func_2": func_2})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        FoldBatchnormToConv2D(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

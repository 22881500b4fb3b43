# LegalizeOps: max_pool2d_backward of a gradient of rank 0, whose type is inferred, raises an InternalError

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import LegalizeOps

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
constant = getattr(tvm.ir, "GenericConst", None) or relax.Constant
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

ty = TensorType((), "float32")
ty_1 = TensorType((2, 2, 2, 2), "float32")
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([ty], ty_1))
x = relax.Var("x", ty)
gv = relax.Var("gv", ty_1)
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([bind(gv, op(
            "grad.max_pool2d_backward",
            [x, constant(tvm.runtime.tensor(np.full((2, 2, 2, 2), 1.0, "float32")), ty_1)],
            "Pool2DAttrs",
            pool_size=[1, 1],
            strides=[1, 1],
            dilation=[1, 1],
            padding=[0, 0, 0, 0],
            ceil_mode=False,
            count_include_pad=False,
            layout="NCHW",
            out_layout="NHWC",
        ))])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

mod = tvm.IRModule({main_gv: main})

if __name__ == "__main__":
    LegalizeOps()(mod)

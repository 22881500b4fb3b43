# ConvertLayout: repeat without an axis, behind a conv2d, gives the elements in another order

import numpy as np
import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import ConvertLayout
from tvm.script import relax as R

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

ty_x = TensorType((2, 2, 3, 3), "float32")
ty_w = TensorType((2, 2, 2, 2), "float32")
ty = TensorType((16,), "float32")
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([ty_x, ty_w], ty))
x = relax.Var("x", ty_x)
w = relax.Var("w", ty_w)
lv = relax.DataflowVar("lv", R.Tensor((2, 2, 2, 2), "float32"))
gv = relax.Var("gv", ty)
main = relax.Function(
    [x, w],
    relax.SeqExpr(
        [relax.DataflowBlock([
            relax.VarBinding(lv, typed(
                op(
                    "nn.conv2d",
                    [x, w],
                    "Conv2DAttrs",
                    strides=[1, 1],
                    padding=[0, 0, 0, 0],
                    dilation=[1, 1],
                    groups=1,
                    data_layout="NCHW",
                    kernel_layout="OIHW",
                    out_layout="NCHW",
                    out_dtype=None,
                ),
                R.Tensor((2, 2, 2, 2), "float32"),
            )),
            bind(gv, op("repeat", [lv], "RepeatAttrs", repeats=1, axis=None)),
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
    the_pass = ConvertLayout({'relax.nn.conv2d': ['NHWC', 'OHWI']})
    x, w = np.arange(36.0).reshape(2, 2, 3, 3), np.arange(16.0).reshape(2, 2, 2, 2)
    args = [tvm.runtime.tensor(each.astype("float32")) for each in (x, w)]
    results = []
    for one in (mod, the_pass(mod)):
        machine = relax.VirtualMachine(relax.build(one, "llvm"), tvm.cpu())
        results.append(machine['main'](*args).numpy())
    before, after = results
    np.testing.assert_allclose(after, before, rtol=2e-05, atol=0.0004, strict=True)

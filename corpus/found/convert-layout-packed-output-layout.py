# ConvertLayout: a convolution whose out_layout is packed, and its operands are not, fails an internal check

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

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

ty = TensorType((2, 2, 2, 2, 2), "float32")
ty_1 = TensorType((2, 2, 2, 2, 1, 2), "float32")
x = relax.Var("x", ty)
gv = relax.Var("gv", R.Tensor((3, 3, 3, 2, 1, 2), "float32"))
main = make_node(
    "relax.expr.Function",
    ty=FuncType([ty], ty_1),
    attrs=DictAttrs({"global_symbol": "main"}),
    params=[x],
    body=typed(
        relax.SeqExpr(
            [relax.DataflowBlock([relax.VarBinding(gv, typed(
                op(
                    "nn.conv3d_transpose",
                    [x, x],
                    "Conv3DTransposeAttrs",
                    strides=[1, 1, 1],
                    padding=[0, 0, 0, 0, 0, 0],
                    output_padding=[0, 0, 0],
                    dilation=[1, 1, 1],
                    groups=1,
                    data_layout="NCDHW",
                    kernel_layout="IODHW",
                    out_layout="WDHNC2c",
                    out_dtype=None,
                ),
                R.Tensor((3, 3, 3, 2, 1, 2), "float32"),
            ))])],
            gv,
        ),
        ty_1,
    ),
    ret_ty=ty_1,
    is_pure=True,
    span=None,
)

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    ConvertLayout({}, layout_cb=lambda call: {'relax.nn.conv3d_transpose': ['NDHWC', 'IDHWO']})(mod)

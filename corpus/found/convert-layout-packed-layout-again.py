# ConvertLayout: a conv2d that has a packed layout already (NCHW4c) is compared with the unpacked layout

import tvm
from tvm import relax
from tvm.ir import Op, make_node
from tvm.relax.transform import ConvertLayout

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


ty = TensorType((4, 4, 4, 4), "float32")
ty_1 = TensorType((4, 4, 1, 1), "float32")
ty_2 = TensorType((4, 4, 4, 4), "float32")
func_gv = typed(tvm.ir.GlobalVar("func"), FuncType([ty, ty_1], ty_2))
x0 = relax.Var("x0", ty)
x1 = relax.Var("x1", ty_1)
lv2 = relax.Var("lv2", ty_2)
func = relax.Function(
    [x0, x1],
    relax.SeqExpr(
        [
            relax.DataflowBlock(
                [
                    bind(
                        lv2,
                        relax.Call(
                            Op.get("relax.nn.conv2d"),
                            [x0, x1],
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
                        ),
                    )
                ]
            )
        ],
        lv2,
    ),
    type_of(lv2),
)
set_type(func.body, type_of(lv2))

mod = tvm.IRModule({func_gv: func})


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ConvertLayout({"relax.nn.conv2d": ["NCHW4c", "OIHW4o"]}),
    ]
    the_pass = passes[0]

    once = apply(mod)
    twice = apply(once)
    relax.analysis.well_formed(twice)
    tvm.ir.assert_structural_equal(once, twice, map_free_vars=True)

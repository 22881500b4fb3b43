# ConvertLayout: InferLayoutSplit expects a tuple, but split into one section is a tensor

import tvm
from tvm import relax
from tvm.ir import Op, make_node
from tvm.relax.transform import ConvertLayout
from tvm.script import tirx as T

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info


def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)


ty = TensorType((2, 3), "int32")
gv4 = relax.Var("gv4", ty)
lv15 = relax.Var("lv15", ty)
func_1 = relax.Function(
    [gv4],
    relax.SeqExpr(
        [
            relax.DataflowBlock(
                [
                    bind(
                        lv15,
                        relax.Call(
                            Op.get("relax.split"),
                            [gv4],
                            make_node(
                                "relax.attrs.SplitAttrs",
                                indices_or_sections=T.int64(1),
                                axis=1,
                            ),
                        ),
                    )
                ]
            )
        ],
        lv15,
    ),
    type_of(lv15),
)
set_type(func_1.body, type_of(lv15))

mod = tvm.IRModule({"func_1": func_1})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ConvertLayout({"relax.nn.conv2d": ["NCHW", "OIHW"], "relax.nn.conv3d": ["NCDHW", "OIDHW"]}),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

# ConvertLayout: InferLayoutSplit expects a tuple, but split into one section is a tensor
#
# pass: ConvertLayout
# oracle: crash
# fingerprint: ["crash", "ConvertLayout", "InternalError", "Check failed: (out_tuple != nullptr) is false: Invalid Call"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: InternalError: Check failed: (out_tuple != nullptr) is false: Invalid Call
# promise: docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner';
#   docs/errors.rst: 'Internal check failures often indicate that TVM reached a state that the implementation did not expect'; docstring
#   of ConvertLayout: 'Automatic layout conversion pass', operators without a desired layout
#   included

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

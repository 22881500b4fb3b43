# ToMixedPrecision: the operand of layout_transform becomes float16, its pad_value stays float32

import tvm
from tvm import relax, tirx
from tvm.ir import Op, make_node
from tvm.relax.transform import ToMixedPrecision
from tvm.script import relax as R, tirx as T

prim_value = getattr(relax, "prim_value", None) or relax.PrimValue
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def op(name, args, kind=None, /, **attrs):
    attrs = kind and make_node("relax.attrs." + kind, **attrs)
    return relax.Call(Op.get("relax." + name), args, attrs)

def variables(dtype, *names):
    return [tirx.Var(name, dtype) for name in names]

x3 = relax.Var("x3", R.Tensor((4, 1, 3), "float32"))
v30 = relax.Var("v30", R.Tensor((1, 4, 1), "float32"))
lv31 = relax.DataflowVar("lv31", R.Tensor((1, 4, 1), "float32"))
lv32 = relax.Var("lv32", R.Tensor((1, 4, 1, 2), "float32"))
i, j, k = variables("int64", "i", "j", "k")
func_1 = relax.Function(
    [x3, v30],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(lv31, op(
                "nn.conv1d_transpose",
                [v30, x3],
                "Conv1DTransposeAttrs",
                strides=[1],
                padding=[1, 1],
                output_padding=[0],
                dilation=[1],
                groups=4,
                data_layout="NCW",
                kernel_layout="IOW",
                out_layout="NCW",
                out_dtype=None,
            )),
            bind(lv32, relax.op.layout_transform(
                lv31,
                make_node(
                    "tirx.IndexMap",
                    initial_indices=[i, j, k],
                    final_indices=[
                        tirx.FloorDiv(i, T.int64(2)),
                        j,
                        k,
                        tirx.FloorMod(i, T.int64(2)),
                    ],
                    inverse_index_map=None,
                ),
                prim_value(T.float32(0.0)),
            )),
        ])],
        lv32,
    ),
    type_of(lv32),
)
set_type(func_1.body, type_of(lv32))

mod = tvm.IRModule({"func_1": func_1})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    ToMixedPrecision(out_dtype='float16')(mod)

# TVMScript: a reducer whose results are chosen by "and" and "or", as that of argmax

import os
import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.script import tirx as T

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def prim_call(name, args, dtype):
    if name not in Op.list_op_names():
        name = name.replace("prim.", "tirx.")
    if hasattr(tvm.ir, "PrimExpr"):
        return tirx.Call(dtype, Op.get(name), args)
    return tvm.ir.Call(name, args, ret_ty=dtype)

argmax_gv = typed(tvm.ir.GlobalVar("argmax"), FuncType([], TupleType([]), False))
in_thread_lv19_red_temp_v0_shared = tirx.decl_buffer(
    [1],
    "int64",
    "in_thread_lv19_red_temp.v0_shared",
    strides=[1],
    scope="local",
    layout=None,
)
x0 = tirx.Var("x0", "int64")
x1 = tirx.Var("x1", "int32")
y0 = tirx.Var("y0", "int64")
y1 = tirx.Var("y1", "int32")
argmax = tirx.PrimFunc(
    [],
    tirx.SeqStmt([
        tirx.AllocBuffer(in_thread_lv19_red_temp_v0_shared),
        tirx.AttrStmt(
            make_node(
                "te.CommReducer",
                lhs=[x0, x1],
                rhs=[y0, y1],
                result=[
                    tirx.Select(
                        tirx.Or(tirx.GT(x1, y1), tirx.And(tirx.EQ(x1, y1), tirx.LT(x0, y0))),
                        x0,
                        y0,
                    ),
                    tirx.Select(tirx.GT(x1, y1), x1, y1),
                ],
                identity_element=[T.int64(-1), T.int32(-2147483648)],
                span=None,
            ),
            "reduce_scope",
            0,
            tirx.Evaluate(prim_call(
                "tirx.tvm_thread_allreduce",
                [
                    T.uint32(2),
                    in_thread_lv19_red_temp_v0_shared[0],
                    0,
                    T.bool(True),
                    T.int64(0),
                    0,
                    T.int64(0),
                ],
                "",
            )),
        ),
    ]),
    attrs=DictAttrs({"global_symbol": "argmax"}),
)

mod = tvm.IRModule({argmax_gv: argmax})

if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    result = mod
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)

# FoldConstant: sort of a scalar along axis 1: Axis out of boundary

import numpy as np
import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op
from tvm.relax.transform import FoldConstant
from tvm.script import relax as R, tirx as T

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
constant = getattr(tvm.ir, "GenericConst", None) or relax.Constant
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def prim_call(name, args, dtype):
    if name not in Op.list_op_names():
        name = name.replace("prim.", "tirx.")
    if hasattr(tvm.ir, "PrimExpr"):
        return tirx.Call(dtype, Op.get(name), args)
    return tvm.ir.Call(name, args, ret_ty=dtype)

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

ty = TensorType((), "float32")
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([], ty))
gv = relax.Var("gv", ty)
ty_1 = TensorType((), "float32")
sort_gv = typed(tvm.ir.GlobalVar("sort"), FuncType(
    [R.Tensor((), "float32"), R.Tensor((), "float32")],
    TupleType([]),
    False,
))
main = relax.Function(
    [],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(gv, typed(
            relax.op.call_tir(
                sort_gv,
                [constant(tvm.runtime.tensor(np.array(1.0, "float32")), ty)],
                ty_1,
            ),
            ty_1,
        ))])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv))

data_buf = tirx.decl_buffer([], "float32", "data_buf", layout=None)
out_buf = tirx.decl_buffer([], "float32", "out_buf", layout=None)
sort = prim_func([data_buf, out_buf], tirx.Evaluate(prim_call(
    "tirx.tvm_call_packed",
    [
        "tvm.contrib.sort.sort",
        tvm.ir.Call(
            "tirx.tvm_stack_make_array",
            [
                tvm.ir.Call("tirx.buffer_data", [data_buf], ret_ty=tvm.ir.PointerType(
                    tvm.ir.PrimType("float32"),
                    "global",
                )),
                tvm.ir.Call("tirx.tvm_stack_make_shape", [], ret_ty=tvm.ir.PointerType(
                    tvm.ir.PrimType("int64"),
                    "global",
                )),
                0,
                0,
                T.float32(0.0),
                T.int64(0),
            ],
            ret_ty=tvm.ir.PointerType(tvm.ir.PrimType(""), "global"),
        ),
        tvm.ir.Call(
            "tirx.tvm_stack_make_array",
            [
                tvm.ir.Call("tirx.buffer_data", [out_buf], ret_ty=tvm.ir.PointerType(
                    tvm.ir.PrimType("float32"),
                    "global",
                )),
                tvm.ir.Call("tirx.tvm_stack_make_shape", [], ret_ty=tvm.ir.PointerType(
                    tvm.ir.PrimType("int64"),
                    "global",
                )),
                0,
                0,
                T.float32(0.0),
                T.int64(0),
            ],
            ret_ty=tvm.ir.PointerType(tvm.ir.PrimType(""), "global"),
        ),
        1,
        T.bool(True),
    ],
    "int32",
)))

mod = tvm.IRModule({main_gv: main, sort_gv: sort})

if __name__ == "__main__":
    FoldConstant()(mod)

# SplitLayoutRewritePreproc: a PrimFunc without a root block, as LegalizeOps makes for relax.inspect.tensor_byte_offset

import tvm
from tvm import relax, tirx
from tvm.ir import Op
from tvm.relax.transform import SplitLayoutRewritePreproc

PrimType = getattr(relax, "PrimStructInfo", tvm.ir.PrimType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def prim_call(name, args, dtype):
    if hasattr(tvm.ir, "PrimExpr"):
        return tirx.Call(dtype, Op.get(name.replace("prim.", "tirx.")), args)
    if not hasattr(tvm.ir, "Tuple"):
        name = name.replace("prim.", "tirx.")
    return tvm.ir.Call(name, args, ret_ty=dtype)

dlpack_handle = tirx.Var("dlpack_handle", tvm.ir.PointerType(tvm.ir.PrimType(""), "global"))
byte_offset = tirx.Var("byte_offset", "uint64")
_get_tensor_byte_offset = tirx.PrimFunc(
    [dlpack_handle],
    tirx.SeqStmt([
        tirx.Bind(byte_offset, prim_call("tirx.tvm_struct_get", [dlpack_handle, 0, 8], "uint64")),
        tirx.stmt.Return(byte_offset),
    ]),
    ret_type=PrimType("int64"),
)

mod = tvm.IRModule({"_get_tensor_byte_offset": _get_tensor_byte_offset})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        SplitLayoutRewritePreproc(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

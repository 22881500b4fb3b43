# MergeCompositeFunctions: a direct call of a PrimFunc, as LegalizeOps makes for relax.inspect.tensor_dtype_bits: 'Cannot treat type `tirx.PrimFunc` as type `relax.expr.Function`'

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import MergeCompositeFunctions
from tvm.script import relax as R

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
PrimType = getattr(relax, "PrimStructInfo", tvm.ir.PrimType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def prim_call(name, args, dtype):
    if hasattr(tvm.ir, "PrimExpr"):
        return tirx.Call(dtype, Op.get(name.replace("prim.", "tirx.")), args)
    if not hasattr(tvm.ir, "Tuple"):
        name = name.replace("prim.", "tirx.")
    return tvm.ir.Call(name, args, ret_ty=dtype)

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

def stale_func(params, body, attrs, **types):
    if hasattr(tvm.ir, "PrimExpr"):
        return prim_func(params, body, attrs=attrs)
    fields = {"params": params, "body": body, "attrs": attrs, **types, "span": None}
    return make_node("tirx.PrimFunc", **fields)

_get_tensor_dtype_bits_gv = tvm.ir.GlobalVar("_get_tensor_dtype_bits")
dlpack_handle = tirx.Var("dlpack_handle", tvm.ir.PointerType(tvm.ir.PrimType(""), "global"))
value = tirx.Var("value", "uint8")
_get_tensor_dtype_bits = stale_func(
    ty=FuncType([TensorType(None, None, ndim=-1)], PrimType("uint8")),
    attrs=DictAttrs({}),
    params=[dlpack_handle],
    ret_type=PrimType("uint8"),
    body=tirx.SeqStmt([
        tirx.Bind(value, prim_call("tirx.tvm_struct_get", [dlpack_handle, 0, 6], "uint8")),
        tirx.stmt.Return(value),
    ]),
)

composite_gv = tvm.ir.GlobalVar("composite")
x0 = relax.Var("x0", R.Tensor((2, 3), "float32"))
composite = relax.Function([x0], relax.SeqExpr([], x0), type_of(x0), True, DictAttrs(
    {"Composite": "tensorrt.add", "Primitive": True},
))
set_type(composite.body, type_of(x0))

ty = TensorType((), "float32")
x0_1 = relax.Var("x0", ty)
expr = relax.Tuple([x0_1])
main_gv = typed(tvm.ir.GlobalVar("main"), FuncType([ty], type_of(expr)))
gv1 = relax.Var("gv1", PrimType("uint8"))
main = relax.Function(
    [x0_1],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(gv1, relax.Call(_get_tensor_dtype_bits_gv, [x0_1]))])],
        expr,
    ),
    type_of(expr),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(expr))

mod = tvm.IRModule({
    _get_tensor_dtype_bits_gv: _get_tensor_dtype_bits,
    composite_gv: composite,
    main_gv: main,
})
set_type(_get_tensor_dtype_bits_gv, type_of(_get_tensor_dtype_bits))
set_type(composite_gv, type_of(composite))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        MergeCompositeFunctions(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

# RewriteCUDAGraph: storage allocated on the second virtual device ends in 'Check failed: virtual_device_id == 0'

import tvm
from tvm import relax
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import RewriteCUDAGraph

AnyType = getattr(relax, "ObjectStructInfo", relax.ObjectType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
StringImm = getattr(relax, "StringImm", None) or tvm.ir.StringImm
VDevice = getattr(relax, "VDevice", None) or tvm.ir.VDevice
prim_value = getattr(relax, "prim_value", None) or relax.PrimValue
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

def dtype_value(dtype):
    if hasattr(relax, "DataTypeImm"):
        return relax.DataTypeImm(dtype)
    return tvm.ir.GenericConst(tvm.DataType(dtype), relax.AnyType())

_ = relax.Var("_", TupleType([]))
storage = relax.Var("storage", AnyType())
shape = relax.ShapeExpr([2])
vdevice = VDevice(
    tvm.target.Target({"kind": "llvm", "keys": ["cpu"], "mtriple": "x86_64-conda-linux-gnu"}),
    1,
    "global",
)
alloc = relax.Var("alloc", TensorType(shape, "uint8", vdevice=vdevice))
main = relax.Function(
    [_],
    relax.SeqExpr(
        [relax.BindingBlock([
            bind(storage, op("memory.alloc_storage", [
                relax.ShapeExpr([2]),
                prim_value(1),
                StringImm("global"),
                dtype_value("uint8"),
            ])),
            relax.VarBinding(alloc, typed(
                op("memory.alloc_tensor", [
                    storage,
                    prim_value(0),
                    shape,
                    dtype_value("uint8"),
                    prim_value(1),
                ]),
                TensorType(shape, "uint8", vdevice=vdevice),
            )),
        ])],
        _,
    ),
    type_of(_),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(_))

mod = tvm.IRModule({"main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={'relax.backend.use_cuda_graph': True}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        RewriteCUDAGraph(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

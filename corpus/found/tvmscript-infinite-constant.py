# TVMScript: R.const("inf") does not parse: value has to be scalar or Tensor

import json
import os
import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, make_node
from tvm.script import relax as R

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
constant = getattr(tvm.ir, "GenericConst", None) or relax.Constant
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

def tensor(data):
    graph = {"root_index": 0, "nodes": [{"type": "ffi.Tensor", "data": data}]}
    return tvm.ir.load_json(json.dumps(graph))

shape = relax.ShapeExpr([])
ty = TensorType(
    make_node("relax.expr.ShapeExpr", ty=type_of(shape), values=[], span=None),
    "float32",
)
f_gv = typed(tvm.ir.GlobalVar("f"), FuncType([ty], R.Tensor((), "float32")))
x = relax.Var("x", ty)
f = relax.Function([x], relax.SeqExpr([], x), type_of(x))
set_type(f.body, type_of(x))

kernel_gv = tvm.ir.GlobalVar("kernel")
A = tirx.decl_buffer([], "float32", "A", layout=None)
compute = tirx.decl_buffer([], "float32", "compute", layout=None)
kernel = prim_func([A, compute], tirx.Evaluate(0))

main_gv = tvm.ir.GlobalVar("main")
gv = relax.Var("gv", ty)
ty_1 = TensorType((), "float32")
main = relax.Function(
    [],
    relax.SeqExpr(
        [relax.BindingBlock([relax.VarBinding(gv, typed(
            relax.op.call_tir(
                kernel_gv,
                [constant(
                    tensor("P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAAAAAAIgAQAEAAAAAAAAAAAAgH8="),
                    R.Tensor((), "float32"),
                )],
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

mod = tvm.IRModule({f_gv: f, kernel_gv: kernel, main_gv: main})
set_type(kernel_gv, type_of(kernel))
set_type(main_gv, type_of(main))

if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    result = mod
    tvm.ir.assert_structural_equal(tvm.script.from_source(result.script(show_meta=True)), result)

# OptimizeLayoutTransform: a call of a PrimFunc without operator_name between two layout_transforms raises a KeyError

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, make_node
from tvm.relax.transform import OptimizeLayoutTransform
from tvm.script import relax as R, tirx as T

TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

def variables(dtype, *names):
    return [tirx.Var(name, dtype) for name in names]

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

x = relax.Var("x", R.Tensor((1, 1, 2, 1), "int64"))
gv = relax.Var("gv", R.Tensor((1, 2, 1, 1), "int64"))
n, ch, h, w = variables("int64", "n", "ch", "h", "w")
ty = TensorType((1, 2, 1, 1), "int64")
gv1 = relax.Var("gv1", ty)
kernel_gv = tvm.ir.GlobalVar("kernel")
gv2 = relax.Var("gv2", R.Tensor((1, 2, 1, 1, 2), "int64"))
n_1, ch_1, h_1, w_1 = variables("int64", "n", "ch", "h", "w")
main = relax.Function(
    [x],
    relax.SeqExpr(
        [relax.BindingBlock([
            bind(gv, relax.op.layout_transform(x, make_node(
                "tirx.IndexMap",
                initial_indices=[n, ch, h, w],
                final_indices=[n, h, w, ch],
                inverse_index_map=None,
            ))),
            bind(gv1, relax.op.call_tir(kernel_gv, [gv], ty)),
            bind(gv2, relax.op.layout_transform(gv1, make_node(
                "tirx.IndexMap",
                initial_indices=[n_1, ch_1, h_1, w_1],
                final_indices=[
                    tirx.FloorDiv(n_1, T.int64(2)),
                    ch_1,
                    h_1,
                    w_1,
                    tirx.FloorMod(n_1, T.int64(2)),
                ],
                inverse_index_map=None,
            ))),
        ])],
        gv2,
    ),
    type_of(gv2),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv2))

A = tirx.decl_buffer([1, 2, 1, 1], "int64", "A", layout=None)
add_one = tirx.decl_buffer([1, 2, 1, 1], "int64", "add_one", layout=None)
kernel = prim_func([A, add_one], tirx.Evaluate(0))

mod = tvm.IRModule({"main": main, kernel_gv: kernel})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

if __name__ == "__main__":
    OptimizeLayoutTransform()(mod)

# InternalError: Check failed: (ffi::StructuralEqual()((*it).second.type(), new_buf.type())) is false: Inconsistent buffers A and lv38 mapped to the same relax var: lv37

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs, Op, make_node
from tvm.relax.transform import FuseTIR
from tvm.script import tirx as T

FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
SBlock = getattr(tirx, "SBlock", None) or tvm.s_tir.SBlock
SBlockRealize = getattr(tirx, "SBlockRealize", None) or tvm.s_tir.SBlockRealize
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
interval = tvm.ir.Range.from_min_extent
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def bind(var, value):
    set_type(value, type_of(var))
    return relax.VarBinding(var, value)

ty = TensorType((3,), "float32")
ty_1 = TensorType((1,), "float32")
fused_add2_tir_inplace_tir_cos_min_gv = typed(
    tvm.ir.GlobalVar("fused_add2_tir_inplace_tir_cos_min"),
    FuncType([ty], ty_1),
)
x1 = relax.Var("x1", ty)
shape = relax.ShapeExpr([3])
ty_2 = TensorType(shape, "float32")
lv37 = relax.DataflowVar("lv37", ty_2)
tir_inplace_gv = tvm.ir.GlobalVar("tir_inplace")
gv = relax.Var("gv", ty_1)
min_gv = tvm.ir.GlobalVar("min")
fused_add2_tir_inplace_tir_cos_min = relax.Function(
    [x1],
    relax.SeqExpr(
        [relax.DataflowBlock([
            bind(lv37, relax.Call(
                Op.get("relax.call_tir_inplace"),
                [
                    tir_inplace_gv,
                    make_node("ir.Tuple" if hasattr(tvm.ir, "Tuple") else "relax.expr.Tuple", ty=TupleType([ty_2]), fields=[x1], span=None),
                ],
                make_node("relax.attrs.CallTIRInplaceAttrs", inplace_indices=[0]),
                [ty_2],
            )),
            bind(gv, relax.Call(
                Op.get("relax.call_tir"),
                [
                    min_gv,
                    make_node(
                        "ir.Tuple" if hasattr(tvm.ir, "Tuple") else "relax.expr.Tuple",
                        ty=TupleType([TensorType(shape, "float32")]),
                        fields=[lv37],
                        span=None,
                    ),
                ],
                None,
                [ty_1],
            )),
        ])],
        gv,
    ),
    type_of(gv),
    True,
    DictAttrs({"Primitive": True}),
)
set_type(fused_add2_tir_inplace_tir_cos_min.body, type_of(gv))

main_gv = tvm.ir.GlobalVar("main")
x1_1 = relax.Var("x1", ty)
gv1 = relax.Var("gv1", ty_1)
main = relax.Function(
    [x1_1],
    relax.SeqExpr(
        [relax.DataflowBlock([bind(gv1, relax.Call(
            fused_add2_tir_inplace_tir_cos_min_gv,
            [x1_1],
        ))])],
        gv1,
    ),
    type_of(gv1),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv1))

lv38 = tirx.decl_buffer([T.int64(3)], "float32", "lv38", layout=None)
lv38_red = tirx.decl_buffer([T.int64(1)], "float32", "lv38_red", layout=None)
ax0 = tirx.Var("ax0", "int64")
k0 = tirx.Var("k0", "int64")
v_ax0 = tirx.Var("v_ax0", "int64")
v_k0 = tirx.Var("v_k0", "int64")
min = tirx.PrimFunc([lv38, lv38_red], SBlockRealize([], True, SBlock(
    [],
    [],
    [],
    "root",
    tirx.For(ax0, T.int64(0), T.int64(1), tirx.ForKind.SERIAL, tirx.For(
        k0,
        T.int64(0),
        T.int64(3),
        tirx.ForKind.SERIAL,
        SBlockRealize([ax0, k0], True, SBlock(
            [
                tirx.IterVar(interval(T.int64(0), T.int64(1)), v_ax0, 0),
                tirx.IterVar(interval(T.int64(0), T.int64(3)), v_k0, 2),
            ],
            [tirx.BufferRegion(lv38, [interval(v_k0, T.int64(1))])],
            [tirx.BufferRegion(lv38_red, [interval(v_ax0, T.int64(1))])],
            "lv38_red",
            tirx.BufferStore(
                lv38_red,
                tirx.Min(tirx.BufferLoad(lv38_red, [v_ax0]), tirx.BufferLoad(lv38, [v_k0])),
                [v_ax0],
            ),
            init=tirx.BufferStore(lv38_red, T.float32(3.4028234663852886e+38), [v_ax0]),
        )),
    )),
)))

A = tirx.decl_buffer([3], "float32", "A", layout=None)
v = tirx.Var("v", "int32")
_ = tirx.Var("", "int32")
tir_inplace = tirx.PrimFunc([A], SBlockRealize([], True, SBlock(
    [],
    [],
    [],
    "root",
    tirx.For(v, 0, 3, tirx.ForKind.SERIAL, SBlockRealize([v], True, SBlock(
        [tirx.IterVar(interval(0, 3), _, 0)],
        [tirx.BufferRegion(A, [interval(_, 1)])],
        [tirx.BufferRegion(A, [interval(_, 1)])],
        "update",
        tirx.BufferStore(A, tirx.Add(tirx.BufferLoad(A, [_]), T.float32(1.0)), [_]),
    ))),
)))

mod = tvm.IRModule({
    fused_add2_tir_inplace_tir_cos_min_gv: fused_add2_tir_inplace_tir_cos_min,
    main_gv: main,
    min_gv: min,
    tir_inplace_gv: tir_inplace,
})
set_type(main_gv, type_of(main))
set_type(min_gv, type_of(min))
set_type(tir_inplace_gv, type_of(tir_inplace))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        FuseTIR(),
    ]
    the_pass = passes[0]

    for p in passes:
        mod = apply(mod, p)

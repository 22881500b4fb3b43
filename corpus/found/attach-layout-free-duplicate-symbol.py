# AttachAttrLayoutFreeBuffers: the copy of a public PrimFunc has its global_symbol too; relax.build says "IRModule contains duplicate global symbol"

import tvm
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.relax.transform import AttachAttrLayoutFreeBuffers
from tvm.script import relax as R
from tvm.script import tirx as T

SBlock = getattr(tirx, "SBlock", None) or tvm.s_tir.SBlock
SBlockRealize = getattr(tirx, "SBlockRealize", None) or tvm.s_tir.SBlockRealize
TensorType = getattr(relax, "TensorStructInfo", relax.TensorType)
interval = tvm.ir.Range.from_min_extent
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info


def typed(expr, ty):
    set_type(expr, ty)
    return expr


n = tirx.Var("n", "int64")
hello_expand_dims_gv = tvm.ir.GlobalVar("hello_expand_dims")
x0 = tirx.decl_buffer([n, T.int64(4)], "float16", "x0", layout=None)
expand_dims = tirx.decl_buffer(
    [T.int64(1), n, T.int64(4)],
    "float16",
    "expand_dims",
    layout=None,
)
i0 = tirx.Var("i0", "int64")
i1 = tirx.Var("i1", "int64")
i2 = tirx.Var("i2", "int64")
v_i0 = tirx.Var("v_i0", "int64")
v_i1 = tirx.Var("v_i1", "int64")
v_i2 = tirx.Var("v_i2", "int64")
hello_expand_dims = tirx.PrimFunc(
    [x0, expand_dims],
    SBlockRealize(
        [],
        True,
        SBlock(
            [],
            [],
            [],
            "root",
            tirx.For(
                i0,
                T.int64(0),
                T.int64(1),
                tirx.ForKind.SERIAL,
                tirx.For(
                    i1,
                    T.int64(0),
                    n,
                    tirx.ForKind.SERIAL,
                    tirx.For(
                        i2,
                        T.int64(0),
                        T.int64(4),
                        tirx.ForKind.SERIAL,
                        SBlockRealize(
                            [i0, i1, i2],
                            True,
                            SBlock(
                                [
                                    tirx.IterVar(interval(T.int64(0), T.int64(1)), v_i0, 0),
                                    tirx.IterVar(interval(T.int64(0), n), v_i1, 0),
                                    tirx.IterVar(interval(T.int64(0), T.int64(4)), v_i2, 0),
                                ],
                                [
                                    tirx.BufferRegion(
                                        x0, [interval(v_i1, T.int64(1)), interval(v_i2, T.int64(1))]
                                    )
                                ],
                                [
                                    tirx.BufferRegion(
                                        expand_dims,
                                        [
                                            interval(v_i0, T.int64(1)),
                                            interval(v_i1, T.int64(1)),
                                            interval(v_i2, T.int64(1)),
                                        ],
                                    )
                                ],
                                "expand_dims",
                                tirx.BufferStore(
                                    expand_dims,
                                    tirx.BufferLoad(x0, [v_i1, v_i2]),
                                    [v_i0, v_i1, v_i2],
                                ),
                            ),
                        ),
                    ),
                ),
            ),
        ),
    ),
    attrs=DictAttrs({"global_symbol": "hello_expand_dims"}),
)

n_1 = tirx.Var("n", "int64")
x0_1 = relax.Var("x0", R.Tensor((n_1, 4), "float16"))
gv3 = relax.Var("gv3", R.Tensor((1, n_1, 4), "float16"))
ty = TensorType((1, n_1, 4), "float16")
main = relax.Function(
    [x0_1],
    relax.SeqExpr(
        [
            relax.DataflowBlock(
                [
                    relax.VarBinding(
                        gv3,
                        typed(
                            relax.op.call_tir(hello_expand_dims_gv, [x0_1], ty),
                            ty,
                        ),
                    )
                ]
            )
        ],
        gv3,
    ),
    type_of(gv3),
    True,
    DictAttrs({"global_symbol": "main"}),
)
set_type(main.body, type_of(gv3))

mod = tvm.IRModule({hello_expand_dims_gv: hello_expand_dims, "main": main})
for var, func in mod.functions.items():
    set_type(var, type_of(func))


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        AttachAttrLayoutFreeBuffers(),
    ]
    the_pass = passes[0]

    import tvm_ffi

    result = apply(mod)
    relax.analysis.well_formed(result)
    new, old = tvm.s_tir.analysis, tvm.tirx.analysis
    (new if hasattr(new, "verify_well_formed") else old).verify_well_formed(result)
    functions = {gvar.name_hint: gvar for gvar in result.functions}
    for gvar, func in result.functions_items():
        symbol = None if func.attrs is None else func.attrs.get("global_symbol")
        assert symbol in (None, gvar.name_hint), f"{gvar}: the global_symbol is {symbol!r}"
        used = []
        if hasattr(tvm_ffi, "structural_walk"):  # since TVM 0.26
            tvm_ffi.structural_walk(func, (tvm.ir.GlobalVar, used.append))
        for other in used:
            defined = functions.get(other.name_hint)
            assert defined is not None and defined.same_as(other), (
                f"{gvar} uses {other}, no function"
            )

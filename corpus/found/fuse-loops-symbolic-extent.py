# s_tir.Schedule: loops of extents 3, n * 4 + 1 and 2 are fused and unrolled: an internal check fails

import tvm
from collections.abc import Callable
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.relax.transform import MetaScheduleApplyDatabase
from tvm.s_tir import meta_schedule
from tvm.script import relax as R, tirx as T


def fuse_loops(schedule: tvm.s_tir.Schedule, loops: list[object]) -> None:
    """The loops become one, which is unrolled."""
    schedule.unroll(schedule.fuse(*loops) if len(loops) > 1 else loops[0])



def in_database(
    make: Callable[[], tvm.transform.Pass], change: Callable[..., None], names: list[str]
) -> tvm.transform.Pass:
    """The pass within a database that has a schedule of the functions with these names."""

    def schedule(made: tvm.s_tir.Schedule) -> bool:
        func = made.mod["main"]
        if made.mod.attrs["task_name"] not in names or "tirx.is_scheduled" in (func.attrs or {}):
            return False
        for block in made.get_child_blocks(made.get_sblock(func.body.block.name_hint)):
            loops = made.get_loops(block)
            if loops and all(getattr(made.get(each).extent, "value", 1) for each in loops):
                change(made, loops)
        return True

    def run(mod: tvm.IRModule, context: tvm.transform.PassContext) -> tvm.IRModule:
        with meta_schedule.database.ScheduleFnDatabase(schedule):
            return make()(mod)

    return tvm.transform.module_pass(run, opt_level=0, name=make.__name__)


FuncType = getattr(relax, "FuncStructInfo", relax.FuncType)
PrimType = getattr(relax, "PrimStructInfo", tvm.ir.PrimType)
TupleType = getattr(relax, "TupleStructInfo", relax.TupleType)
SBlock = getattr(tirx, "SBlock", None) or tvm.s_tir.SBlock
SBlockRealize = getattr(tirx, "SBlockRealize", None) or tvm.s_tir.SBlockRealize
interval = tvm.ir.Range.from_min_extent
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info

def typed(expr, ty):
    set_type(expr, ty)
    return expr

def variables(dtype, *names):
    return [tirx.Var(name, dtype) for name in names]

def buffer(shape, dtype, name, **options):
    shape = [T.int64(dim) if isinstance(dim, int) else dim for dim in shape]
    return tirx.decl_buffer(shape, dtype, name, layout=None, **options)

def root(*stmts, **options):
    body = tirx.SeqStmt(stmts) if len(stmts) > 1 else stmts[0]
    return SBlockRealize([], True, SBlock([], [], [], "root", body, **options))

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

avg_pool2d_gv = typed(tvm.ir.GlobalVar("avg_pool2d"), FuncType(
    [PrimType("int64"), R.Tensor((1, 1, 1, 1), "float32")],
    TupleType([]),
    False,
))
n = tirx.Var("n", "int64")
pool_avg = buffer([1, 1, 1, 1], "float32", "pool_avg")
i0, i1, i2, v1 = variables("int64", "i0", "i1", "i2", "v1")
avg_pool2d = prim_func(
    [n, pool_avg],
    root(tirx.For(i0, T.int64(0), T.int64(3), tirx.ForKind.SERIAL, tirx.For(
        i1,
        T.int64(0),
        ((n * 4) + 1),
        tirx.ForKind.SERIAL,
        tirx.For(i2, T.int64(0), T.int64(2), tirx.ForKind.SERIAL, SBlockRealize(
            [i1],
            True,
            SBlock(
                [tirx.IterVar(interval(T.int64(0), T.int64(1)), v1, 0)],
                [],
                [],
                "zeros",
                tirx.BufferStore(
                    pool_avg,
                    T.float32(0.0),
                    [T.int64(0), T.int64(0), T.int64(0), T.int64(0)],
                ),
            ),
        )),
    ))),
    attrs=DictAttrs({"s_tir": True}),
)

mod = tvm.IRModule({avg_pool2d_gv: avg_pool2d})

if __name__ == "__main__":
    with tvm.target.Target("llvm"):
        in_database(MetaScheduleApplyDatabase, fuse_loops, ['avg_pool2d', 'relu'])(mod)

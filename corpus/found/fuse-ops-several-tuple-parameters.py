# FuseOps: a group that takes two fields of each of 16 tuples loses parameters: Var t0_1 is not defined

from tvm import relax
from tvm.relax.transform import FuseOps
from tvm.script import relax as R, tirx as T


@T.prim_func(private=True, s_tir=True)
def add(
    A: T.Buffer((T.int64(2),), "float32"),
    B: T.Buffer((T.int64(2),), "float32"),
    C: T.Buffer((T.int64(2),), "float32"),
):
    T.func_attr({"op_pattern": 0})
    for i in range(T.int64(2)):
        with T.sblock("add"):
            v = T.axis.spatial(T.int64(2), i)
            C[v] = A[v] + B[v]


ty = R.Tensor((2,), "float32")
builder = relax.BlockBuilder()
tuples = [relax.Var(f"t{i}", R.Tuple(ty, ty, ty)) for i in range(16)]
kernel = builder.add_func(add, "add")
with builder.function("main", tuples):
    with builder.dataflow():
        sums = []
        for each in tuples:
            first = builder.emit(relax.TupleGetItem(each, 0))
            second = builder.emit(relax.TupleGetItem(each, 1))
            sums.append(builder.emit(relax.call_tir(kernel, [first, second], ty)))
        total = sums[0]
        for each in sums[1:-1]:
            total = builder.emit(relax.call_tir(kernel, [total, each], ty))
        total = builder.emit_output(relax.call_tir(kernel, [total, sums[-1]], ty))
    builder.emit_func_output(total)
mod = builder.get()


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(FuseOps()(mod))

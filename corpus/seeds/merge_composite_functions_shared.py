# MergeCompositeFunctions: two functions share the object of a shape. A repair that groups every
# function, but in one map, trips over the object that is there already
#
# pass: MergeCompositeFunctions
# oracle: crash
# tvm: fails on 0.17.dev0, 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: InternalError: Check failed: (it_group != obj2group_.end())
# upstream: https://github.com/apache/tvm/issues/17210
# promise: docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner', and
#   which nodes are one object is no part of what a module means

from tvm import relax
from tvm.script import relax as R


@R.function(private=True)
def composite(x: R.Tensor((2, 2), "float32")) -> R.Tensor((2, 2), "float32"):
    R.func_attr({"Composite": "cutlass.relu", "Primitive": True})
    return R.nn.relu(x)


shared = relax.ShapeExpr([2, 2])
bb = relax.BlockBuilder()
callee = bb.add_func(composite, "composite")
for name in ("main", "other"):
    x = relax.Var("x", R.Tensor((2, 2), "float32"))
    with bb.function(name, [x]):
        with bb.dataflow():
            gv = bb.emit_output(relax.op.broadcast_to(bb.emit(callee(x)), shared))
        bb.emit_func_output(gv)
mod = bb.get()


if __name__ == "__main__":
    relax.transform.MergeCompositeFunctions()(mod)

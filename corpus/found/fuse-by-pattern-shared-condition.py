# FuseOpsByPattern: two functions with the same constant as a condition are refused
#
# pass: FuseOpsByPattern
# oracle: crash
# fingerprint: ["crash", "FuseOpsByPattern", "ValueError", "Check failed: (!group_map.count(key)) is false: IRModule is invalid. The object <node> appears in multiple partitions, which can occur when the IRModule was not single-site assignment"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: ValueError: Check failed: (!group_map.count(key)) is false: IRModule is invalid. The object <node> appears in multiple partitions, which can occur when the IRModule was not single-site assignment
# promise: docs/arch/pass_infra.rst: 'All passes are designed in a Module to Module manner'; the message speaks of single-site assignment, which is of variables: relax.analysis.well_formed accepts the module, and the pass the same constant as an operand in both functions

from tvm import relax
from tvm.relax.dpl import is_op, wildcard
from tvm.relax.transform import FuseOpsByPattern

condition = relax.const(True, "bool")
builder = relax.BlockBuilder()
tensor = getattr(relax, "TensorStructInfo", relax.TensorType)
for name in ("f", "main"):
    x = relax.Var("x", tensor((2,), "float32"))
    with builder.function(name, [x]):
        branches = relax.SeqExpr([], x), relax.SeqExpr([], x)
        builder.emit_func_output(builder.emit(relax.If(condition, *branches)))
mod = builder.get()

if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    FuseOpsByPattern([("relu", is_op("relax.nn.relu")(wildcard()))])(mod)

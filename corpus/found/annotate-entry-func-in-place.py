# AnnotateEntryFunc: the only function of a module is annotated in the module that the pass is given
#
# pass: AnnotateEntryFunc
# oracle: mutation
# fingerprint: ["mutation", "AnnotateEntryFunc", "the input module is changed in place"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: ValueError: StructuralEqual check failed, caused by lhs at <root>.functions<list>.attrs.__dict__<list>:
# promise: src/ir/transform.cc, Pass::AssertImmutableModule and the PassContext option
#   'testing.immutable_module'; include/tvm/ir/cow.h: nodes in use are copied on write

import tvm
from tvm import tirx

mod = tvm.IRModule({"main": tirx.PrimFunc([], tirx.Evaluate(0))})

if __name__ == "__main__":
    before = tvm.ir.load_json(tvm.ir.save_json(mod))
    tvm.tirx.transform.AnnotateEntryFunc()(mod)
    tvm.ir.assert_structural_equal(mod, before, map_free_vars=True)

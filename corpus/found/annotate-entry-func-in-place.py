# AnnotateEntryFunc: the only function of a module is annotated in the module that the pass is given

import tvm
from tvm import tirx

mod = tvm.IRModule({"main": tirx.PrimFunc([], tirx.Evaluate(0))})

if __name__ == "__main__":
    before = tvm.ir.load_json(tvm.ir.save_json(mod))
    tvm.tirx.transform.AnnotateEntryFunc()(mod)
    tvm.ir.assert_structural_equal(mod, before, map_free_vars=True)

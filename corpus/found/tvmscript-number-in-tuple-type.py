# TVMScript: T.int64 in R.Tuple, as the printer writes the type of a number in a tuple, does not parse: "'Var' object has no attribute 'as_ty'"

import os

import tvm
from tvm import relax

n = relax.Var("n", tvm.ir.PrimType("int64"))
bb = relax.BlockBuilder()
with bb.function("main", [n]):
    bb.emit_func_output(bb.emit(relax.Tuple([n])))
mod = bb.get()

if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    relax.analysis.well_formed(mod)
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script(show_meta=True)), mod)

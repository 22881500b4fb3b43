# LazySetOutput: the callback never gets a number that the function returns without a variable

import tvm
import tvm_ffi
from tvm import relax
from tvm.relax.transform import LazySetOutput
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Shape(["n"])) -> R.Prim("int64"):
        n = T.int64()
        return n


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    x, results = tvm.runtime.ShapeTuple([3]), []
    lazy = relax.VirtualMachine(relax.build(LazySetOutput()(mod), "llvm"), tvm.cpu())["main"]
    lazy(x, tvm_ffi.convert(lambda place, value: results.append(value)))
    assert results == [3], f"the callback got {results}"

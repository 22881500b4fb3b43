# DispatchSortScan: sort on a CUDA device is made for the target of the context: KeyError 'key is not in Map'

import tvm
from tvm import relax
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    I.module_global_infos({"vdevice": [I.vdevice("cuda", 0)]})

    @R.function
    def main(x: R.Tensor((2, 2), "float32", "cuda")) -> R.Tensor((2, 2), "float32", "cuda"):
        with R.dataflow():
            gv: R.Tensor((2, 2), "float32", "cuda") = R.sort(x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    with tvm.target.Target("llvm"):
        relax.backend.DispatchSortScan()(mod)

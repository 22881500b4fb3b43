# s_tir.DefaultGPUSchedule: two blocks of scalars fail

import tvm
from tvm import relax, s_tir
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((), "float32")):
        y = R.nn.silu(x)
        return y


if __name__ == "__main__":
    with tvm.target.Target("vulkan"):
        kernels = relax.transform.LegalizeOps()(mod)
        s_tir.transform.DefaultGPUSchedule()(kernels)

# RealizeVDevice: the input module is changed in place, so that a second run, in Sequential or not,
# leaves hint_on_device
#
# pass: RealizeVDevice
# oracle: mutation
# tvm: fails on 0.17.dev0; fixed in 0.25.0.post1
# fails with: AssertionError
# upstream: https://github.com/apache/tvm/issues/17205, https://github.com/apache/tvm/pull/17213
# promise: src/ir/transform.cc, Pass::AssertImmutableModule; docstring of RealizeVDevice:
#   'Propagate virtual device information'

import tvm
from tvm.relax.transform import RealizeVDevice
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    I.module_global_infos({"vdevice": [I.vdevice("llvm")]})

    @R.function
    def main(x: R.Tensor((2,), "float32")):
        with R.dataflow():
            lv = R.hint_on_device(x, tvm.cpu())
            gv = R.add(lv, lv)
            R.output(gv)
        return gv


if __name__ == "__main__":
    before = mod.script()
    RealizeVDevice()(mod)
    twice = tvm.transform.Sequential([RealizeVDevice()])(mod)
    assert mod.script() == before, "the input module is changed in place"
    assert "hint_on_device" not in twice.script(), "a second run leaves hint_on_device"

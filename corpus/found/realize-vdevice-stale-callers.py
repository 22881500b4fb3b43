# RealizeVDevice: a parameter gets a device, its callers and the function's GlobalVar stay as they were: the call no longer fits the function

import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    I.module_global_infos({"vdevice": [I.vdevice("llvm", 0), I.vdevice("llvm", 1)]})

    @R.function(private=True)
    def callee(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        y = R.hint_on_device(x, tvm.cpu(1))
        return y

    @R.function
    def main(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        cls = mod
        y = cls.callee(x)
        return y


if __name__ == "__main__":
    after = relax.transform.RealizeVDevice()(mod)
    wanted = after["callee"].params[0].ty.vdevice
    given = after["main"].body.blocks[0].bindings[0].value.args[0].ty.vdevice
    lives_there = (wanted is None) == (given is None)
    assert lives_there, "an argument does not live where the called function wants it"

# AttachExternModules: a module that has external modules is given another: 'Array' object has no attribute 'append'

import tvm
from tvm.relax.frontend.nn import ObjectModule
from tvm.relax.transform import AttachExternModules
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        return x


if __name__ == "__main__":
    attach = AttachExternModules([ObjectModule({}, tvm.__file__)])
    attach(attach(mod))

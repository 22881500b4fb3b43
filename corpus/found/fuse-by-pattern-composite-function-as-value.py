# FuseOpsByPattern: with annotate_codegen, a composite function that is called and also bound to a variable gets a new name, and the variable keeps the function that is gone

import tvm
from tvm import relax
from tvm.relax.dpl import is_op, wildcard
from tvm.relax.transform import FuseOpsByPattern
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function(private=True)
    def composite(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Composite": "dnnl.relu", "Primitive": True})
        with R.dataflow():
            gv = R.nn.relu(x)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        y = mod.composite(x)
        f = mod.composite
        z = f(y)
        return z


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(FuseOpsByPattern([("dnnl.add", is_op("relax.add")(wildcard(), wildcard()))], annotate_codegen=True)(mod))

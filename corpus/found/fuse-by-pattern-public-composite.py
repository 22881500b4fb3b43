# FuseOpsByPattern: with annotate_codegen, a public composite function gets another name

from tvm.relax.dpl import is_op, wildcard
from tvm.relax.transform import FuseOpsByPattern
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def composite(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Composite": "dnnl.relu", "Primitive": True})
        with R.dataflow():
            gv = R.nn.relu(x)
            R.output(gv)
        return gv

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        gv = mod.composite(x)
        return gv


if __name__ == "__main__":
    add = is_op("relax.add")(wildcard(), wildcard())
    after = FuseOpsByPattern([("dnnl.add", add)], annotate_codegen=True)(mod)
    names = {var.name_hint for var in after.functions}
    assert "composite" in names, f"a public function is lost or renamed: {names}"

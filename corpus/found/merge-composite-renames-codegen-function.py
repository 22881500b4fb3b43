# MergeCompositeFunctions: a public function that has the attribute Codegen already gets another name, and one more with every run

from tvm.relax.transform import MergeCompositeFunctions
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def offloaded(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        R.func_attr({"Codegen": "tensorrt"})
        return x

    @R.function
    def main(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        with R.dataflow():
            gv = mod.offloaded(x)
            R.output(gv)
        return gv


if __name__ == "__main__":
    names = {var.name_hint for var in MergeCompositeFunctions()(mod).functions}
    assert names == {"main", "offloaded"}, f"a public function is lost or renamed: {names}"

# MergeCompositeFunctions: a public function that has the attribute Codegen already gets another name, and one more with every run
#
# pass: MergeCompositeFunctions
# oracle: postcondition
# fingerprint: ["postcondition", "MergeCompositeFunctions", "a public function is lost or renamed"]
# tvm: fails on 0.25.0.post1, 0.26.0, 0.27.0.post1
# fails with: AssertionError: a public function is lost or renamed
# promise: docstring of MergeCompositeFunctions: 'Group one or multiple composite functions created by FuseOpsByPattern into a new function': no word of functions that are there already

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

# RemoveUnusedParameters: a number that only types of a private function name is passed to it as a DataflowVar

from tvm import relax
from tvm.relax.transform import RemoveUnusedParameters
from tvm.script import ir as I, relax as R, tirx as T


@I.ir_module
class mod:
    @R.function(private=True)
    def f(n: R.Prim("int64")) -> R.Tensor(dtype="float32", ndim=1):
        return R.call_pure_packed("f", ty_args=R.Tensor((n,), "float32"))

    @R.function
    def main() -> R.Tensor(dtype="float32", ndim=1):
        cls = mod
        with R.dataflow():
            n: R.Prim("int64") = T.int64(2)
            gv: R.Tensor(dtype="float32", ndim=1) = cls.f(n)
            R.output(gv)
        return gv


def apply(mod):
    return RemoveUnusedParameters()(mod)


if __name__ == "__main__":
    relax.analysis.well_formed(mod)
    relax.analysis.well_formed(apply(mod))

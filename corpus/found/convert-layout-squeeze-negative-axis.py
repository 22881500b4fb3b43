# ConvertLayout: InferLayoutSqueeze writes before its string for a negative axis

import tvm
from tvm.relax.transform import ConvertLayout
from tvm.script import ir as I
from tvm.script import relax as R


@I.ir_module
class mod:
    @R.function
    def main(x0: R.Tensor((1,), dtype="float32")) -> R.Tensor((), dtype="float32"):
        with R.dataflow():
            lv0: R.Tensor((), dtype="float32") = R.squeeze(x0, axis=[-1])
            R.output(lv0)
        return lv0


def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        ConvertLayout({"relax.nn.conv2d": ["NCHW", "OIHW"]}),
    ]
    the_pass = passes[0]

    import resource

    resource.setrlimit(resource.RLIMIT_DATA, (3072 << 20, 3072 << 20))
    for p in passes:
        mod = apply(mod, p)

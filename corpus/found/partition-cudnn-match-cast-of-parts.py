# partition_for_cudnn of attention over a tuple that match_cast uses: AttributeError: 'TupleType' object has no attribute 'dtype'

from tvm.relax.backend.cuda.cudnn import partition_for_cudnn
from tvm.script import ir as I, relax as R


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2, 2, 12), "float16")):
        with R.dataflow():
            parts = R.split(x, 3, axis=2)
            q = R.reshape(parts[0], (2, 2, 2, 2))
            k = R.reshape(parts[1], (2, 2, 2, 2))
            v = R.reshape(parts[2], (2, 2, 2, 2))
            out = R.nn.attention(q, k, v)
            again = R.match_cast(
                parts, R.Tuple([R.Tensor((2, 2, 4), "float16") for _ in range(3)])
            )
            R.output(out, again)
        return (out, again)


if __name__ == "__main__":
    partition_for_cudnn(mod)

# layout_transform of bool with padding: ScheduleError

from tvm.relax.transform import LegalizeOps
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@I.ir_module
class mod:
    @R.function
    def main(x: R.Tensor((2,), dtype="bool")) -> R.Tensor((1, 2), dtype="bool"):
        gv: R.Tensor((1, 2), dtype="bool") = R.layout_transform(x, index_map=T.index_map(lambda i: (i // 2, i % 2)), pad_value=None)
        return gv


if __name__ == "__main__":
    LegalizeOps()(mod)

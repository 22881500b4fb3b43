"""The type of a split of 2 elements into 4 sections has a last part of -1 elements.

The compiled module asks for so much memory when it runs, and raises std::bad_alloc.
"""

from tvm.script import ir as I
from tvm.script import relax as R

PASSES = "--pipeline default"
NOT = ("split-index-past-end",)
KIND = "death"


def module():
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((2,), "float32")):
            with R.dataflow():
                parts = R.split(x, indices_or_sections=4, axis=0)
                R.output(parts)
            return parts

    return Module

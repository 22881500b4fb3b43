# detect_iter_map raises where an iterator cancels out: j * 2 - j * 2

import tvm
from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym


j = tirx.Var("j", "int32")

if __name__ == "__main__":
    sym.detect_iter_map([j * 2 - j * 2], {j: tvm.ir.Range(0, 2)})

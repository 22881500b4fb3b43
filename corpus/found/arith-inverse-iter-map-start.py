# inverse_affine_iter_map raises for an iterator that does not start at 0

import tvm
from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym


j, out = (tirx.Var(name, "int32") for name in ("j", "out"))

if __name__ == "__main__":
    ranges = {j: tvm.ir.Range.from_min_extent(5, 2)}
    found = sym.detect_iter_map([j], ranges, True, "bijective")
    sym.inverse_affine_iter_map(found.indices, [out])

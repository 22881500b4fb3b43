# iter_map_simplify with check_level='bijective' of a rotated iterator: (i + 1) % 12 becomes i

import tvm
from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym


i = tirx.Var("i", "int32")

if __name__ == "__main__":
    ranges = {i: tvm.ir.Range(0, 12)}
    (found,) = sym.iter_map_simplify([(i + 1) % 12], ranges, True, "bijective")
    assert not found.same_as(i), "(i + 1) % 12 becomes i"

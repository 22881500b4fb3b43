# normalize_to_iter_sum of a quotient or a remainder of an iterator with an offset: (j + 1) // 2 becomes 0

import tvm
from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym


j = tirx.Var("j", "int32")

if __name__ == "__main__":
    found = sym.normalize_to_iter_sum((j + 1) // 2, {j: tvm.ir.Range(0, 2)})
    found = sym.normalize_iter_map_to_expr(found)
    assert not isinstance(found, tirx.IntImm), f"(j + 1) // 2 becomes {int(found.value)}"

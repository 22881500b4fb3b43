# Analyzer.int_set of a truncated remainder of a negative number has no negative number

import tvm
from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym


j = tirx.Var("j", "int32")

if __name__ == "__main__":
    analyzer = sym.Analyzer()
    analyzer.bind(j, tvm.ir.Range.from_min_extent(-8, 4))
    least = analyzer.int_set(tirx.truncmod(j, tirx.const(4, "int32"))).min_value
    assert int(least.value) < 0, "truncmod(j, 4) is in [0, 3], but j = -7 gives -3"

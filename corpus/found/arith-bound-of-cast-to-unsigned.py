# Analyzer.simplify turns the quotient of a negative index that is converted to an unsigned type into 0

import tvm
from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym


j = tirx.Var("j", "int32")

if __name__ == "__main__":
    analyzer = sym.Analyzer()
    analyzer.bind(j, tvm.ir.Range.from_min_extent(-8, 2))
    found = analyzer.simplify(j.astype("uint32") // tirx.const(8, "uint32"))
    assert not isinstance(found, tirx.IntImm), f"uint32(j) // 8 is simplified to {int(found.value)}"

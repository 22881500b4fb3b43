# Analyzer.can_prove with SYMBOLIC_BOUND: an unsigned comparison that never holds is proven

import tvm
from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym


w = tirx.Var("w", "uint32")
five, three, one = (tirx.const(number, "uint32") for number in (5, 3, 1))

if __name__ == "__main__":
    analyzer = sym.Analyzer()
    analyzer.bind(w, tvm.ir.Range.from_min_extent(five, three))
    assert not analyzer.can_prove(w < one, sym.ProofStrength.SYMBOLIC_BOUND), "5 <= w is taken for w < 1"

# iter_map_simplify of two quotients of one iterator, of which the first needs padding: (i + 1) // 2 + i // 2 becomes (i + 1) // 2 * 2

import tvm
from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym


i = tirx.Var("i", "int32")

if __name__ == "__main__":
    (found,) = sym.iter_map_simplify([(i + 1) // 2 + i // 2], {i: tvm.ir.Range(0, 2)})
    analyzer = sym.Analyzer()
    analyzer.bind(i, tirx.const(1, "int32"))
    assert int(analyzer.simplify(found).value) == 1, f"(i + 1) // 2 + i // 2 becomes {found}"

# iter_map_simplify of a quotient plus a number, modulo: ((j + 3) // 4 + 1) % 4 becomes (j + 4) // 4

import tvm
from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym


j = tirx.Var("j", "int32")

if __name__ == "__main__":
    (found,) = sym.iter_map_simplify([((j + 3) // 4 + 1) % 4], {j: tvm.ir.Range(0, 2)})
    analyzer = sym.Analyzer()
    analyzer.bind(j, tirx.const(1, "int32"))
    assert int(analyzer.simplify(found).value) == 2, f"((j + 3) // 4 + 1) % 4 becomes {found}"

# inverse_affine_iter_map raises for an iterator with a stride

import tvm
from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym


j, out = (tirx.Var(name, "int32") for name in ("j", "out"))

if __name__ == "__main__":
    found = sym.detect_iter_map([j * 10], {j: tvm.ir.Range(0, 2)}, True, "bijective")
    sym.inverse_affine_iter_map(found.indices, [out])

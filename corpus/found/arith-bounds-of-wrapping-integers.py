# Analyzer.simplify takes a product of int8 for a multiple of its factor, though such products wrap around

from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym

y = tirx.Var("y", "int8")

if __name__ == "__main__":
    product = y * tirx.const(30, "int8")
    found = sym.Analyzer().simplify(product.astype("int32") % 3)
    # 5 * 30 wraps around to -106, as in the code that LLVM is given.
    assert not isinstance(found, tirx.IntImm), "int32(y * 30) % 3 is simplified to 0, but y = 5 gives 2"

# Analyzer.simplify raises where a negative constant is converted to an unsigned type

from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym

i = tirx.Var("i", "int32")

if __name__ == "__main__":
    sym.Analyzer().simplify((i - 8 - i).astype("uint8"))

# Analyzer.simplify raises where the product of two constants leaves int32

from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym

i = tirx.Var("i", "int32")

if __name__ == "__main__":
    sym.Analyzer().simplify((i - 400000000) * 6 + 20)

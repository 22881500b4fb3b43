# Analyzer.simplify raises for an unsigned comparison whose left side is the constant 0

from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym

x = tirx.Var("x", "uint32")

if __name__ == "__main__":
    analyzer = sym.Analyzer()
    analyzer.bind(x, tirx.const(0, "uint32"))
    analyzer.simplify(x < tirx.const(6, "uint32"))

# Analyzer.rewrite_simplify compares with a product of constants that has wrapped around

from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym

i = tirx.Var("i", "int32")

if __name__ == "__main__":
    made = sym.Analyzer().rewrite_simplify((i - 1073741820) * 6 + 20 < 0)
    analyzer = sym.Analyzer()
    analyzer.bind(i, tirx.const(1073741810, "int32"))
    # (1073741810 - 1073741820) * 6 + 20 is -40, and no step leaves int32.
    assert int(analyzer.simplify(made).value) == 1, f"(i - 1073741820) * 6 + 20 < 0 becomes {made}"

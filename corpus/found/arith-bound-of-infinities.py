# Analyzer.const_int_bound raises where it subtracts an unlimited bound from another one

from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym

least = tirx.IntImm("int64", -(2**62))

if __name__ == "__main__":
    sym.Analyzer().const_int_bound(tirx.Add(least, least) - tirx.Mul(least, tirx.IntImm("int64", 4)))

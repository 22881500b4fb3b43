# deduce_bound raises where the variable cancels out of the condition

from tvm import tirx

try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym

i, j = (tirx.Var(name, "int32") for name in ("i", "j"))

if __name__ == "__main__":
    same = i.astype("uint8")
    condition = (same - same) * j.astype("uint8") >= tirx.const(0, "uint8")
    sym.deduce_bound(j, condition, {}, {})

# RemoveStoreUndef: the value of an undefined scalar, which TVMScript keeps in a buffer, is stored and was never written

import tvm
from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(A: T.Buffer((2,), "int32")):
        v = T.undef(dtype="int32")
        A[0] = v
        A[1] = 3


def apply(mod):
    return s_tir.transform.RemoveStoreUndef()(mod)


if __name__ == "__main__":
    func = apply(mod)["main"]
    stores = [line for line in func.script().splitlines() if " = v" in line]
    assert not stores, f"{stores[0].strip()}: v is undefined"

# TVMScript: a parameter of one element

import tvm
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def main(C: T.Buffer((1,), "int32"), A: T.Buffer((4,), "int32")):
        for i in range(4):
            if i < C[0]:
                A[i] = 1


if __name__ == "__main__":
    try:
        parsed = tvm.script.from_source(mod.script())
    except tvm.error.DiagnosticError:
        parsed = None
    assert parsed is not None, "the parser refuses what the printer has written"

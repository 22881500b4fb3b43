# TVMScript: an allocation in VTCM

import os

import tvm
from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class Module:
    @T.prim_func
    def main():
        E = T.alloc_buffer((1,), "float64", scope="global.vtcm", layout=None)


mod = s_tir.transform.LowerVtcmAlloc()(Module)

if __name__ == "__main__":
    os.environ["TVM_BACKTRACE"] = "1"
    tvm.ir.assert_structural_equal(tvm.script.from_source(mod.script()), mod)

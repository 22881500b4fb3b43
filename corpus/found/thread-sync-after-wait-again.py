# s_tir.ThreadSync: a second run puts one more barrier behind the wait for an asynchronous copy

import tvm
from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func
    def tiled():
        total_local = T.alloc_buffer((1,), "int32", layout=None)
        with T.attr({"async_wait_queue_scope": 0, "async_wait_inflight_count": 0}):
            total_local[0] = 0


if __name__ == "__main__":
    once = s_tir.transform.ThreadSync("shared")(mod)
    twice = s_tir.transform.ThreadSync("shared")(once)
    tvm.ir.assert_structural_equal(twice, once, map_free_vars=True)

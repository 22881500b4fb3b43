# InjectSoftwarePipeline: a block of an asynchronous stage with a buffer of its own

import tvm
from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i in T.serial(
            4,
            annotations={
                "software_pipeline_stage": [0, 1],
                "software_pipeline_order": [0, 1],
                "software_pipeline_async_stages": [0],
            },
        ):
            with T.sblock():
                T.reads(A[i, 0:8])
                T.writes(B[i, 0:8])
                row = T.sblock_alloc_buffer((8,), "float32")
                with T.sblock("copy"):
                    T.reads(A[i, 0:8])
                    T.writes(row[0:8])
                    own = T.sblock_alloc_buffer((1,), "float32")
                    for j in range(8):
                        own[0] = A[i, j]
                        row[j] = own[0]
                with T.sblock("compute"):
                    T.reads(row[0:8])
                    T.writes(B[i, 0:8])
                    for j in range(8):
                        B[i, j] = row[j] + T.float32(1)


if __name__ == "__main__":
    after = s_tir.transform.InjectSoftwarePipeline()(mod)
    tvm.s_tir.analysis.verify_well_formed(after)

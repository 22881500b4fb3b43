# InjectSoftwarePipeline: a step of a pipeline with a buffer of its own

import tvm
from tvm import s_tir
from tvm.script import ir as I, tirx as T


@I.ir_module
class mod:
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i in T.serial(
            4, annotations={"software_pipeline_stage": [0, 1], "software_pipeline_order": [0, 1]}
        ):
            with T.sblock():
                T.reads(A[i, 0:8])
                T.writes(B[i, 0:8])
                row = T.sblock_alloc_buffer((8,), "float32")
                for j in range(8):
                    with T.sblock("copy"):
                        T.reads(A[i, j])
                        T.writes(row[j])
                        row[j] = A[i, j]
                for j in range(8):
                    with T.sblock("compute"):
                        T.reads(row[j])
                        T.writes(B[i, j])
                        square = T.sblock_alloc_buffer((1,), "float32")
                        square[0] = row[j] * row[j]
                        B[i, j] = square[0] + row[j]


if __name__ == "__main__":
    after = s_tir.transform.InjectSoftwarePipeline()(mod)
    tvm.s_tir.analysis.verify_well_formed(after)

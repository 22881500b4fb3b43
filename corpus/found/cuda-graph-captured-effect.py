# RewriteCUDAGraph: a call that prints is captured: it happens once, however often the graph runs

import tvm
from tvm import relax
from tvm.relax.transform import RewriteCUDAGraph
from tvm.script import relax as R

printed = relax.Call(
    relax.ExternFunc("relax.run.print"),
    [(getattr(relax, "StringImm", None) or tvm.ir.StringImm)("{}"), relax.const(1.0, "float32")],
    None,
    [R.Tuple()],
)
builder = relax.BlockBuilder()
with builder.function("main", [], pure=False):
    builder.emit_func_output(builder.emit(printed))
mod = builder.get()


def prints(func):
    found = []
    relax.analysis.post_order_visit(
        func,
        lambda expr: found.append(expr)
        if isinstance(expr, relax.ExternFunc) and expr.global_symbol == "relax.run.print"
        else None,
    )
    return found


if __name__ == "__main__":
    with tvm.transform.PassContext(config={"relax.backend.use_cuda_graph": True}):
        result = RewriteCUDAGraph()(mod)
    assert prints(result["main"]), f"main does not print:\n{result.script()}"

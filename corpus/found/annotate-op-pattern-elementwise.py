# AnnotateTIROpPattern: an op_pattern of 0 is replaced

import tvm
import tvm_ffi
from tvm import relax, tirx
from tvm.ir import DictAttrs
from tvm.relax.transform import AnnotateTIROpPattern
from tvm.script import tirx as T

SBlock = getattr(tirx, "SBlock", None) or tvm.s_tir.SBlock
SBlockRealize = getattr(tirx, "SBlockRealize", None) or tvm.s_tir.SBlockRealize
set_type = getattr(relax.expr, "_update_type", None) or relax.expr._update_struct_info
type_of = lambda expr: getattr(expr, "ty", None) or expr.struct_info

def buffer(shape, dtype, name, **options):
    shape = [T.int64(dim) if isinstance(dim, int) else dim for dim in shape]
    return tirx.decl_buffer(shape, dtype, name, layout=None, **options)

def prim_func(params, body, **options):
    names = [p if isinstance(p, tirx.Var) else tirx.Var(p.name, "handle") for p in params]
    buffers = {name: p for name, p in zip(names, params) if name is not p}
    if buffers:
        options["buffer_map"] = buffers
    return tirx.PrimFunc(names, body, **options)

x = buffer([1, 1], "float32", "x")
y = buffer([1, 1], "float32", "y")
rows = prim_func(
    [x, y],
    SBlockRealize([], True, SBlock([], [], [], "rows", tirx.BufferStore(
        y,
        x[0, T.int64(0)],
        [T.int64(0), T.int64(0)],
    ))),
    attrs=DictAttrs({"op_pattern": 0, "s_tir": True}),
)

mod = tvm.IRModule({"rows": rows})
for var, func in mod.functions.items():
    set_type(var, type_of(func))

def apply(mod, p=None):
    with tvm.transform.PassContext(config={}), tvm.target.Target("llvm"):
        return (the_pass if p is None else p)(mod)


if __name__ == "__main__":
    passes = [
        AnnotateTIROpPattern(),
    ]
    the_pass = passes[0]

    from types import SimpleNamespace

    import tvm_ffi
    from tvm import relax
    from tvm import tirx


    def _annotated(before, after, call):
        """tvm/relax/transform.h: every PrimFunc gets its op_pattern; a user's own one stays."""
        for gvar, func in prim_funcs(after):
            pattern = attr(func, "op_pattern")
            if pattern is None:
                return "a PrimFunc has no op_pattern"
            if not 0 <= pattern <= OPAQUE:
                return "an op_pattern is no OpPatternKind"
            given = attr(before[gvar], "op_pattern")
            if given is not None and given != pattern:
                return "an op_pattern that was there is replaced"
        for gvar, relax_func in relax_functions(before):
            if not tvm_ffi.structural_equal(after[gvar], relax_func):
                return "a Relax function changes"
        return None


    def prim_funcs(mod):
        """The module's PrimFuncs."""
        return ((gv, f) for gv, f in mod.functions_items() if isinstance(f, tirx.PrimFunc))


    def relax_functions(mod):
        """The module's Relax functions, without PrimFuncs and external functions."""
        return ((gv, f) for gv, f in mod.functions_items() if isinstance(f, relax.Function))


    def attr(func, name):
        """An attribute of a function or module, or None."""
        attrs = func.attrs
        return None if attrs is None else attrs.get(name)


    OPAQUE = 8


    call = SimpleNamespace(expr='AnnotateTIROpPattern()', config={}, name='AnnotateTIROpPattern')
    wrong = _annotated(mod, apply(mod), call)
    assert wrong is None, wrong

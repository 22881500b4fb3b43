"""Passes on kernels and on the calls of them; each also without its mistake, as NAME_fixed."""

import tvm
import tvm_ffi
from common import is_call, is_public, kernels, named, relax_functions, with_functions
from tvm import relax, te, tirx, topi
from tvm.relax.expr_functor import PyExprMutator, mutator


def static_tensor(ty):
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        return False
    dims = ty.shape.values
    return len(dims) > 0 and all(isinstance(dim, tirx.IntImm) and dim > 0 for dim in dims)


def mutated(mod, kind, *args):
    m = kind(mod, *args)
    for gvar, func in relax_functions(mod).items():
        m.builder_.update_func(gvar, m.visit_expr(func))
    return m.builder_.get()


# -- loops ---------------------------------------------------------------------------------------


def has_blocks(func):
    return type(func.body).__name__ == "SBlockRealize" and func.body.block.name_hint == "root"


def parallelized(mod, fits):
    """The outermost loop of every nest is for all cores."""
    functions = dict(mod.functions_items())
    for gvar, func in kernels(mod).items():
        if not has_blocks(func):
            continue
        realize, root = func.body, func.body.block
        nests = list(root.body.seq) if isinstance(root.body, tirx.SeqStmt) else [root.body]
        if not any(fits(nest) for nest in nests):
            continue
        nests = [parallel(nest) if fits(nest) else nest for nest in nests]
        root = type(root)(
            root.iter_vars,
            root.reads,
            root.writes,
            root.name_hint,
            nests[0] if len(nests) == 1 else tirx.SeqStmt(nests),
            root.init,
            root.alloc_buffers,
            root.match_buffers,
            root.annotations,
        )
        body = type(realize)(realize.iter_values, realize.predicate, root)
        functions[gvar] = func.with_body(body)
    return with_functions(mod, functions)


def parallel(loop):
    kind = tirx.ForKind.PARALLEL
    return tirx.For(
        loop.loop_var,
        loop.min,
        loop.extent,
        kind,
        loop.body,
        annotations=loop.annotations,
        step=loop.step,
    )


def is_serial_loop(stmt):
    return isinstance(stmt, tirx.For) and stmt.kind == tirx.ForKind.SERIAL


def is_independent(stmt):
    """Every iteration of this loop writes elements of its own."""
    if not is_serial_loop(stmt):
        return False
    inner = stmt.body
    while is_serial_loop(inner):
        inner = inner.body
    if type(inner).__name__ != "SBlockRealize":
        return False
    variables = [stmt.loop_var]
    found = False
    for value, var in zip(inner.iter_values, inner.block.iter_vars, strict=True):
        if any(value.same_as(v) for v in variables):
            if var.iter_type != tirx.IterVar.DataPar:
                return False
            found = True
        elif not isinstance(value, tirx.IntImm | type(stmt.loop_var)):
            return False
    return found


parallel_outer = named("ParallelOuter", parallelized, fits=is_serial_loop)
parallel_outer_fixed = named("ParallelOuterFixed", parallelized, fits=is_independent)


def unrolled(mod, finish):
    """Inner loops of a few iterations are unrolled."""
    functions = dict(mod.functions_items())
    for gvar, func in kernels(mod).items():
        if not has_blocks(func):
            continue
        schedule = tvm.s_tir.Schedule(func)
        small = False
        for block in schedule.get_child_blocks(schedule.get_sblock("root")):
            loops = schedule.get_loops(block)
            loop = schedule.get(loops[-1]) if loops else None
            if is_serial_loop(loop) and isinstance(loop.extent, tirx.IntImm) and loop.extent <= 4:
                schedule.unroll(loops[-1])
                small = True
        if small:
            functions[gvar] = finish(schedule.mod["main"], gvar.name_hint)
    return with_functions(mod, functions)


def as_it_is(func, name):
    return func


# -- operators to kernels ------------------------------------------------------------------------

BINARY = {
    "relax.add": lambda a, b: a + b,
    "relax.multiply": lambda a, b: a * b,
    "relax.maximum": te.max,
    "relax.less": lambda a, b: a < b,
    "relax.greater": lambda a, b: a > b,
}


@mutator
class _Binary(PyExprMutator):
    def __init__(self, mod, result):
        super().__init__(mod)
        self.result = result

    def visit_call_(self, call):
        ty = call.ty
        call = super().visit_call_(call)
        name = next((name for name in BINARY if is_call(call, name)), None)
        if name is None:
            return call
        a, b = call.args
        if not static_tensor(a.ty) or not tvm_ffi.structural_equal(a.ty, b.ty):
            return call
        if str(a.ty.dtype) not in ("float32", "float64"):
            return call
        shape, dtype = a.ty.shape.values, str(a.ty.dtype)
        x, y = te.placeholder(shape, dtype, name="x"), te.placeholder(shape, dtype, name="y")
        z = te.compute(shape, lambda *i: BINARY[name](x(*i), y(*i)), name="z")
        kernel = te.create_prim_func([x, y, z]).without_attr("global_symbol")
        gvar = self.builder_.add_func(kernel, name.removeprefix("relax."))
        return relax.call_tir(gvar, [a, b], out_ty=self.result(a.ty, ty))


def binary_kernels(mod, result):
    """Binary operators on tensors of one shape become kernels."""
    return mutated(mod, _Binary, result)


lower_binary = named("LowerBinary", binary_kernels, result=lambda operand, result: operand)
lower_binary_fixed = named(
    "LowerBinaryFixed", binary_kernels, result=lambda operand, result: result
)


@mutator
class _Relu(PyExprMutator):
    def __init__(self, mod, made):
        super().__init__(mod)
        self.made = made

    def visit_call_(self, call):
        ty = call.ty
        call = super().visit_call_(call)
        if not is_call(call, "relax.nn.relu") or not static_tensor(call.args[0].ty):
            return call
        key = str(ty)
        if key not in self.made:
            x = te.placeholder(ty.shape.values, str(ty.dtype), name="x")
            kernel = te.create_prim_func([x, topi.nn.relu(x)]).without_attr("global_symbol")
            self.made[key] = self.builder_.add_func(kernel, "relu")
        return relax.call_tir(self.made[key], [call.args[0]], out_ty=ty)


# -- calls of kernels ----------------------------------------------------------------------------


def is_static(ty):
    return all(isinstance(dim, tirx.IntImm) for dim in ty.shape)


@mutator
class _Share(PyExprMutator):
    def __init__(self, mod, kept, fits):
        super().__init__(mod)
        self.kept, self.fits = kept, fits

    def visit_call_(self, call):
        ty = call.ty
        call = super().visit_call_(call)
        # those of unknown shapes are specialized later
        if not is_call(call, "relax.call_tir") or not self.fits(ty):
            return call
        kernel, args = call.args
        if kernel not in self.kept:
            return call
        return relax.Call(call.op, [self.kept[kernel], args], call.attrs, call.ty_args)


def shared(mod, fits):
    """Of equal kernels the first one is called; DeadCodeElimination drops the others."""
    private = [(g, f) for g, f in kernels(mod).items() if not is_public(f)]
    private.sort(key=lambda item: item[0].name_hint)
    kept = {}
    for i, (gvar, func) in enumerate(private):
        for other, twin in private[:i]:
            if other not in kept and tvm_ffi.structural_equal(func, twin):
                kept[gvar] = other
                break
    return mutated(mod, _Share, kept, fits)

"""Passes on kernels and on the calls of them; each also without its mistake, as NAME_fixed."""

import tvm_ffi
from common import is_call, kernels, named, relax_functions, with_functions
from tvm import relax, te, tirx
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


# -- calls of kernels ----------------------------------------------------------------------------

"""Helpers of the drafts; relaxfuzz finds them, since they lie beside the passes."""

import tvm
from tvm import relax, tirx

Constant = type(relax.const(0))


def array(expr):
    """The data of a constant, or None."""
    if not isinstance(expr, Constant) or not isinstance(expr.ty, relax.TensorType):
        return None
    return (expr.data if hasattr(expr, "data") else expr.value).numpy()


def scalar(expr):
    """The number in a constant of rank 0, or None."""
    data = array(expr)
    return None if data is None or data.ndim != 0 else data.item()


def number(expr):
    """The value of a number that is not a tensor, or None."""
    value = getattr(expr, "value", expr)
    value = getattr(value, "value", value)
    return value if isinstance(value, (int, float)) else None


def static_shape(expr):
    """The extents, or None if one is not known."""
    ty = expr.ty
    if not isinstance(ty, relax.TensorType) or not isinstance(ty.shape, relax.ShapeExpr):
        return None
    if not all(isinstance(dim, tirx.IntImm) for dim in ty.shape.values):
        return None
    return [int(dim) for dim in ty.shape.values]


def is_call(expr, *names):
    """True for a call of one of these operators."""
    return isinstance(expr, relax.Call) and any(expr.op == tvm.ir.Op.get(n) for n in names)


def is_public(func):
    return func.attrs is not None and "global_symbol" in func.attrs


def relax_functions(mod):
    return {g: f for g, f in mod.functions_items() if isinstance(f, relax.Function)}


def kernels(mod):
    return {g: f for g, f in mod.functions_items() if isinstance(f, tirx.PrimFunc)}


def with_functions(mod, functions):
    return tvm.IRModule(functions, attrs=mod.attrs, global_infos=mod.global_infos)


def updates_in_place(mod):
    """True if a tensor may change between its definition and its use."""
    found = []

    def visit(node):
        if isinstance(node, relax.Call) and isinstance(node.op, tvm.ir.Op):
            found.append("inplace" in node.op.name)

    for func in relax_functions(mod).values():
        relax.analysis.post_order_visit(func, visit)
    return any(found)


def named(name, function, **options):
    """A module pass from a function of the module."""

    @tvm.transform.module_pass(opt_level=0, name=name)
    def transform(mod, ctx):
        return function(mod, **options)

    return transform

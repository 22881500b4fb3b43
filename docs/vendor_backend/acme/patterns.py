"""What the accelerator takes: a product of matrices, then perhaps a bias, then perhaps relu."""

from tvm import relax, tirx
from tvm.relax.backend.pattern_registry import register_patterns
from tvm.relax.backend.patterns import make_matmul_pattern
from tvm.relax.backend.utils import has_leaking_intermediate_variables


def sizes(expr):
    """The shape of a float32 tensor, where all of it is known when code is generated."""
    ty = expr.ty
    if ty.dtype != "float32" or not isinstance(ty.shape, relax.ShapeExpr):
        return None
    if not all(isinstance(size, tirx.IntImm) for size in ty.shape.values):
        return None
    return [int(size) for size in ty.shape.values]


def takes(context):
    """The accelerator multiplies float32 matrices of sizes that are known."""
    if has_leaking_intermediate_variables(context):
        return False
    matched = context.annotated_expr
    operands = [sizes(matched[name]) for name in ("lhs", "rhs", "root")]
    return all(shape is not None and len(shape) == 2 for shape in operands)


def takes_bias(context):
    """A bias is one number for each column: a vector, or a matrix of one row."""
    if not takes(context):
        return False
    _, columns = sizes(context.annotated_expr["root"])
    bias = sizes(context.annotated_expr["bias"])
    return bias is not None and len(bias) <= 2 and bias[-1:] == [columns]


register_patterns(
    [
        ("acme.dense", *make_matmul_pattern(with_bias=False), takes),
        ("acme.dense_bias", *make_matmul_pattern(with_bias=True), takes_bias),
        ("acme.dense_bias_relu", *make_matmul_pattern(True, "relax.nn.relu"), takes_bias),
    ]
)

"""A type like the user's, completed so that the call in question is lowered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tvm import relax, tirx

from ..inspect import complete

_NAMES = ("n", "m", "k", "l", "p", "q")

USUAL = "float32"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A complete type for a variable."""

    name: str
    ty: Any
    new: tuple[str, ...]
    """Symbolic sizes that the module does not know yet."""

    def written(self, *, quoted: bool = False) -> str:
        """The type as TVMScript; sizes are quoted in signatures."""
        shaped = isinstance(self.ty, relax.TensorType)
        values = self.ty.shape.values if shaped else self.ty.values
        sizes = [
            str(value.value) if isinstance(value, tirx.IntImm) else str(value) for value in values
        ]
        if quoted:
            sizes = [size if size.isdigit() else f'"{size}"' for size in sizes]
        listed = ", ".join(sizes)
        if not shaped:
            return f"R.Shape([{listed}])"
        return f'R.Tensor(({listed}{"," * (len(sizes) == 1)}), "{_plain(self.ty.dtype)}")'

    @property
    def declared(self) -> str:
        """As a parameter."""
        return f"`{self.name}: {self.written(quoted=True)}`"

    @property
    def cast(self) -> str:
        """How to declare it of a variable that is there already."""
        symbols = f"`{', '.join(self.new)} = {', '.join(['T.int64()'] * len(self.new))}`, then "
        return (
            f"{symbols if self.new else ''}`{self.name}_known = R.match_cast({self.name}, "
            f"{self.written()})`, and go on with `{self.name}_known`."
        )


def suggested(var: relax.Var, use: relax.Call) -> Suggestion:
    """A type for a variable with which TVM infers what the call gives, if one can be found.

    Symbolic sizes of their own come first; where operands must fit one another, those of another
    operand do.
    """
    ty = var.ty
    name = str(var.name)
    if isinstance(ty, relax.ShapeType):
        sizes = _fresh(ty.ndim if ty.ndim >= 0 else 2)
        return Suggestion(name, relax.ShapeType(sizes), tuple(size.name for size in sizes))
    peers = [arg.ty for arg in use.args if isinstance(arg.ty, relax.TensorType)]
    given = getattr(ty, "dtype", None)
    dtypes = [_plain(dtype) for dtype in (given, *(p.dtype for p in peers)) if dtype is not None]
    dtype = next(iter(dtypes), USUAL)
    if isinstance(ty, relax.TensorType) and isinstance(ty.shape, relax.ShapeExpr):
        return Suggestion(name, relax.TensorType(ty.shape, dtype), ())
    shapes = [p.shape for p in peers if isinstance(p.shape, relax.ShapeExpr)]
    rank = getattr(ty, "ndim", -1)
    if rank < 0:
        rank = len(shapes[0].values) if shapes else 2
    sizes = _fresh(rank)
    own = Suggestion(name, relax.TensorType(sizes, dtype), tuple(size.name for size in sizes))
    others = (
        Suggestion(name, relax.TensorType(shape, dtype), ())
        for shape in shapes
        if len(shape.values) == rank
    )
    return next((each for each in (own, *others) if _fits(var, use, each.ty)), own)


def inferred(call: relax.Call, args: Sequence[Any] | None = None) -> Any:
    """The type that TVM infers for a call, or for one with other arguments; None: it refuses."""
    builder = relax.BlockBuilder()
    try:
        fresh = relax.Call(call.op, call.args if args is None else args, call.attrs, call.ty_args)
        with builder.testing_scope(def_vars=relax.analysis.free_symbolic_vars(fresh)):
            return builder.normalize(fresh).ty
    except Exception:
        return None


def _fits(var: relax.Var, use: relax.Call, ty: Any) -> bool:
    stand_in = relax.Var(var.name, ty)
    result = inferred(use, [stand_in if arg.same_as(var) else arg for arg in use.args])
    return result is not None and complete(result)


def _fresh(rank: int) -> list[tirx.Var]:
    names = _NAMES[:rank] if rank <= len(_NAMES) else [f"n{at}" for at in range(rank)]
    return [tirx.Var(name, "int64") for name in names]


def _plain(dtype: Any) -> str:
    return str(getattr(dtype, "dtype", dtype))

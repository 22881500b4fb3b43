"""Relax functions: the general one, and the special shapes that passes know by attribute."""

from ..bindings.kind import finish
from .attributed import bounded, codegen, composites, entry, primitive
from .called import helpers, recursive, tuple_helpers
from .general import general, scope
from .outside import outside
from .weights import differentiable, transform_params, weighted

__all__ = [
    "bounded",
    "codegen",
    "composites",
    "differentiable",
    "entry",
    "finish",
    "general",
    "helpers",
    "outside",
    "primitive",
    "recursive",
    "scope",
    "transform_params",
    "tuple_helpers",
    "weighted",
]

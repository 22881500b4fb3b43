"""What both languages are read into: top-level definitions, and the names in them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Definition:
    """A function, class, macro or variable at the top level of a file, or a statement there."""

    path: str
    """Relative to the checkout."""
    name: str | None
    """`.name` for a method that is looked up at run time; None for a statement."""
    text: str
    """Without comments, docstrings and layout: two versions of equal text behave alike."""
    mentions: frozenset[str] = frozenset()
    """Python: dotted names, resolved by the file's imports, and attributes as `.name`. C++:
    identifiers, with the innermost qualifier where there is one."""
    strings: frozenset[str] = frozenset()
    """String literals; some are names of global functions and attributes of operators."""
    functions: frozenset[str] = frozenset()
    """Global functions that it registers."""
    attributes: frozenset[str] = frozenset()
    """Attributes of operators that it sets, such as FLegalize."""
    namespace: tuple[str, ...] = ()
    """C++ only."""

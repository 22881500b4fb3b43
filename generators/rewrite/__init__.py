"""Rewriting Relax modules without any pass of TVM.

- `nodes`: helpers that take nodes apart and construct new ones.
- `scopes`: every binding of a function, with the bindings visible to it.
- `rewriter`: one walk over a module, with hooks for subclasses; types are inferred again.
- `dims`: the dimensions of a module, and the replacement of sizes.
- `change`: a rewrite described by data instead of a subclass: drop, replace, inline, merge.
"""

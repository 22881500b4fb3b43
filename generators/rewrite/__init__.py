"""Rewriting Relax modules without any pass of TVM.

- `nodes`: helpers that take nodes apart and construct new ones.
- `scopes`: every binding of a function and what is visible to it.
- `rewriter`: a module walked once, with hooks for subclasses; types are inferred anew.
- `dims`: all dimensions, and those of one size turned into another.
- `change`: a rewrite described by data instead of a subclass: drop, replace, inline, merge.
"""

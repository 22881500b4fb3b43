"""A sanitizer for PrimFuncs: accesses out of bounds, races, reads of unwritten memory.

- `run`: executes a PrimFunc and checks what it does.
- `text`: the Python code that does both.
- `runtime`: the functions that this code calls.
- `races`: accesses of different iterations that may conflict.
"""

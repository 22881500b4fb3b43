"""What a PrimFunc does that it may not: accesses outside of buffers, races, values nobody wrote.

- `run`: a PrimFunc is executed and watched.
- `text`: the Python code that does both.
- `runtime`: what that code calls.
- `races`: which accesses of different iterations meet.
"""

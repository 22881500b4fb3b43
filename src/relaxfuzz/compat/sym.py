"""TVM's symbolic analysis, under the name that the newest TVM gives it."""

IMPORT = """\
try:
    from tvm import sym
except ImportError:  # before TVM 0.27
    from tvm import arith as sym
"""
"""A statement for standalone files."""

try:
    from tvm import sym
except ImportError:
    from tvm import arith as sym

__all__ = ["IMPORT", "sym"]

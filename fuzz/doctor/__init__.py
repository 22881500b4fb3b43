"""Checks whether this environment is fit for relaxfuzz.

`environment` does not import TVM, which may be missing or kill the process. Checks that need TVM
are in `with_tvm`, and run in a separate process.
"""

"""Checks whether this environment is fit for relaxfuzz.

`environment` does not import TVM, which may be missing, or end the process. Checks that need TVM
are in `with_tvm`, and run in a process of their own.
"""

"""Is this environment fit for relaxfuzz? What is checked, and how.

`environment` imports no TVM: it may be missing, or end the process. What needs it, `with_tvm`, runs
in a process of its own.
"""

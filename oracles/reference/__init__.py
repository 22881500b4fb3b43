"""Reference passes: the right behaviour of passes of TVM, written a second time.

They follow the documentation of the passes, not their code in TVM, and put clarity before speed.
One is here because it alone shows a bug of TVM. Each can also be made with a fault that TVM had.
"""

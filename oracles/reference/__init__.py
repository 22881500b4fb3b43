"""Reference passes: independent implementations of passes of TVM.

They follow the documentation of the passes, not their code in TVM, and put clarity before speed.
Each is kept because it alone shows a bug of TVM, and can be made with a fault that TVM had.
"""

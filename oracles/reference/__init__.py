"""Reference passes: the right behaviour of passes of TVM that went wrong, written a second time.

They follow what the passes are documented to do, not how TVM does it, and put clarity before speed.
Each can also be made with the fault that the pass of TVM had.
"""

"""Kernels of devices: all threads of all blocks at once, one statement after the other."""

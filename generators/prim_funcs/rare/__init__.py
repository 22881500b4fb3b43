"""Rare features of PrimFuncs that single passes of TVM look for."""

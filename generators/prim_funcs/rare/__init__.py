"""What few PrimFuncs have, and single passes of TVM look for."""

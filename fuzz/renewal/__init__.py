"""Records of known bugs and stores of findings, made anew on the installed TVM."""

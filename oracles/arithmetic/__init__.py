"""What applies TVM's arithmetic analysis to expressions, and what of it is wrong."""

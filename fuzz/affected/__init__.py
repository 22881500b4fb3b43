"""Which passes a change of TVM's source affects."""

"""The passes that a change of TVM's source affects."""

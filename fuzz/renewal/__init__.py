"""Renewal of records of known bugs on the installed TVM."""

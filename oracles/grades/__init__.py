"""Grades: the order in which a maintainer of TVM would repair bugs; see docs/triage.md."""

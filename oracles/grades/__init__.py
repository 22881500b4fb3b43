"""Grades: the order in which a maintainer of TVM would fix bugs; see docs/triage.md."""

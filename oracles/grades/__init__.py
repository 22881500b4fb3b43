"""Grades: what a maintainer of TVM would repair first, by rules; docs/triage.md states them."""

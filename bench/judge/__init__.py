"""Planted faults, and the share of them that the oracles report: `make bench-judge`."""

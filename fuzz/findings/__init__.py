"""Findings: stored, put into rows, compared with known bugs, confirmed and replayed."""

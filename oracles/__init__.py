"""Promises to check: contracts of passes, oracles, evaluation, execution, reference passes."""

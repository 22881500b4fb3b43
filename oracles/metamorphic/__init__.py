"""Tier 2: a pass must treat modules that mean the same in the same way."""

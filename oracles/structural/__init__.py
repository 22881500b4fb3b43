"""Tier 1: oracles that look at what a pass returns, not at what it computes."""

"""Tier 1: oracles that check the form of a pass's result, not the values it computes."""

"""Tiers 3 and 4: a pass must not change what a module computes."""

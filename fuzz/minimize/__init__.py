"""Reductions: make a module smaller as long as a given property holds."""

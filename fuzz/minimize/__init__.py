"""Reductions: they make a module smaller while a given property holds."""

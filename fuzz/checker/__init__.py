"""Checks in real builds: a pass instrument, and what makes the builds of a script use it."""

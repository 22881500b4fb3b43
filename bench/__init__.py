"""The cost of checks, and of the same checks written by hand: `make bench`."""

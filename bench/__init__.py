"""What checks cost, and what the same costs written by hand: `make bench`."""

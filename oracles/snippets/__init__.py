"""Python for reproducers that shows wrong values."""

"""One bug is one row: which findings come of the same root cause, and why."""

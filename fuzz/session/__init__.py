"""A session on the command line: its store and workers, its output, its interruption."""

"""Jobs: the work of child processes, and the ways in which a driver requests it."""

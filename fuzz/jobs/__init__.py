"""Jobs: the work of a child process, and the ways in which a driver asks for it."""

"""The operating system: files, locks, limits, subprocesses."""

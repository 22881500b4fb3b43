"""Models of frameworks: the import, the default build and `relaxfuzz check`."""

"""The parts of `relaxfuzz minimize`."""

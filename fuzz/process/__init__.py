"""Isolation: the zygote, its forked children, and the messages between them and the driver."""

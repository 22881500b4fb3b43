"""Executed semantics of code for a device of this machine, checked on request."""

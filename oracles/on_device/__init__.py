"""Executed semantics of code for a device of this machine, where somebody asks for it."""

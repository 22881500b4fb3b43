"""Reads the input of users (modules, seeds and passes) in separate processes."""

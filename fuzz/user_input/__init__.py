"""Passes, modules and settings of users, and their errors."""

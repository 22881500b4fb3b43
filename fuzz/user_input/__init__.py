"""Passes, modules and settings of users, and errors in them."""

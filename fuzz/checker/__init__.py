"""Checks in real builds: a pass instrument, and the code that adds it to a script's builds."""

UNCAUGHT = "uncaught"
"""File with the numbers of the exceptions that the program did not catch."""

NUMBER = "relaxfuzz_finding"
"""The attribute of an exception that was logged as a finding; it holds the finding's number."""

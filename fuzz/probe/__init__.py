"""Finds out which parts of relaxfuzz work on the installed build of TVM; see `compat.availability`.

Run as `python -m relaxfuzz.fuzz.probe`; it prints an `Availability` as JSON and keeps it for the
next start. The trials are in `trials`, and their order is in `survey`.
"""

"""Finds out what of relaxfuzz works on the installed build of TVM; see `compat.availability`.

Run as `python -m relaxfuzz.fuzz.probe`; it prints an `Availability` as JSON, and keeps it for the
next start. `trials` has what is tried, `survey` in which order.
"""

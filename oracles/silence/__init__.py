"""Silences: the rules by which an oracle withholds a report, and the log of their use."""

"""Silences: the rules by which an oracle reports nothing, and the log of what they kept quiet."""

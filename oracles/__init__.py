"""What must hold: the contracts of passes, the oracles, evaluators and reference passes."""

KEY_FORMAT = 3
"""Version of the keys of violations, which are stored. It goes up when `keys` or an oracle makes
other keys of violations that are known. 1 had places of a build in the key, 2 accidents
of modules: where a second result differs first, and some names."""

LONGEST_MESSAGE = 200
"""Characters of a normalized message that count in a key: beyond them is what the compiler printed.
"""

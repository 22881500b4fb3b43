"""The benchmark of faulty passes: passes with known faults, and correct ones that look suspicious.

It is how relaxfuzz itself is judged. `make zoo` lets it loose on all of them, and
`test_witnesses.py` shows each fault without relaxfuzz's oracles.
"""

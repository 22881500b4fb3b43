"""Prints a digest of each module of a seed: `python -m tests.generators.digests 200`.

Two interpreters, two releases of NumPy, two PYTHONHASHSEEDs must print the same lines.
"""

from __future__ import annotations

import hashlib
import sys

from relaxfuzz.compat.serialization import save_json
from relaxfuzz.fuzz.jobs.draw import example
from relaxfuzz.generators.modules import ir_modules

SEED = 7


def main(count: int) -> None:
    modules = ir_modules()
    for index in range(count):
        text = save_json(example(modules, SEED, index))
        print(index, hashlib.sha256(text.encode()).hexdigest())


if __name__ == "__main__":
    main(int(sys.argv[1]))

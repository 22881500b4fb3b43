"""The identities and consequences of the records that relaxfuzz ships: `make records`.

It also writes the list of functions that several of them share.
"""

from __future__ import annotations

import argparse
import itertools
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from relaxfuzz.corpus.knowns import SHIPPED, knowns
from relaxfuzz.fuzz.process.local_pool import LocalPool
from relaxfuzz.fuzz.renewal.records import renew
from relaxfuzz.oracles.identity import SHARED, FailureKind, Identity, Sameness, compare

FEW = 2
"""Most records that may share a function; if more share it, it does not point to a cause."""


def shared(every: Iterable[tuple[str, Identity]]) -> list[str]:
    """The functions that occur in more than `FEW` records.

    Args:
        every: names of records, each with an identity.
    """
    of_records = {
        (name, function)
        for name, identity in every
        if identity.failure in (FailureKind.RAISES, FailureKind.DIES)
        for function in identity.site
    }
    counts = Counter(function for _, function in of_records)
    return sorted(function for function, count in counts.items() if count > FEW)


def alike(every: Iterable[tuple[str, Identity]]) -> list[tuple[str, str]]:
    """Pairs of records that share an identity."""
    found = list(every)
    near: dict[tuple[object, ...], list[int]] = defaultdict(list)
    for number, (_, identity) in enumerate(found):
        for blamed in identity.blamed:  # Identities with none in common are never the same.
            near[identity.failure, identity.how, blamed].append(number)
    pairs = {
        tuple(sorted((found[first][0], found[second][0])))
        for numbers in near.values()
        for first, second in itertools.combinations(numbers, 2)
        if found[first][0] != found[second][0]
        and compare(found[second][1], found[first][1]) is Sameness.SAME
    }
    return sorted((one, other) for one, other in pairs)


def main() -> int:
    """Renew the records that relaxfuzz ships; print the kept ones and the pairs with one identity.

    Names on the command line restrict this to these records.
    """
    parser = argparse.ArgumentParser(prog="make records", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="renew only these records")
    names = parser.parse_args().names
    shipped = {path.stem: path for path in sorted(SHIPPED.glob("*.toml"))}
    if unknown := [name for name in names if name not in shipped]:
        parser.error(f"no record has the name {unknown[0]!r}")
    files = [shipped[name] for name in names or shipped]
    with LocalPool(2) as pool, ThreadPoolExecutor(2) as threads:
        for path, why_not in zip(files, threads.map(lambda p: renew(p, pool), files), strict=True):
            if why_not:
                print(f"{path.stem}: kept: {why_not}", flush=True)
    every = [(each.name, identity) for each in knowns() for identity in each.identities]
    SHARED.write_text("".join(f"{name}\n" for name in shared(every)), encoding="utf-8")
    for one, other in alike(every):
        print(f"{one} and {other} have one identity")
    return 0


if __name__ == "__main__":
    sys.exit(main())

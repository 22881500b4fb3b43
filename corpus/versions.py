"""On which versions of TVM a bug shows, as records and headers of the corpus state it.

    fails on 0.17.dev0, 0.25.0.post1; fixed in 0.27.0.post1

`fails on` names every version on which the reproducer was seen to fail in the same way, `fixed in`
the oldest one on which it was seen to pass. A version on which it was not run, or cannot run, is
not named: it is expected to behave like the versions before it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_CLAIM = re.compile(r"fails on ([^;]+)(?:; fixed in ([^;,]+))?")
_VERSION = re.compile(
    r"(?P<release>\d+(?:\.\d+)*)(?:\.?(?P<pre>a|b|rc)(?P<of>\d*))?(?:\.?post(?P<post>\d*))?"
    r"(?:\.?dev(?P<dev>\d*))?(?:\+\S+)?"
)

Order = tuple[tuple[int, ...], tuple[str, int], int, float]


@dataclass(frozen=True, slots=True)
class Claim:
    """The versions on which a reproducer fails."""

    fails_on: tuple[str, ...]
    fixed_in: str | None = None

    def expects_failure(self, version: str) -> bool:
        """Whether it is expected to fail: until it was seen to pass, and not after.

        Raises:
            ValueError: `version` is not a version.
        """
        if self.fixed_in is None or order(version) in map(order, self.fails_on):
            return True
        return order(version) < order(self.fixed_in)


def claim(text: str) -> Claim:
    """Read `fails on VERSION, ...; fixed in VERSION`, where the second part may be missing.

    Raises:
        ValueError: the text is not of that form.
    """
    match = _CLAIM.fullmatch(text)
    if match is None:
        raise ValueError(f"Expected 'fails on VERSION, ...; fixed in VERSION' but got {text!r}")
    fails_on = tuple(version.strip() for version in match[1].split(","))
    fixed_in = match[2]
    for version in (*fails_on, *([fixed_in] if fixed_in else [])):
        order(version)
    return Claim(fails_on, fixed_in)


def order(version: str) -> Order:
    """A key that sorts as versions do: 0.27.dev1 < 0.27.0rc1 < 0.27.0 < 0.27.0.post1.

    Raises:
        ValueError: `version` is not a version.
    """
    match = _VERSION.fullmatch(version)
    if match is None:
        raise ValueError(f"Expected a version such as 0.27.0.post1 but got {version!r}")
    release = [int(part) for part in match["release"].split(".")]
    while release and release[-1] == 0:
        release.pop()
    post = -1 if match["post"] is None else int(match["post"] or 0)
    dev = math.inf if match["dev"] is None else int(match["dev"] or 0)
    # The empty text sorts before "a", "b" and "rc": development versions come before them.
    final = "" if post < 0 and dev < math.inf else "release"
    return tuple(release), (match["pre"] or final, int(match["of"] or 0)), post, dev

"""The versions of TVM on which a bug shows, as records and headers of the corpus state them.

    fails on 0.17.dev0, 0.25.0.post1; fixed in 0.27.0.post1
    fails on 0.27.0.post1; new in 0.27.0.post1

`fails on` names every version on which the reproducer was seen to fail in the same way; `fixed in`
the oldest version after these on which it was seen to pass; `new in` the oldest failing version, if
it was seen to pass on an older one. A version on which it was not run, or cannot run, is not named:
it is expected to behave like the versions before it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

_CLAIM = re.compile(r"fails on ([^;]+)(?:; new in ([^;,]+))?(?:; fixed in ([^;,]+))?")
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
    new_in: str | None = None

    def __str__(self) -> str:
        new = "" if self.new_in is None else f"; new in {self.new_in}"
        fixed = "" if self.fixed_in is None else f"; fixed in {self.fixed_in}"
        return f"fails on {', '.join(self.fails_on)}{new}{fixed}"

    def passing(self, version: str) -> Claim | None:
        """The claim after the reproducer was seen to pass on a version; None: nothing is left."""
        left = tuple(each for each in self.fails_on if order(each) != order(version))
        if not left:
            return None
        oldest = min(left, key=order)
        if order(version) < order(oldest):
            return Claim(left, self.fixed_in, new_in=oldest)
        return Claim(left, version, self.new_in)

    def expects_failure(self, version: str) -> bool:
        """True if it is expected to fail: from `new_in` until it was seen to pass.

        Raises:
            ValueError: `version` is not a version.
        """
        at = order(version)
        if at in map(order, self.fails_on):
            return True
        return (self.new_in is None or order(self.new_in) <= at) and (
            self.fixed_in is None or at < order(self.fixed_in)
        )


def claim(text: str) -> Claim:
    """Read `fails on VERSION, ...; new in VERSION; fixed in VERSION`; only the first is needed.

    Raises:
        ValueError: the text is not of that form.
    """
    match = _CLAIM.fullmatch(text)
    if match is None:
        expected = "fails on VERSION, ...; new in VERSION; fixed in VERSION"
        raise ValueError(f"Expected {expected!r} but got {text!r}")
    fails_on = tuple(version.strip() for version in match[1].split(","))
    new_in, fixed_in = match[2], match[3]
    for version in filter(None, (*fails_on, new_in, fixed_in)):
        order(version)
    return Claim(fails_on, fixed_in, new_in)


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

"""Which TVM is installed, and whether it can be used at all.

It imports without TVM, so that a missing or unsuitable TVM is refused with a sentence, not with a
traceback from inside an extension module.
"""

import importlib
import importlib.metadata
import os
import platform
import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING

from .build import identity

if TYPE_CHECKING:
    pass

OLDEST = (0, 26)
NEWEST_TESTED = (0, 27)

# Saving any typed node as JSON crashes the process with these.
_BAD_FFI = {"0.27.0": frozenset({"0.1.15.post1", "0.1.15.post2"})}
_GOOD_FFI = {"0.27.0": "0.1.14.post1"}


class TVMUnsupported(Exception):
    """TVM is missing, too old, or known to crash; the message says what to install."""


def require_tvm() -> dict[str, str]:
    """Check that a usable TVM is installed, import it and return `versions()`.

    Raises TVMUnsupported with the remedy; warns once of a TVM newer than any tested.
    """
    refuse_bad_ffi()
    try:
        tvm = importlib.import_module("tvm")
    except Exception as error:
        reason = (str(error).strip().splitlines() or [repr(error)])[-1]
        raise TVMUnsupported(
            f"cannot import tvm: {type(error).__name__}: {reason}\n"
            "Install it with: pip install 'relaxfuzz[tvm]'"
        ) from error
    release = _release(tvm.__version__)
    if release < OLDEST:
        raise TVMUnsupported(
            f"TVM {tvm.__version__} is too old: {_dotted(OLDEST)} is the oldest release supported"
        )
    if release > NEWEST_TESTED:
        warnings.warn(
            f"TVM {tvm.__version__} is newer than {_dotted(NEWEST_TESTED)}, the newest tested",
            stacklevel=2,
        )
    return versions()


def refuse_bad_ffi() -> None:
    """Refuse a pair of distributions known to crash, before either is loaded.

    Raises TVMUnsupported with the remedy.
    """
    tvm_version, ffi = _distribution("apache-tvm"), _distribution("apache-tvm-ffi")
    for base, bad in _BAD_FFI.items():
        if tvm_version is not None and _base(tvm_version) == base and ffi in bad:
            raise TVMUnsupported(
                f"apache-tvm-ffi {ffi} crashes apache-tvm {tvm_version} in tvm.ir.save_json\n"
                f"Install another one: pip install 'apache-tvm-ffi=={_GOOD_FFI[base]}'"
            )


def versions() -> dict[str, str]:
    """The versions that a finding depends on; "unknown" for what cannot be found out."""
    import numpy
    import tvm
    import tvm_ffi

    return {
        "tvm": tvm.__version__,
        "tvm_git": git_hash(),
        "tvm_build": identity(),
        "tvm_ffi": tvm_ffi.__version__,
        "numpy": numpy.__version__,
        "hypothesis": _distribution("hypothesis") or "unknown",
        "python": platform.python_version(),
    }


BUILD = ("tvm", "tvm_git", "tvm_build")
"""The keys of `versions` that together name a build of TVM."""


def same_build(one: Mapping[str, str], other: Mapping[str, str]) -> bool:
    """Whether both are `versions` with one build of TVM."""
    return all(one.get(key) == other.get(key) for key in BUILD)


def build_name(versions: Mapping[str, str]) -> str:
    """`TVM 0.28.dev0 (git 1a2b3c4d5e, build 0f1e2d3c4b5a6978)`, for people."""
    git, build = (versions.get(key, "unknown") for key in BUILD[1:])
    known = [f"git {git[:10]}"] if git != "unknown" else []
    known += [f"build {build}"] if build != "unknown" else []
    return " ".join(
        ["TVM", versions.get("tvm", "unknown"), *([f"({', '.join(known)})"] if known else [])]
    )


def tvm_folder() -> str:
    """The folder of the Python package `tvm`."""
    import tvm

    return os.path.dirname(str(tvm.__file__))


def git_hash() -> str:
    """The commit that TVM was built from; "unknown" in builds that do not record it."""
    import tvm

    info: dict[str, str] = dict(tvm.support.libinfo())
    found = str(info.get("GIT_COMMIT_HASH") or "")
    return found if re.fullmatch(r"[0-9a-f]{7,40}", found) else "unknown"


def tvm_version() -> str:
    """The release of the installed TVM."""
    import tvm

    return str(tvm.__version__)


def is_installed(version: str) -> bool:
    """Whether this is the release of the installed TVM."""
    return version == tvm_version()


def _distribution(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _release(version: str) -> tuple[int, ...]:
    """(major, minor) of a version such as "0.28.dev0+g1a2b3c"."""
    found = re.match(r"v?(\d+)\.(\d+)", version)
    if found is None:
        raise TVMUnsupported(f"expected a version like 0.27.0 but tvm.__version__ is {version!r}")
    return int(found[1]), int(found[2])


def _base(version: str) -> str:
    return re.sub(r"\.post\d+.*", "", version)


def _dotted(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))

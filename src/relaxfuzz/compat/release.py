"""The installed TVM, and the check that it can be used at all.

This module imports without TVM, so that a missing or unsuitable TVM is refused with a sentence, not
with a traceback from inside an extension module.
"""

import importlib
import importlib.metadata
import importlib.util
import os
import platform
import re
import signal
import subprocess
import sys
import warnings
from collections.abc import Mapping
from pathlib import Path

from . import torch_hidden
from .build import identity

OLDEST = (0, 26)
NEWEST_TESTED = (0, 27)

TESTED_FFI = "0.1.14.post1"
"""The release of apache-tvm-ffi with which all tested releases of TVM work."""

# 0.1.13 lacks one of the two names, and 0.1.15 dies in the last line.
_TRIAL = """\
import tvm
from tvm_ffi import serialization, structural_map, structural_walk
serialization.to_json_graph_str(tvm.ir.PrimType("int32"))
"""

_TRIED = "RELAXFUZZ_TRIED_FFI"
"""The environment variable with the path of the ffi that this process, or a parent, has tried."""


class TVMUnsupported(Exception):
    """TVM is missing, too old, or known to crash; the message says what to install."""


def require_tvm() -> dict[str, str]:
    """Check that a usable TVM is installed, import it and return `versions()`.

    Raises TVMUnsupported with the remedy; warns once of a TVM newer than any tested.
    """
    refuse_bad_ffi()
    try:
        tvm = torch_hidden.import_tvm()
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
    """Refuse an ffi that crashes TVM or lacks features that relaxfuzz needs, before it is loaded.

    Any ffi but the tested release is tried in a separate process, once for all child processes.

    Raises TVMUnsupported with the remedy.
    """
    spec = importlib.util.find_spec("tvm_ffi")
    if spec is None or spec.origin is None or os.environ.get(_TRIED) == spec.origin:
        return
    name, release = _ffi(Path(spec.origin))
    if release == TESTED_FFI:
        return
    ended = subprocess.run(
        [sys.executable, "-c", _TRIAL],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    *_, last = ["", *ended.stderr.strip().splitlines()]
    if ended.returncode < 0:
        end = signal.Signals(-ended.returncode).name
        failure = f"crashes TVM when a module is saved as JSON ({end})"
    elif last.startswith("ImportError: cannot import name"):
        failure = f"lacks what relaxfuzz needs ({last})"
    else:  # it works; or TVM cannot be imported, which `require_tvm` reports
        os.environ[_TRIED] = spec.origin
        return
    raise TVMUnsupported(
        f"{name} {failure}\n"
        "Install the one that your TVM was built with; for a release of TVM: "
        f"pip install 'apache-tvm-ffi=={TESTED_FFI}'"
    )


def _ffi(file: Path) -> tuple[str, str | None]:
    """The name of the ffi for messages, and its release if it is the installed distribution's."""
    try:
        installed = importlib.metadata.distribution("apache-tvm-ffi")
    except importlib.metadata.PackageNotFoundError:
        return f"the tvm_ffi in {file.parent}", None
    if Path(str(installed.locate_file("tvm_ffi"))).resolve() != file.parent.resolve():
        return f"the tvm_ffi in {file.parent}", None  # PYTHONPATH comes before the distribution
    return f"apache-tvm-ffi {installed.version}", installed.version


def versions() -> dict[str, str]:
    """The versions that a finding depends on; "unknown" for those that cannot be determined."""
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
    """True if both are `versions` with one build of TVM."""
    return all(one.get(key) == other.get(key) for key in BUILD)


def build_name(versions: Mapping[str, str]) -> str:
    """`TVM 0.28.dev0 (git 1a2b3c4d5e, build 0f1e2d3c4b5a6978)`, for people."""
    git, build = (versions.get(key, "unknown") for key in BUILD[1:])
    known = [f"git {git[:10]}"] if git != "unknown" else []
    known += [f"build {build}"] if build != "unknown" else []
    details = f" ({', '.join(known)})" if known else ""
    return f"TVM {versions.get('tvm', 'unknown')}{details}"


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
    """True if this is the release of the installed TVM."""
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


def _dotted(release: tuple[int, ...]) -> str:
    return ".".join(map(str, release))

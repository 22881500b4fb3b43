"""A store with a bit of everything, its report, and a browser."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest

from relaxfuzz.fuzz.findings.finding import Finding
from relaxfuzz.fuzz.findings.known import Choice, Expected
from relaxfuzz.fuzz.findings.rows import Rows
from relaxfuzz.fuzz.findings.runs import Run
from relaxfuzz.fuzz.findings.store import Store
from relaxfuzz.fuzz.jobs.evidence import Evidence
from relaxfuzz.fuzz.process.targets import Origin, PassStats
from relaxfuzz.fuzz.report.data import Report, gather
from relaxfuzz.oracles.exhibit import Exhibit
from relaxfuzz.oracles.passcall import PassCall
from relaxfuzz.oracles.text.frames import Trace
from relaxfuzz.oracles.violation import Violation
from tests.fuzz.changed import changed

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")

MODULE = """\
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        return x
"""

BASE = Finding(
    violation=Violation(
        "InternalError: Check failed: (it != end) is false",
        "Traceback (most recent call last):\n  ...\nInternalError: Check failed",
        ("InternalError", "Check failed"),
        "fuse_ops.cc:12",
        Trace(("Grouping::Visit",), "(it != end)"),
        oracle="crash",
        pass_name="FuseOps",
    ),
    module="{}",
    source="mod = None\n",
    calls=(PassCall("FuseOps(fuse_opt_level=2)"),),
    origin=Origin(7, 3),
    versions={"tvm": "0.27.0.post1", "numpy": "2.4.0"},
    confirmed=True,
    reduced=True,
)

Make = Callable[..., Finding]


@pytest.fixture(scope="session")
def make() -> Make:
    """A finding like `BASE`; another title makes it another one."""

    def made(**fields: object) -> Finding:
        title = fields.get("title", BASE.title)
        return changed(BASE, **{"key": (str(title),), **fields})

    return made


@pytest.fixture(scope="session")
def expected() -> Expected:
    """The knowns that come with relaxfuzz."""
    return Choice().load("0.27.0.post1")


@pytest.fixture(scope="session")
def known(make: Make, expected: Expected) -> Finding:
    """A finding that is known: a weight that the function returns."""
    (root,) = (each for each in expected.knowns if each.name == "lift-params-undefined-output")
    identity = root.identities[0]
    return make(
        title="ill-formed: Var is not defined.",
        oracle="well-formed",
        pass_name="LiftTransformParams",
        key=identity.site,
        trace=Trace(condition=identity.condition),
        calls=(PassCall("LiftTransformParams()"),),
        evidence=Evidence(ingredients=tuple(sorted(identity.ingredients or ()))),
    )


def run(**fields: object) -> Run:
    """A run of FuseOps, a user's pass and a pipeline."""
    stats = {
        "FuseOps": PassStats(400, 100, 3, 2.0, 100, {"evaluated": 380, "json": 40}),
        "MyPass()": PassStats(1000, 0, 0, 2.0, 0, {}),
        "default": PassStats(20, 0, 0, 4.0, 0, {"builds": 5}),
    }
    fields = {
        "command": "run",
        "started": 1_800_000_000.0,
        "seed": 7,
        "workers": 2,
        "versions": {"tvm": "0.27.0.post1", "numpy": "2.4.0", "python": "3.11.7"},
        "passes": ("FuseOps", "MyPass()"),
        "seconds": 60.0,
        "modules": 120,
        "checks": 1420,
        "stats": stats,
        "known_reports": {"FuseOps": 20},
        "finished": True,
        **fields,
    }
    return Run(**fields)  # type: ignore[arg-type]  # its fields


@pytest.fixture(scope="session")
def a_run() -> Callable[..., Run]:
    """Makes a run, with these fields."""
    return run


def together(rows: Rows, *findings: Finding) -> None:
    """Put findings in one row, as of one bug."""
    for finding in findings:
        rows.enter(finding.id, findings[0].identity)


@pytest.fixture(scope="session")
def one_row() -> Callable[..., None]:
    """See `together`."""
    return together


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory, make: Make, known: Finding) -> Iterator[Store]:
    """Two runs: the first found a crash in two ways, the second one found it and a wrong value."""
    exhibit = Exhibit(
        MODULE, "before FuseOps", MODULE, "after FuseOps", MODULE.replace("return x", "return y")
    )
    crash = make()
    again = make(title="InternalError: another way", pass_name="FuseTIR", key=("again",))
    wrong = make(
        title="computes other values",
        oracle="evaluated",
        trace=Trace(),
        detail="main: result differs at [0, 1]: 3 and 4",
        exhibit=exhibit,
    )
    with Store(tmp_path_factory.mktemp("store") / "out") as store:
        store.publish(crash, "raise SystemExit('crash')\n")
        store.put(again)
        together(store.rows, crash, again)
        store.publish(wrong, "import tvm\n\nassert 1 == 2, '<b>wrong</b> & so on'\n")
        store.put(known)
        store.put(make(title="flaky", confirmed=False))
        store.rows.judge(crash.id, verdict="reported", note="see the mailing list")
        for reported in ((crash.id,), (crash.id, wrong.id)):
            store.runs.save(store.runs.begin(run()), run(found=reported))
        yield store


@pytest.fixture(scope="session")
def report(store: Store, expected: Expected) -> Report:
    """Of `store`."""
    return gather(store, expected)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A real Chromium, without a window."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.skip(f"none of {', '.join(CHROMIUM)} is installed")
    with api.sync_playwright() as playwright:
        # As root, which containers use, it has no sandbox.
        browser = playwright.chromium.launch(
            executable_path=path, chromium_sandbox=os.geteuid() != 0
        )
        yield browser
        browser.close()

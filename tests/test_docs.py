"""Every snippet of the README and of docs/ runs."""

from __future__ import annotations

import importlib
import os
import re
import runpy
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Collection, Sequence
from pathlib import Path

import pytest
from tvm import relax

from .commands import relaxfuzz

pytestmark = pytest.mark.session

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BIN = Path(sys.executable).parent

EXAMPLE = ROOT / "docs" / "vendor_backend"
"""A project whose files pages show in part; `test_vendor_backend` runs it."""

FOUND_OR_NOT = {0, 1}

NOTHING_TO_COMPARE = {
    "relaxfuzz check model.py my_passes.py:factory",
}
"""The pass leaves this module as it is: exit code 4 says so."""

NEEDS = {"exported.py:make": "torch"}
"""Files of pages that need an extra, and the package that stands for it."""

ELSEWHERE = ("make ", "pip ", "python3 -m venv ", "mkdir ", "source ", "pytest --hypothesis")
"""Commands that set up an environment, which the continuous integration does; and the tests of the
example."""

OUT = "FOLDER"
"""The place of the folder that a command writes to, in `SMALL`."""

SMALL = {
    "generate": "--modules 3 --seed 1 --out FOLDER",
    "check": "--budget 10s",
    "minimize": "--budget 10s",
    "nightly": "--modules 1 --workers 1 --seed 1 --out FOLDER",
    "run": "--modules 1 --workers 1 --seed 1 --out FOLDER",
}
"""What a command gets on top, so that it ends soon; an option that it has already stays."""


def blocks(page: Path, kind: str) -> list[str]:
    return [text for found, text in BLOCK.findall(page.read_text()) if found == kind]


def shown(code: str) -> Path | None:
    """The file of the example that a snippet is a part of, by the name in its first line."""
    first, _, _ = code.partition("\n")
    file = EXAMPLE / first.removeprefix("# ")
    return file if first.startswith("# ") and file.is_file() else None


def test_parts_of_files() -> None:
    parts = [code for page in PAGES for code in blocks(page, "python") if shown(code)]
    assert parts
    for code in parts:
        file = shown(code)
        assert file is not None
        assert code.partition("\n")[2] in file.read_text(), f"{file} without {code}"


@pytest.mark.parametrize(
    ("page", "code"),
    [
        pytest.param(page, code, id=f"{page.stem}-{i}")
        for page in PAGES
        for i, code in enumerate(blocks(page, "python"))
        if shown(code) is None
    ],
)
def test_python(page: Path, code: str, tmp_path: Path) -> None:
    file = tmp_path / "test_snippet.py"
    file.write_text(code)
    command = [sys.executable, str(file)]
    if "def test_" in code:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(file)]
    # Specimens are in the checkout, not in the package.
    env = {**os.environ, "PYTHONPATH": str(ROOT)} if "from tests." in code else None
    run = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, env=env
    )
    # The example fuzzes TVM itself, so that its test may well find a bug.
    found = "PassViolation" in run.stdout
    assert run.returncode == 0 or found, run.stdout + run.stderr


def test_the_fixed_pass_of_the_tutorial_keeps_what_is_known_of_a_shape(tmp_path: Path) -> None:
    (code,) = (
        each for each in blocks(ROOT / "docs/first-ten-minutes.md", "python") if FIXED in each
    )
    x = relax.Var("x", relax.ShapeType(ndim=1))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        zeros = builder.emit(relax.op.zeros(x, "float32"))
        one = builder.emit(relax.op.ones((2, 3), "int64"))
        sums = [builder.emit(relax.op.add(each, each)) for each in (zeros, one)]
        builder.emit_func_output(relax.Tuple(sums))
    (tmp_path / "fixed.py").write_text(code)
    after = runpy.run_path(str(tmp_path / "fixed.py"))["double"](builder.get())
    assert relax.analysis.check_well_formed(after)
    assert "R.multiply(" in after.script()
    assert "R.add(" in after.script()


FIXED = "# fixed.py"


def lines(block: str) -> list[str]:
    """The commands of a block, without comments."""
    return [
        line.removeprefix("$ ").split("  #")[0].strip()
        for line in block.splitlines()
        if line.startswith("$ ")
    ]


def is_scene(block: str) -> bool:
    """Its commands belong together: some of them run while others do."""
    return any(line.endswith("&") for line in lines(block))


def small(words: Sequence[str]) -> list[str]:
    """The words of a command with less to do."""
    words = list(words)
    if words[0] != "relaxfuzz":
        return words
    if words[1] in ("run", "nightly") and "--budget" in words:
        at = words.index("--budget")
        del words[at : at + 2]
    extra = shlex.split(SMALL.get(words[1], ""))
    for option, value in zip(extra[::2], extra[1::2], strict=True):
        if option in ("--modules", "--budget") and option in words:
            words[words.index(option) + 1] = value
        elif option not in words:
            words += [option, value]
    return words


def commands() -> list[str]:
    found = {
        line
        for page in PAGES
        for block in blocks(page, "console")
        if not is_scene(block)
        for line in lines(block)
    }
    ours = sorted(line for line in found if not line.startswith(ELSEWHERE))
    # Pages differ in the time that they give a command, which is cut here.
    return list({" ".join(small(shlex.split(line))): line for line in reversed(ours)}.values())


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files that the pages speak of."""
    folder = tmp_path_factory.mktemp("docs")
    (folder / "corpus").symlink_to(ROOT / "corpus")
    (folder / ".venv").symlink_to(sys.prefix)
    for part in EXAMPLE.iterdir():
        (folder / part.name).symlink_to(part)
    for code in (code for page in PAGES for code in blocks(page, "python")):
        name = re.match(r"# (\w+\.py)\n", code)
        if name is not None and shown(code) is None:
            file = folder / name[1]
            assert not file.exists(), f"two pages have a file {name[1]}"
            file.write_text(code)
    model = (
        "import tvm\n"
        "from relaxfuzz.fuzz.jobs.draw import example\n"
        "from relaxfuzz.generators.modules import ir_modules\n"
        "from relaxfuzz.generators.source import to_source\n"
        "mod = example(ir_modules(ops=['add'], max_functions=1), 0, 1)\n"
        "open('model.json', 'w').write(tvm.ir.save_json(mod))\n"
        "make = '\\n\\ndef make():\\n    return mod\\n'\n"
        "open('model.py', 'w').write(to_source(mod) + make)\n"
    )
    subprocess.run([sys.executable, "-c", model], cwd=folder, check=True, capture_output=True)
    relaxfuzz("run", "ToNonDataflow", "--modules", "1", cwd=folder)
    (folder / "nightly.toml").write_text('passes = ["ToNonDataflow"]\n')
    package = folder / "tvm/python/tvm/relax/transform/__init__.py"
    package.parent.mkdir(parents=True)
    package.touch()
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-b", "main"], ["add", "."], [*author, "commit", "-m", "TVM"]):
        subprocess.run(["git", *command], cwd=folder / "tvm", check=True, capture_output=True)
    relaxfuzz("check", "unknown.py", "LegalizeOps", "--no-known", cwd=folder)
    for machine in ("machine-1", "machine-2"):
        shutil.copytree(folder / "relaxfuzz-out", folder / machine)
    return folder


@pytest.mark.parametrize("line", commands())
def test_command(line: str, workplace: Path, tmp_path: Path) -> None:
    words = shlex.split(line)
    for package in {package for file, package in NEEDS.items() if file in words}:
        pytest.importorskip(package)
    if words[0] == "pytest":
        run_pytest(words[1:], workplace)
        return
    codes = FOUND_OR_NOT | {4} if line in NOTHING_TO_COMPARE else FOUND_OR_NOT
    if line in AFTER:  # tests run in any order
        relaxfuzz(*shlex.split(AFTER[line])[1:], cwd=workplace)
    run_small(words, workplace, tmp_path, codes)


AFTER = {"relaxfuzz findings split 7c14": "relaxfuzz findings merge 3215 7c14"}
"""Commands that need another one to be run before."""


def run_small(
    words: list[str], workplace: Path, tmp_path: Path, codes: Collection[int] = FOUND_OR_NOT
) -> None:
    """A command of relaxfuzz, so that it ends soon.

    Args:
        codes: the exit codes that it may have.
    """
    assert words[0] == "relaxfuzz", f"{words} is neither set-up nor a command of relaxfuzz"
    if words[1] in ("run", "nightly"):
        codes = {*codes, 4}  # one module may be none that the pass changes
    words = [str(tmp_path) if word == OUT else word for word in small(words)]
    run = relaxfuzz(*words[1:], cwd=workplace, env={"COLUMNS": "100"})
    assert run.returncode in codes, run.stdout + run.stderr


def run_pytest(words: list[str], workplace: Path) -> None:
    """The plugin with few modules."""
    for option, value in {"--relaxfuzz-modules": "3", "--relaxfuzz-budget": None}.items():
        if option in words:
            at = words.index(option)
            del words[at : at + 2]
        if value is not None:
            words += [option, value]
    options = ["-q", "-p", "no:cacheprovider", "--ignore-glob=*test_*.py"]
    command = [sys.executable, "-m", "pytest", *options, *words]
    run = subprocess.run(command, cwd=workplace, capture_output=True, text=True, check=False)
    codes = FOUND_OR_NOT | {4}  # of three modules, none may be one that the pass changes
    assert run.returncode in codes, run.stdout + run.stderr


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=f"{page.stem}-{i}")
        for page in PAGES
        for i, block in enumerate(blocks(page, "console"))
        if is_scene(block)
    ],
)
def test_scene(block: str, workplace: Path, tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    jobs: list[subprocess.Popen[bytes]] = []
    try:
        for line in lines(block):
            words = shlex.split(line.replace("8786", port).replace("cluster.json", f"{port}.json"))
            match words:
                case ["dask", *_, "&"]:
                    jobs.append(background(words[:-1], workplace))
                case ["kill", *numbers]:
                    for number in numbers:
                        job = jobs[int(number.removeprefix("%")) - 1]
                        assert job.poll() is None, f"{job.args!r} has ended by itself"
                        job.terminate()
                        job.wait(60)
                case _:
                    run_small(words, workplace, tmp_path)
        assert all(job.poll() is not None for job in jobs), "something is left running"
    finally:
        for job in jobs:
            if job.poll() is None:
                os.killpg(job.pid, signal.SIGKILL)
                job.wait()


def background(words: list[str], folder: Path) -> subprocess.Popen[bytes]:
    """A process of Dask, on ports that are free; a scheduler is ready."""
    extra: list[str] = []
    if words[1] == "scheduler":
        extra = ["--dashboard-address", "127.0.0.1:0"]
        if "--port" not in words:
            extra += ["--host", "127.0.0.1", "--port", "0"]
    log = folder / "dask.log"
    with log.open("wb") as stderr:
        job = subprocess.Popen(
            [str(BIN / words[0]), *words[1:], *extra],
            cwd=folder,
            stderr=stderr,
            start_new_session=True,
        )
    if words[1] == "scheduler":
        while b"Scheduler at:" not in log.read_bytes():
            assert job.poll() is None, log.read_text()
            time.sleep(0.1)
        if "--scheduler-file" in words:
            assert (folder / words[words.index("--scheduler-file") + 1]).is_file()
    return job


def test_links_lead_somewhere() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


NAME = re.compile(r"`((?:generators|oracles|corpus|fuzz)(?:\.\w+)+)`")
FILE = re.compile(r"`((?:generators|oracles|corpus|fuzz|tests|docs|src/relaxfuzz)/[\w./-]*)`")


def exists(name: str) -> bool:
    """Whether a dotted name below `relaxfuzz` is a module, or something in one."""
    parts = name.split(".")
    for count in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(["relaxfuzz", *parts[:count]]))
        except ModuleNotFoundError:
            continue
        try:
            for part in parts[count:]:
                found = getattr(found, part)
        except AttributeError:
            return False
        return True
    return False


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem)
def test_what_is_named_exists(page: Path) -> None:
    text = page.read_text()
    names = sorted(set(NAME.findall(text)))
    missing = [name for name in names if not name.endswith(".py") and not exists(name)]
    missing += [path for path in sorted(set(FILE.findall(text))) if not (ROOT / path).exists()]
    assert not missing


def test_the_picture_of_the_architecture_has_every_package() -> None:
    picture = (ROOT / "docs" / "architecture.md").read_text().split("```")[1]
    packages: dict[str, set[str]] = {}
    for line in picture.splitlines():
        if layer := re.match(r"[┌├]─ (\w+)/", line):
            packages[layer[1]] = set()
        elif line.startswith("│"):
            packages[list(packages)[-1]] |= set(re.findall(r"(\w+)/", line))
    for name, shown in packages.items():
        folders = {path.name for path in (ROOT / name).iterdir() if any(path.glob("*.py"))}
        assert shown == folders, name


def test_the_index_lists_every_page() -> None:
    index = (ROOT / "docs" / "README.md").read_text()
    for page in (ROOT / "docs").glob("*.md"):
        assert page.name == "README.md" or f"({page.name})" in index, page.name

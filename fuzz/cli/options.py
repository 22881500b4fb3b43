"""Options and arguments of several commands."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ...oracles.grades.grade import Grade

Passes = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PASS]...",
        help="FuseOps, 'FuseOps(fuse_opt_level=2)', path/to/file.py:factory or "
        "package.module:factory (or a pass object, or its class). None: all passes of the "
        "catalogue.",
        show_default=False,
    ),
]
Module = Annotated[
    Path,
    typer.Argument(
        metavar="MODULE",
        help="TVM JSON, a Python file (TVMScript or plain) that defines one IRModule, or "
        "FILE.py:function that gives a model of PyTorch, ONNX, relax.frontend.nn or TVM. "
        "A Python file is executed.",
    ),
]
Oracles = Annotated[
    list[str] | None,
    typer.Option(
        "--oracle",
        metavar="NAME",
        help="Only this oracle; may be repeated. all: every oracle, in full, but those that need a "
        "device (see --device).",
    ),
]
Out = Annotated[
    Path,
    typer.Option("--out", metavar="DIR", help="The folder of findings; a second run adds to it."),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Parallel processes. Default: one per core.")
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Fuzz on the workers of this Dask cluster: tcp://HOST:PORT, tls://HOST:PORT, or a "
        "scheduler file. Needs 'relaxfuzz\\[cluster]'.",
        show_default=False,
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="local", help="Fuzz on a Dask cluster started on this machine.", show_default=False
    ),
]
Block = Annotated[
    int | None,
    typer.Option(
        "--block",
        min=1,
        metavar="MODULES",
        help="Modules for one process, and for one task of a cluster. Default: 16.",
        show_default=False,
    ),
]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object a line on stdout; progress on stderr.")
]
KnownFolders = Annotated[
    list[Path] | None,
    typer.Option(
        "--known",
        metavar="DIR",
        help="Your own known bugs: counted, not reported again; may be repeated. "
        "Default: relaxfuzz-known, if it exists.",
        show_default=False,
    ),
]
NoKnown = Annotated[
    bool,
    typer.Option("--no-known", help="Ignore the known bugs of TVM; use those of --known only."),
]
KnownUpdate = Annotated[
    bool,
    typer.Option("--known-update", help="Add new findings to the known bugs in the first DIR."),
]
FailOn = Annotated[
    Grade | None,
    typer.Option(
        "--fail-on",
        metavar="A|B|C",
        help="Exit with 1 only for findings of this grade and graver ones.",
        show_default=False,
    ),
]
Loud = Annotated[
    list[str] | None,
    typer.Option(
        "--loud",
        metavar="RULE|all",
        help="Report what this rule of silence keeps back (docs/silence.md lists them); may be "
        "repeated. all: what every rule does.",
        show_default=False,
    ),
]
Stages = Annotated[
    list[str] | None,
    typer.Option(
        "--stage",
        metavar="NAME",
        help="Run your own pass on modules of this stage only (raw, legalized, ...); "
        "may be repeated.",
    ),
]
Family = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The passes to fuzz where none is named, and the modules of your own pass: relax, "
        "tensorir, dlight (GPU schedules), arith (TVM's arithmetic) or all. Default: relax; "
        "tensorir for your own pass if it is one over PrimFuncs.",
        show_default=False,
    ),
]
Device = Annotated[
    str | None,
    typer.Option(
        metavar="KIND",
        help="Execute a sample of what is evaluated on this machine's device, too, and compare: "
        "cuda, rocm, vulkan, metal or opencl (with --family dlight), llvm (the CPU, with --family "
        "tensorir).",
        show_default=False,
    ),
]
Seeds = Annotated[
    list[str] | None,
    typer.Option(
        "--seeds",
        metavar="PATH",
        help="Real modules to fuzz around: TVM JSON, Python, ONNX, a folder of such files, or "
        "FILE.py:function or package.module:function, which gives a model; may be repeated. They "
        "are cut into small pieces, which are put among generated code.",
        show_default=False,
    ),
]
SeedShare = Annotated[
    float,
    typer.Option(min=0.0, max=1.0, help="The share of the modules that have pieces of --seeds."),
]
Like = Annotated[
    str | None,
    typer.Option(
        metavar="PASS",
        help="Your own pass keeps the contract of this pass of TVM, at its stages. Default: a "
        "strict contract with every promise.",
    ),
]
Exempt = Annotated[
    list[str] | None,
    typer.Option(
        metavar="ORACLE",
        help="Exempt your own pass from this oracle: idempotent (a second run may change the "
        "result), functions (it may add or remove public ones), signature, attributes, values "
        "(it may change what is computed: all oracles that compare values), ...; may be repeated.",
        show_default=False,
    ),
]

OUT = Path("relaxfuzz-out")

"""The command line: what can be asked, and what it means. The work is done in `commands`."""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.core

from .mistake import Mistake

app = typer.Typer(
    name="relaxfuzz",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Find bugs in the passes of Apache TVM's Relax.\n\n"
    "Exit codes: 0 nothing new found, 1 findings, 2 your mistake, 3 a fault of relaxfuzz.",
)

Passes = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[PASS]...",
        help="FuseOps, 'FuseOps(fuse_opt_level=2)', path/to/file.py:factory or "
        "package.module:factory. None: all passes of the catalogue.",
        show_default=False,
    ),
]
Module = Annotated[
    Path,
    typer.Argument(
        metavar="MODULE",
        help="TVM JSON, or a Python file (TVMScript or plain) that defines one IRModule. "
        "A Python file is executed.",
    ),
]
Oracles = Annotated[
    list[str] | None,
    typer.Option("--oracle", metavar="NAME", help="Only this oracle; may be repeated."),
]
Out = Annotated[
    Path,
    typer.Option("--out", metavar="DIR", help="Where findings are kept; a second run adds."),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes at the same time. Default: one per core.")
]
Json = Annotated[
    bool, typer.Option("--json", help="One JSON object a line on stdout; progress on stderr.")
]
KnownFolders = Annotated[
    list[Path] | None,
    typer.Option(
        "--known",
        metavar="DIR",
        help="Bugs of yours that are known: counted, not told again; may be repeated. "
        "Default: relaxfuzz-known, if it is there.",
        show_default=False,
    ),
]
NoKnown = Annotated[
    bool,
    typer.Option("--no-known", help="Only what DIR says is known."),
]
KnownUpdate = Annotated[
    bool,
    typer.Option("--known-update", help="What is found is known from now on, in the first DIR."),
]
KnownPrune = Annotated[
    bool,
    typer.Option("--known-prune", help="Take knowns of yours out that do not fail any more."),
]
Stages = Annotated[
    list[str] | None,
    typer.Option(
        "--stage",
        metavar="NAME",
        help="Your own pass takes modules of this stage only (raw, legalized, ...); "
        "may be repeated.",
    ),
]
Like = Annotated[
    str | None,
    typer.Option(
        metavar="PASS",
        help="Your own pass keeps the contract of this one, at its stages. Default: the strict "
        "contract of a pass that nobody described.",
    ),
]
NotIdempotent = Annotated[
    bool, typer.Option("--not-idempotent", help="Your own pass may change its own result.")
]
ChangesFunctions = Annotated[
    bool, typer.Option("--changes-functions", help="It may add or remove public functions.")
]
ChangesSignature = Annotated[
    bool, typer.Option("--changes-signature", help="It may change public signatures.")
]
ChangesAttributes = Annotated[
    bool, typer.Option("--changes-attributes", help="It may change attributes.")
]
ChangesValues = Annotated[
    bool, typer.Option("--changes-values", help="It may change what is computed.")
]

OUT = Path("relaxfuzz-out")


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz run\n\n"
    "  relaxfuzz run FuseOps FuseTIR --budget 5m --seed 1\n\n"
    "  relaxfuzz run 'FuseOps(fuse_opt_level=2)' --modules 200\n\n"
    "  relaxfuzz run my_passes.py:make_pass --stage legalized --not-idempotent"
)
def run(
    passes: Passes = None,
    budget: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="How long to fuzz: 90s, 5m, 1h. Default: 60s."),
    ] = None,
    modules: Annotated[int | None, typer.Option(min=1, help="Stop after so many modules.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, help="The same seed gives the same modules.")
    ] = None,
    workers: Workers = None,
    oracle: Oracles = None,
    out: Out = OUT,
    json: Json = False,
    known: KnownFolders = None,
    no_known: NoKnown = False,
    known_update: KnownUpdate = False,
    known_prune: KnownPrune = False,
    like: Like = None,
    stage: Stages = None,
    not_idempotent: NotIdempotent = False,
    changes_functions: ChangesFunctions = False,
    changes_signature: ChangesSignature = False,
    changes_attributes: ChangesAttributes = False,
    changes_values: ChangesValues = False,
) -> None:
    """Generate modules and check passes on them until the budget is used up."""

    def command() -> int:
        from .commands import run as command
        from .commands.subjects import Relaxations
        from .known import Choice

        return command.run(
            command.Request(
                passes=tuple(passes or ()),
                budget=budget,
                modules=modules,
                seed=seed,
                workers=workers or cores(),
                oracles=tuple(oracle) if oracle else None,
                out=out,
                json=json,
                knowns=Choice(
                    folders=tuple(known or ()),
                    shipped=not no_known,
                    update=known_update,
                    prune=known_prune,
                ),
                relaxations=Relaxations(
                    like=like,
                    stages=tuple(stage or ()),
                    not_idempotent=not_idempotent,
                    changes_functions=changes_functions,
                    changes_signature=changes_signature,
                    changes_attributes=changes_attributes,
                    changes_values=changes_values,
                ),
            )
        )

    _finish(command)


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz check model.json\n\n"
    "  relaxfuzz check model.py FuseOps 'ConvertToDataflow(min_size=1)'\n\n"
    "  relaxfuzz check model.py --pipeline default"
)
def check(
    module: Module,
    passes: Passes = None,
    pipeline: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="zero, default or cpu_generic: check after each step, blame the first bad one.",
        ),
    ] = None,
    at: Annotated[
        str,
        typer.Option(
            "--at",
            metavar="STAGE",
            help="The stage that the module is at: which passes are at home there.",
        ),
    ] = "raw",
    workers: Workers = None,
    oracle: Oracles = None,
    out: Out = OUT,
    json: Json = False,
    known: KnownFolders = None,
    no_known: NoKnown = False,
    known_update: KnownUpdate = False,
    like: Like = None,
    not_idempotent: NotIdempotent = False,
    changes_functions: ChangesFunctions = False,
    changes_signature: ChangesSignature = False,
    changes_attributes: ChangesAttributes = False,
    changes_values: ChangesValues = False,
) -> None:
    """Check passes, or a pipeline, on a module of yours."""

    def command() -> int:
        from .commands import check as command
        from .commands.subjects import Relaxations
        from .known import Choice

        return command.run(
            command.Request(
                module=module,
                passes=tuple(passes or ()),
                pipeline=pipeline,
                stage=at,
                workers=workers or cores(),
                oracles=tuple(oracle) if oracle else None,
                out=out,
                json=json,
                knowns=Choice(
                    folders=tuple(known or ()), shipped=not no_known, update=known_update
                ),
                relaxations=Relaxations(
                    like=like,
                    not_idempotent=not_idempotent,
                    changes_functions=changes_functions,
                    changes_signature=changes_signature,
                    changes_attributes=changes_attributes,
                    changes_values=changes_values,
                ),
            )
        )

    _finish(command)


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz replay relaxfuzz-out\n\n"
    "  relaxfuzz replay relaxfuzz-out/0123456789\n\n"
    "  relaxfuzz replay relaxfuzz-out/reproducers/*.py\n\n"
    "  relaxfuzz replay corpus/"
)
def replay(
    paths: Annotated[
        list[Path],
        typer.Argument(
            metavar="PATH...",
            help="A folder of findings, one finding of it (DIR/ID), reproducer files, or a corpus.",
        ),
    ],
    workers: Workers = None,
    json: Json = False,
) -> None:
    """See findings again: which of them still fail?

    Files of a corpus say on which versions of TVM they fail, and how.
    They are compared with that: what is fixed or changed is to be looked at.

    Exit codes: 0 all is gone, or as the corpus says; 1 a finding still fails,
    or a file of a corpus is fixed or changed; 2 something cannot be run.
    """

    def command() -> int:
        from .commands import replay as command

        return command.run(paths, workers or cores(), json=json)

    _finish(command)


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz zoo\n\n"
    "  relaxfuzz zoo lift_forgets_returned --seed 3\n\n"
    "  relaxfuzz zoo --budget 20s --modules 50 --json"
)
def zoo(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...", help="Only these passes of the zoo.", show_default=False
        ),
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="How long to look for each fault, on one core.")
    ] = "60s",
    modules: Annotated[
        int, typer.Option(min=1, help="How many modules each correct pass gets.")
    ] = 2000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed gives the same modules.")] = 0,
    workers: Workers = None,
    out: Out = Path("relaxfuzz-zoo"),
    json: Json = False,
) -> None:
    """Judge the harness: does it find known faults, and leave correct passes in peace?

    The zoo holds faulty passes, each modelled on a bug of TVM, and correct ones that look
    suspicious. The table says which were found, by which oracle and how fast.
    """

    def command() -> int:
        from .commands import zoo as command
        from .mistake import parse_budget
        from .zoo import Budget

        return command.run(
            command.Request(
                names=tuple(names or ()),
                budget=Budget(
                    seed=seed,
                    seconds=parse_budget(budget),
                    modules=modules,
                ),
                workers=workers or cores(),
                out=out,
                json=json,
            )
        )

    _finish(command)


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz explain model.json\n\n"
    "  relaxfuzz explain model.py --pipeline cpu_generic\n\n"
    "  relaxfuzz explain lowered.json --pipeline none\n\n"
    "  relaxfuzz explain model.py --pipeline my_build.py:pipeline\n\n"
    "Exit codes: 0 nothing is wrong, 1 something is and was explained, 2 your mistake, "
    "3 a fault of relaxfuzz."
)
def explain(
    module: Module,
    pipeline: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How you build: default (relax.build), cpu_generic "
            "(relax.get_default_pipeline), zero (then default), none (the module is lowered "
            "already), or path/to/file.py:factory of a pipeline of your own.",
        ),
    ] = "default",
    json: Json = False,
) -> None:
    """Say why a module does not build, and what to do.

    For "cannot handle this intrinsic", "cannot emit this Relax operator directly", "Cannot find
    PackedFunc" and their like. The module goes through the pipeline step by step and is looked at
    after each, so that the step is named after which something was left, lost or misnamed, and
    the line of your module that it comes from.
    """

    def command() -> int:
        from .commands import explain as command

        return command.run(module, pipeline, json=json)

    _finish(command)


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz known\n\n"
    "  relaxfuzz known LiftTransformParams --verify\n\n"
    "  relaxfuzz known --known-prune"
)
def known(
    passes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Only what is known of these passes, operators, ...",
            show_default=False,
        ),
    ] = None,
    verify: Annotated[
        bool, typer.Option("--verify", help="Run their reproducers: do they still fail?")
    ] = False,
    known: KnownFolders = None,
    no_known: NoKnown = False,
    known_prune: KnownPrune = False,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """List the bugs that are known of this TVM, which a run counts but does not tell again.

    Exit codes: 0 all fail as they did, 1 one that was run does not, 2 your mistake.
    """

    def command() -> int:
        from .commands import known as command
        from .known import Choice

        choice = Choice(folders=tuple(known or ()), shipped=not no_known, prune=known_prune)
        verified = verify or known_prune
        return command.run(passes or (), choice, workers or cores(), verified=verified, json=json)

    _finish(command)


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz bisect relaxfuzz-out/0123456789\n\n"
    "  relaxfuzz bisect corpus/found/take-nan-without-axis.py --tvm 0.26.0,0.27.0.post1\n\n"
    "  relaxfuzz bisect reproducer.py --tvm ~/tvm-before/.venv --tvm ~/tvm-after/.venv/bin/python"
)
def bisect(
    finding: Annotated[
        Path,
        typer.Argument(
            metavar="FINDING",
            help="A finding (DIR/ID), a reproducer file, or a file of a corpus. It is executed.",
        ),
    ],
    tvm: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LIST",
            help="Versions of TVM (0.26.0,0.27.0.post1), or paths of Python environments or "
            "interpreters with builds of yours, from the oldest to the newest; may be repeated. "
            "Default: all versions that relaxfuzz knows.",
            show_default=False,
        ),
    ] = None,
    recreate: Annotated[
        bool, typer.Option("--recreate", help="Make the environments of versions anew.")
    ] = False,
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Say on which versions of TVM a finding fails, and which is the first bad one.

    Each version gets an environment of its own, made with your package index and kept in your
    cache folder. Good: the reproducer ends well. Bad: it fails as the finding says.
    Other: it fails otherwise, or cannot be run.

    Exit codes: 0 good on all, 1 bad on some, 2 your mistake, or bad on none and other on some.
    """

    def command() -> int:
        from .commands import bisect as command
        from .environments import FFI

        return command.run(
            finding, tvm or list(FFI), workers=workers or cores(), recreate=recreate, json=json
        )

    _finish(command)


@app.command(
    epilog="Examples:\n\n"
    "  relaxfuzz minimize relaxfuzz-out/0123456789\n\n"
    "  relaxfuzz minimize model.json --pass FuseOps --format issue\n\n"
    "  relaxfuzz minimize model.py --pass LegalizeOps --pass my_passes.py:make_pass\n\n"
    "  relaxfuzz minimize model.py --pipeline default --budget 5m\n\n"
    "  relaxfuzz minimize model.json --predicate 'python still_wrong.py {}.py'\n\n"
    "Exit codes: 0 nothing is wrong, or the predicate's module is minimized; 1 something is, and "
    "is minimized; 2 your mistake; 3 a fault of relaxfuzz."
)
def minimize(
    module: Annotated[
        Path,
        typer.Argument(
            metavar="MODULE",
            help="TVM JSON, or a Python file that defines one IRModule (it is executed), or a "
            "finding: DIR/ID, or its reproducer in DIR.",
        ),
    ],
    pass_: Annotated[
        list[str] | None,
        typer.Option(
            "--pass",
            metavar="PASS",
            help="What goes wrong on the module, spelled as for `check`. May be repeated: then "
            "the list of passes is made shorter first.",
        ),
    ] = None,
    pipeline: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="zero, default or cpu_generic instead of passes."),
    ] = None,
    oracle: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Ask only this oracle. Default: the usual ones."),
    ] = None,
    predicate: Annotated[
        str | None,
        typer.Option(
            metavar="CMD",
            help="Instead of passes: a command that ends with 0 as long as a module is "
            "interesting. {}.py in it stands for a Python file that defines `mod`, {} for a file "
            "with TVM JSON, which is otherwise its last argument.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="What is written. Default: MODULE-minimized.py (.md for an issue) here.",
            show_default=False,
        ),
    ] = None,
    budget: Annotated[
        str, typer.Option(metavar="TIME", help="How long to search: 90s, 5m, 1h.")
    ] = "60s",
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Go on from FILE.state, which an unfinished search leaves."),
    ] = False,
    format: Annotated[
        str,
        typer.Option(
            metavar="FORM",
            help="source: a Python file that rebuilds the module; tvmscript: the module as "
            "TVMScript; issue: a report in Markdown.",
        ),
    ] = "source",
    workers: Workers = None,
    json: Json = False,
) -> None:
    """Make a module as small as possible that still shows what is wrong.

    The reproducer that is written was seen to fail in a process of its own. What else is met on
    the way is kept: in DIR (`relaxfuzz findings --unconfirmed`), or in FILE.others.
    """

    def command() -> int:
        from .commands import minimize as command
        from .mistake import parse_budget

        return command.run(
            command.Request(
                module=module,
                passes=tuple(pass_ or ()),
                pipeline=pipeline,
                oracle=oracle,
                predicate=predicate,
                out=out,
                seconds=parse_budget(budget),
                resume=resume,
                form=command.form_of(format),
                workers=workers or cores(),
                json=json,
            )
        )

    _finish(command)


@app.command()
def passes(json: Json = False) -> None:
    """List the passes of the catalogue, with what they promise and what they do not."""

    def command() -> int:
        from .commands import catalogue

        return catalogue.passes(json=json)

    _finish(command)


@app.command()
def ops(json: Json = False) -> None:
    """List the operators that modules are made of."""

    def command() -> int:
        from .commands import catalogue

        return catalogue.ops(json=json)

    _finish(command)


class _ListFirst(typer.core.TyperGroup):
    """A group of commands, of which `list` need not be named: `relaxfuzz findings DIR`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] != "--help"):
            args = ["list", *args]
        return super().parse_args(ctx, args)


findings = typer.Typer(
    cls=_ListFirst,
    help="List the bugs of a store, one a row, show them, say what you think of them.\n\n"
    "Findings that are one bug are one row, whatever passes and oracles they came through; "
    "`show` says why. An ID is that of a row or finding, or the beginning of one.",
    epilog="Examples:\n\n"
    "  relaxfuzz findings\n\n"
    "  relaxfuzz findings relaxfuzz-out --pass LegalizeOps --new\n\n"
    "  relaxfuzz findings show 3f2a --format issue\n\n"
    "  relaxfuzz findings merge 3f2a 77c0\n\n"
    "  relaxfuzz findings verdict 3f2a wontfix",
)
app.add_typer(findings, name="findings")

Id = Annotated[str, typer.Argument(metavar="ID", help="Of a row or finding, or its beginning.")]


@findings.command("list")
def list_findings(
    folder: Annotated[Path, typer.Argument(metavar="[DIR]", show_default=False)] = OUT,
    pass_: Annotated[
        list[str] | None,
        typer.Option("--pass", metavar="NAME", help="Only of this pass; may be repeated."),
    ] = None,
    oracle: Oracles = None,
    verdict: Annotated[
        list[str] | None,
        typer.Option(metavar="WORD", help="Only with this verdict; may be repeated."),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="Only what nobody judged or knows.")] = False,
    unconfirmed: Annotated[
        bool,
        typer.Option(
            "--unconfirmed",
            help="Instead: what did not come out again, or was met on modules that only "
            "minimization made, which may lack what the pass is entitled to.",
        ),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="One JSON object a row.")] = False,
) -> None:
    """List the rows of DIR, one for each bug. `list` may be left out."""

    def command() -> int:
        from .commands import findings as command

        chosen = command.Filter(
            passes=tuple(pass_ or ()),
            oracles=tuple(oracle or ()),
            verdicts=tuple(verdict or ()),
            new=new,
            unconfirmed=unconfirmed,
        )
        return command.listing(folder, chosen, json=json)

    _finish(command)


@findings.command("show")
def show_finding(
    id: Id,
    form: Annotated[
        str, typer.Option("--format", metavar="FORM", help="source, tvmscript or issue.")
    ] = "source",
    out: Out = OUT,
) -> None:
    """Print a reproducer, after it was seen to fail; what else is known goes to stderr."""

    def command() -> int:
        from .commands import findings as command
        from .commands.minimize import form_of

        return command.show(out, id, form_of(form))

    _finish(command)


@findings.command("merge")
def merge_findings(
    ids: Annotated[list[str], typer.Argument(metavar="ID ID...", show_default=False)],
    out: Out = OUT,
) -> None:
    """Make one row of several, for good: later runs keep to it."""

    def command() -> int:
        from .commands import findings as command

        return command.merge(out, ids)

    _finish(command)


@findings.command("split")
def split_finding(id: Id, out: Out = OUT) -> None:
    """Make a row of its own of a finding, for good: later runs keep to it."""

    def command() -> int:
        from .commands import findings as command

        return command.split(out, id)

    _finish(command)


@findings.command("note")
def note_finding(
    id: Id,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="An empty one takes it back.")],
    out: Out = OUT,
) -> None:
    """Write a note to a row."""

    def command() -> int:
        from .commands import findings as command

        return command.judge(out, id, note=text)

    _finish(command)


@findings.command("verdict")
def judge_finding(
    id: Id,
    verdict: Annotated[
        str,
        typer.Argument(
            metavar="WORD",
            help="true, false, wontfix, reported, fixed or unclear; an empty one takes it back.",
        ),
    ],
    out: Out = OUT,
) -> None:
    """Say what a row is."""

    def command() -> int:
        from .commands import findings as command

        return command.judge(out, id, verdict=verdict)

    _finish(command)


def cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _finish(command: Callable[[], int]) -> None:
    """Run a command to its exit code; the three kinds of failure never mix."""
    from ..generators.tvm_api import TVMUnsupported, require_tvm

    try:
        with warnings.catch_warnings(record=True) as told:
            require_tvm()
        for warning in told:
            print(f"warning: {warning.message}", file=sys.stderr)
        code = command()
    except (Mistake, TVMUnsupported) as error:
        print(f"error: {error}", file=sys.stderr)
        code = 2
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        code = 130
    except BrokenPipeError:
        # Whoever read our output has seen enough (`relaxfuzz passes | head`).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except Exception:
        traceback.print_exc()
        print("This is a fault of relaxfuzz, not of a pass and not yours.", file=sys.stderr)
        code = 3
    raise typer.Exit(code)


def main() -> None:
    """The entry point of the `relaxfuzz` script."""
    app()


if __name__ == "__main__":
    main()

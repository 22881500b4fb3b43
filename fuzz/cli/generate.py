"""`relaxfuzz generate`: modules for other programs."""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Annotated

import typer

from ..user_input.settings import Settings
from .app import command

BATCH = 16
"""Modules of one child."""


class Form(enum.StrEnum):
    """The forms of a module as a file."""

    JSON = "json"
    SCRIPT = "tvmscript"
    SOURCE = "source"


@command(
    workers=True,
    epilog="Examples:\n\n"
    "  relaxfuzz generate --modules 1000 --out modules\n\n"
    "  relaxfuzz generate --modules 20 --out kernels --family dlight --format tvmscript",
)
def generate(
    given: Settings,
    out: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder of the files.", show_default=False)
    ],
    form: Annotated[
        Form,
        typer.Option(
            "--format", help="json is TVM's; source is Python that builds the module by calls."
        ),
    ] = Form.JSON,
) -> int:
    """Write generated modules, no two of them alike, to a folder.

    Scripts that TVM does not read back as the same module are written, too, and named.
    """
    from ...generators.families import DEFAULT, FAMILIES
    from ..jobs.generating import Generate
    from ..process.executor import collect
    from ..process.local_pool import LocalPool
    from ..session.chosen import random_seed
    from ..system.errors import UserError, near
    from ..system.files import write_whole

    if (family := given.family or DEFAULT) not in FAMILIES:
        raise UserError(f"no family {family!r}{near(family, FAMILIES)}")
    seed = random_seed() if given.seed is None else given.seed
    wanted = given.modules or 100
    out.mkdir(parents=True, exist_ok=True)
    seen: set[str] = set()
    unread, index = [], 0
    with LocalPool(1) as pool:
        while len(seen) < wanted:
            before = len(seen)
            job = Generate(family=family, seed=seed, first=index, count=BATCH, form=str(form))
            made, died = collect(pool, job)
            for number, each in enumerate(made, index):
                if each.digest in seen or len(seen) == wanted:
                    continue
                seen.add(each.digest)
                file = out / f"{family}-{seed}-{number}.{'json' if form is Form.JSON else 'py'}"
                write_whole(file, each.text)
                if not each.reads_back:
                    unread.append(file.name)
            index += len(made)
            if died is not None:
                print(f"left out: number {index}, which ends its process: {died.death}")
                index += 1
            elif len(seen) == before:
                break  # the family has no more
    for name in unread:
        print(f"not read back by TVM: {name}")
    print(f"{len(seen)} modules of {family} in {out}, seed {seed}; {len(unread)} not read back")
    return 0

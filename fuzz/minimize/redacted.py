"""Findings fit for sharing: without names, strings, constants and paths of their owner.

Reductions redact a module, so that failure, blamed pass and site stay. Anything that these need
also stays, and is named.
"""

from __future__ import annotations

import dataclasses
import re
import sys
import time
from pathlib import Path

from ...compat.serialization import load_json
from ...oracles.passcall import is_users
from .. import reproducer
from ..findings import executable_text
from ..findings.confirm import exhibit, take_evidence
from ..findings.dedup import place
from ..findings.finding import Finding
from ..findings.store import Store
from ..output.readable import sentence, visible
from ..process.executor import Executor, JobFailed
from ..process.local_pool import LocalPool
from ..reproducer.replay import module_of, unknown
from ..system.errors import UserError
from .findings import minimized
from .neutral import left_in

SECONDS = 60.0
"""Seconds to redact one finding: each of the strings to keep costs a check."""

_FOLDERS = re.compile(r"(?<![\w.:/])~?(?:/[\w.@+-]+)+/(?=[\w.@+-])")
"""The folders of an absolute path."""


def redacted(executor: Executor, finding: Finding) -> Finding:
    """The finding on a module without strings and constants of its owner.

    The result was checked: failure, blamed pass and site are as before.

    Raises:
        ExecutorError: the harness failed.
    """
    end = time.monotonic() + SECONDS
    result = minimized(executor, finding, redacts=True, over=lambda: time.monotonic() >= end)
    made = dataclasses.replace(
        result.finding,
        source=reproducer.source_of(result.finding.module),
        first_id=finding.id,
        reduced=finding.reduced,
        reproducer=None,
        origin=None,
        faults=(),
    )
    made = dataclasses.replace(made, evidence=take_evidence(executor, made))
    shown = exhibit(executor, made)
    texts = {each.name: getattr(shown, each.name) for each in dataclasses.fields(shown)}
    return dataclasses.replace(
        made,
        violation=dataclasses.replace(made.violation, detail=_without_folders(made.detail)),
        exhibit=type(shown)(**{name: _without_folders(text) for name, text in texts.items()}),
    )


def kept_in(finding: Finding) -> list[str]:
    """Names and data of its owner that a redacted finding still shows, each in a few words."""
    own = [call for call in finding.calls if is_users(call)]
    names = [f"the pass {_without_folders(str(call))}" for call in own]
    return [*left_in(load_json(finding.module)), *names]


def redacted_copy(folder: Path) -> Path:
    """The folder beside a folder of findings with redacted copies of the confirmed ones.

    Existing copies stay. Names and data that had to be kept are listed on stderr.

    Raises:
        UserError: there is no store, or none can be written.
        ExecutorError: the workers cannot be started.
    """
    into = folder.resolve().with_name(f"{folder.resolve().name}-redacted")
    with Store(folder, create=False) as store, Store(into) as copy, LocalPool(1) as pool:
        found = list(store.findings())
        if code := executable_text.warning(found):
            _warn(sentence(code))
        for finding in found:
            made = copy.get(finding.id)
            try:
                if made is None or (finding.reduced and not made.reduced):
                    made = _copied(finding, copy, pool)
                made = dataclasses.replace(made, module=module_of(made, pool))
            except (UserError, JobFailed) as error:
                reason = str(error).strip()[-200:]
                _warn(f"{finding.id}: left out, since it cannot be redacted: {reason}")
                continue
            for what in kept_in(made):
                _warn(f"{finding.id}: kept, since the failure needs it: {what}")
    return into


def _copied(finding: Finding, copy: Store, pool: LocalPool) -> Finding:
    """Put the redacted finding into the copy.

    Raises:
        UserError: this relaxfuzz cannot run it, or this TVM cannot read its module.
        JobFailed: the harness failed on it.
    """
    if (reason := unknown(finding)) is not None:
        raise UserError(reason)
    made = redacted(pool, dataclasses.replace(finding, module=module_of(finding, pool)))
    text = reproducer.failing(made, executor=pool)
    if text is None:
        copy.put(made)
    else:
        made = copy.publish(made, text)
    place(copy, made)
    return made


def _warn(text: str) -> None:
    print(visible(text), file=sys.stderr)


def _without_folders(text: str) -> str:
    return _FOLDERS.sub("", text)

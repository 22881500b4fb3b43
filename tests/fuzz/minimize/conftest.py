"""Modules written as text."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
import tvm

from relaxfuzz.fuzz.user_input.module_file import execute

HEADER = """
from tvm.script import ir as I, relax as R, tirx as T

@I.ir_module
class Module:
"""


@pytest.fixture
def written(tmp_path: Path) -> Callable[[str], tvm.IRModule]:
    """The module whose class has this body."""

    def make(body: str) -> tvm.IRModule:
        path = tmp_path / "written.py"
        path.write_text(HEADER + textwrap.indent(textwrap.dedent(body), "    "))
        return execute(path)

    return make

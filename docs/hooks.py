"""Hooks of MkDocs: links to files outside of docs/, and the check that public names are documented.

Pages link to the repository's files by relative paths, as GitHub wants it. On the site such a file
is served below files/; CONTRIBUTING.md is a page.
"""

from __future__ import annotations

import re
from os.path import relpath
from pathlib import Path

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = {"CONTRIBUTING.md": "contributing.md"}
"""Pages of the site that lie outside of docs/."""

LINK = re.compile(r"(!?\[[^\]]*\]\()(?!https?:|mailto:|#)([^)#\s]+)([^)]*\))")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Refuse a public name without a docstring."""
    package = griffe.load("relaxfuzz", search_paths=[ROOT / "src"])
    names = [str(name) for name in package.exports or ()]
    undocumented = [each for name in names for each in _undocumented(package[name])]
    reference = (DOCS / "api.md").read_text(encoding="utf-8")
    missing = [name for name in names if f"::: relaxfuzz.{name}\n" not in reference]
    if undocumented or missing or not names:
        raise PluginError(
            f"public names without a docstring: {undocumented}; not in docs/api.md: {missing}"
        )
    return config


def _undocumented(item: griffe.Object | griffe.Alias) -> list[str]:
    """The path of an item without a docstring, and of its public methods without one."""
    if isinstance(item, griffe.Alias):
        item = item.final_target
    undocumented = [] if item.has_docstring else [item.path]
    if isinstance(item, griffe.Class):
        inherited = {name for base in item.mro() for name in base.functions}
        undocumented += [
            method.path
            for name, method in item.functions.items()
            if not name.startswith("_") and not method.has_docstring and name not in inherited
        ]
    return undocumented


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages and files outside of docs/ to which pages link."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / name)))
    linked: set[Path] = set()
    for file in files.documentation_pages():
        folder = _folder(file)
        for _, target, _ in LINK.findall(file.content_string):
            path = (folder / target).resolve()
            if path.is_file() and not path.is_relative_to(DOCS) and path.name not in PAGES:
                linked.add(path)
    for path in sorted(linked):
        uri = f"files/{path.relative_to(ROOT).as_posix()}"
        files.append(File.generated(config, uri, abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to where their targets are on the site."""
    folder = _folder(page.file)

    def moved(found: re.Match[str]) -> str:
        path = (folder / found[2]).resolve()
        if path.is_relative_to(DOCS):
            target = path.relative_to(DOCS).as_posix()
        elif path.name in PAGES:
            target = PAGES[path.name]
        elif path.is_relative_to(ROOT):
            target = f"files/{path.relative_to(ROOT).as_posix()}"
        else:
            return found[0]
        # A page of a folder of docs/ is served from a folder, too.
        return f"{found[1]}{relpath(target, Path(page.file.src_uri).parent)}{found[3]}"

    return LINK.sub(moved, markdown)


def _folder(file: File) -> Path:
    return ROOT if file.src_uri in PAGES.values() else DOCS / Path(file.src_uri).parent

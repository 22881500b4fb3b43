"""Plots as inline SVG in the colours of the page, so that they are at home in light and dark.

Matplotlib lays a plot out; then styles become attributes, since the page allows no inline styles,
and colours become names of the page's own.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

import matplotlib
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from ..findings.runs import Run, Sample

EARLIER = 8
"""Runs before the last one that are drawn, too."""

MOST_RUNS = 60
"""Runs of which the new bugs are drawn."""

_INK, _GRID, _FAINT, _ACCENT, _NEW, _SEEN = (
    "#000001", "#000002", "#000003", "#000004", "#000005", "#000006",
)  # fmt: skip
"""What matplotlib draws in, to be found again."""

_COLOURS = {
    _INK: "var(--muted)",
    _GRID: "var(--line)",
    _FAINT: "var(--faint)",
    _ACCENT: "var(--accent)",
    _NEW: "var(--new)",
    _SEEN: "var(--seen)",
}

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"

_STYLE: Any = {  # matplotlib types it by the names of all its settings
    "svg.fonttype": "none",  # text stays text: it can be searched, and gets the page's font
    "font.size": 9.0,
    "axes.edgecolor": _INK,
    "axes.labelcolor": _INK,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "text.color": _INK,
    "grid.color": _GRID,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
}


def progress(runs: Mapping[int, Run]) -> Markup:
    """Modules, checks and distinct findings over the time of the last runs; empty if unknown."""
    sampled = [(number, run) for number, run in runs.items() if len(run.samples) > 1]
    if not sampled:
        return Markup("")
    *earlier, (last, run) = sampled[-EARLIER - 1 :]
    scale, unit = _unit(max(each.samples[-1].seconds for _, each in [*earlier, (last, run)]))
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(9.6, 2.3), layout="constrained")
        for axes, count in zip(
            figure.subplots(1, 3), ("modules", "checks", "distinct findings"), strict=True
        ):
            for _, other in earlier:
                _line(axes, other.samples, count, scale, color=_FAINT, linewidth=1.0)
            _line(axes, run.samples, count, scale, color=_ACCENT, linewidth=1.8)
            axes.set(xlabel=f"time ({unit})", ylabel=count, xlim=(0, None), ylim=(0, None))
            _whole(axes)
        end = run.samples[-1]
        title = (
            f"Run {last}: {end.modules:,} modules, {end.checks:,} checks and {end.findings:,} "
            f"distinct findings after {end.seconds:,.0f} seconds"
            + (f"; in grey, {len(earlier)} earlier" if earlier else "")
        )
        return _svg(figure, "progress", title)


def bugs_by_run(runs: Mapping[int, Run], told: Mapping[int, tuple[int, int]]) -> Markup:
    """How many bugs each run told, new and old; empty where there are none, or one run.

    Args:
        told: by run: new ones, and others.
    """
    numbers = list(runs)[-MOST_RUNS:]
    new = [told[number][0] for number in numbers]
    again = [told[number][1] for number in numbers]
    if len(numbers) < 2 or not any(new + again):
        return Markup("")
    with matplotlib.rc_context(_STYLE):
        figure = Figure(figsize=(9.6, 1.9), layout="constrained")
        axes = figure.subplots()
        at = range(len(numbers))
        axes.bar(at, new, color=_NEW, width=0.6)
        axes.bar(at, again, bottom=new, color=_SEEN, width=0.6)
        axes.set(xlabel="run", ylabel="bugs told")
        step = -(-len(numbers) // 20)
        axes.set_xticks(list(at)[::step], [str(number) for number in numbers][::step])
        axes.grid(visible=False, axis="x")
        axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=4))
        # One bar alone would be as wide as the plot.
        axes.set_xlim(-0.7, max(len(numbers), 12) - 0.3)
        title = f"Bugs told by runs {numbers[0]} to {numbers[-1]}: {sum(new)} when they were new"
        return _svg(figure, "bugs", title)


def _line(
    axes: Axes, samples: Sequence[Sample], count: str, scale: float, *, color: str, linewidth: float
) -> None:
    field = "findings" if count.endswith("findings") else count
    axes.plot(
        [0.0, *(sample.seconds / scale for sample in samples)],
        [0, *(getattr(sample, field) for sample in samples)],
        color=color,
        linewidth=linewidth,
        solid_capstyle="round",
    )


def _whole(axes: Axes) -> None:
    axes.yaxis.set_major_locator(MaxNLocator(integer=True, nbins=5))
    axes.xaxis.set_major_locator(MaxNLocator(nbins=5))
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")


def _unit(seconds: float) -> tuple[float, str]:
    if seconds < 180:
        return 1.0, "seconds"
    return (60.0, "minutes") if seconds < 3 * 3600 else (3600.0, "hours")


def _svg(figure: Figure, name: str, title: str) -> Markup:
    """The figure as an SVG element with a title, its ids begin with the name."""
    buffer = io.BytesIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    root = ElementTree.fromstring(buffer.getvalue())
    for parent in root.iter():
        for child in list(parent):
            # The metadata name web addresses; the style sheet would rule the whole page.
            if child.tag in (f"{{{_SVG}}}style", f"{{{_SVG}}}metadata"):
                parent.remove(child)
    for element in root.iter():
        _restyle(element, name)
    for size in ("width", "height"):
        root.attrib.pop(size, None)
    root.attrib.update({"role": "img", "aria-labelledby": f"{name}-title", "class": "plot"})
    heading = ElementTree.Element(f"{{{_SVG}}}title", {"id": f"{name}-title"})
    heading.text = title
    root.insert(0, heading)
    return Markup(_plain(ElementTree.tostring(root, encoding="unicode")))


def _restyle(element: ElementTree.Element, name: str) -> None:
    for declaration in element.attrib.pop("style", "").split(";"):
        key, _, value = declaration.partition(":")
        if key.strip() == "font":  # the page's own, in the size that the layout was made for
            size = re.search(r"([\d.]+)px", value)
            element.set("font-size", size[1] if size else "9")
        elif key.strip():
            element.set(key.strip(), value.strip())
    element.attrib.pop("font-family", None)
    for key, value in list(element.attrib.items()):
        if key == "id":
            element.set(key, f"{name}-{value}")
        elif key == _LINK:
            del element.attrib[key]
            element.set("href", f"#{name}-{value.removeprefix('#')}")
        elif value.startswith("url(#"):
            element.set(key, f"url(#{name}-{value.removeprefix('url(#')}")
        elif value in _COLOURS:
            element.set(key, _COLOURS[value])


def _plain(text: str) -> str:
    """As it stands in HTML: no namespaces; hundredths of a pixel are enough."""
    text = re.sub(r'(</?)ns\d+:|\sxmlns(?::ns\d+)?="[^"]*"', r"\1", text)
    return re.sub(r"(\d\.\d\d)\d+", r"\1", text)

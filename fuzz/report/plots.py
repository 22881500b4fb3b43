"""Plots as inline SVG in the colours of the page, for its light and dark themes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from ..findings.runs import Run, Sample

EARLIER = 8
"""Earlier runs that are drawn beside the last one."""

MOST_RUNS = 60
"""Runs in the plot of bugs."""

WIDTH = 960

COUNTS = {"modules": "modules", "checks": "checks", "distinct findings": "findings"}
"""The plots of progress, and the field of a sample for each."""


@dataclass(frozen=True, slots=True)
class _Axes:
    """A rectangle of the plot, in pixels, and the values at its right and upper edges."""

    left: float
    right: float
    top: float
    bottom: float
    x_most: float
    y_most: float

    def x(self, value: float) -> float:
        return round(self.left + (self.right - self.left) * value / self.x_most, 2)

    def y(self, value: float) -> float:
        return round(self.bottom - (self.bottom - self.top) * value / self.y_most, 2)

    def frame(self, x_label: str, y_label: str, x_ticks: Mapping[float, str]) -> str:
        """Grid, ticks and labels."""
        parts = []
        for value in _ticks(self.y_most, smallest=1):
            at = self.y(value)
            parts.append(_line([(self.left, at), (self.right, at)], "line", 1))
            parts.append(_text(self.left - 6, at + 3, "end", f"{value:,.0f}"))
        parts += [
            _text(self.x(at), self.bottom + 14, "middle", tick) for at, tick in x_ticks.items()
        ]
        corner = [(self.left, self.top), (self.left, self.bottom), (self.right, self.bottom)]
        return "".join(
            [
                *parts,
                _line(corner, "muted", 1),
                _text((self.left + self.right) / 2, self.bottom + 30, "middle", x_label),
                _text(self.left, self.top - 8, "start", y_label),
            ]
        )


def progress(runs: Mapping[int, Run]) -> Markup:
    """Modules, checks and distinct findings over the time of the last runs; empty if unknown."""
    sampled = [(number, run) for number, run in runs.items() if len(run.samples) > 1]
    if not sampled:
        return Markup("")
    *earlier, (last, run) = sampled[-EARLIER - 1 :]
    drawn = [each for _, each in earlier] + [run]
    seconds = max(each.samples[-1].seconds for each in drawn)
    scale, unit = _unit(seconds)
    parts = []
    for number, (label, field) in enumerate(COUNTS.items()):
        left = 60 + number * WIDTH / 3
        most = max(getattr(sample, field) for each in drawn for sample in each.samples)
        axes = _Axes(left, left + WIDTH / 3 - 80, 24, 190, seconds / scale, max(most, 1) * 1.05)
        ticks = {value: f"{value:g}" for value in _ticks(axes.x_most)}
        parts.append(axes.frame(f"time ({unit})", label, ticks))
        parts += [_curve(axes, each.samples, field, scale, "faint", 1) for each in drawn[:-1]]
        parts.append(_curve(axes, run.samples, field, scale, "accent", 1.8))
    end = run.samples[-1]
    title = (
        f"Run {last}: {end.modules:,} modules, {end.checks:,} checks and {end.findings:,} "
        f"distinct findings after {end.seconds:,.0f} seconds"
        + (f"; in grey, {len(earlier)} earlier" if earlier else "")
    )
    return _svg("progress", title, 230, parts)


def bugs_by_run(runs: Mapping[int, Run], bugs: Mapping[int, tuple[int, int]]) -> Markup:
    """New bugs and bugs seen before by run; empty where there are none, or only one run.

    Args:
        bugs: by run, the numbers of both.
    """
    numbers = list(runs)[-MOST_RUNS:]
    most = max((sum(bugs[number]) for number in numbers), default=0)
    if len(numbers) < 2 or not most:
        return Markup("")
    axes = _Axes(60, WIDTH - 20, 24, 140, max(len(numbers), 12), most * 1.05)
    step = -(-len(numbers) // 20)
    ticks = {at + 0.5: str(number) for at, number in enumerate(numbers) if at % step == 0}
    parts = [axes.frame("run", "bugs reported", ticks)]
    for at, number in enumerate(numbers):
        new, again = bugs[number]
        for low, high, colour in ((0, new, "new"), (new, new + again, "seen")):
            width, height = axes.x(at + 0.8) - axes.x(at + 0.2), axes.y(low) - axes.y(high)
            parts.append(
                f'<rect x="{axes.x(at + 0.2)}" y="{axes.y(high)}" width="{width:.2f}" '
                f'height="{height:.2f}" fill="var(--{colour})"></rect>'
            )
    new_bugs = sum(bugs[number][0] for number in numbers)
    title = f"Bugs reported by runs {numbers[0]} to {numbers[-1]}, {new_bugs} of them new"
    return _svg("bugs", title, 180, parts)


def _curve(
    axes: _Axes, samples: Sequence[Sample], field: str, scale: float, colour: str, width: float
) -> str:
    points = [(0.0, 0.0), *((each.seconds / scale, getattr(each, field)) for each in samples)]
    return _line([(axes.x(x), axes.y(y)) for x, y in points], colour, width)


def _line(points: Iterable[tuple[float, float]], colour: str, width: float) -> str:
    path = "L".join(f"{x} {y}" for x, y in points)
    return f'<path d="M{path}" fill="none" stroke="var(--{colour})" stroke-width="{width}"></path>'


def _text(x: float, y: float, anchor: str, text: str) -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="11" fill="var(--muted)">'
        f"{text}</text>"
    )


def _ticks(most: float, smallest: float = 0) -> list[float]:
    """At most six round numbers from 0 to `most`, with steps of at least `smallest`."""
    power = 10.0 ** math.floor(math.log10(most / 5))
    step = next(power * factor for factor in (1, 2, 5, 10) if power * factor * 5 >= most)
    step = max(step, smallest)
    return [step * number for number in range(int(most / step) + 1)]


def _unit(seconds: float) -> tuple[float, str]:
    if seconds < 180:
        return 1.0, "seconds"
    return (60.0, "minutes") if seconds < 3 * 3600 else (3600.0, "hours")


def _svg(name: str, title: str, height: int, parts: Iterable[str]) -> Markup:
    return Markup(
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-labelledby="{name}-title" '
        f'class="plot"><title id="{name}-title">{title}</title>{"".join(parts)}</svg>'
    )

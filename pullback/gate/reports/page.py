"""A report as one HTML page, made to be read and printed: no script, nothing that is loaded from elsewhere."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pullback.gate.errors import UsageError
from pullback.gate.report import Report, Result, plain

__all__ = ["html"]

_WIDTH, _HEIGHT, _BARS = 360.0, 90.0, 40


class Plot(NamedTuple):
    """A small picture: rectangles (x, y, width, height) and a line, with the text at the ends of its axis."""

    title: str
    bars: list[tuple[float, float, float, float]]
    line: str
    left: str
    right: str


def html(report: Report, command: str) -> str:
    """The page.

    Raises:
      UsageError: jinja2 is not installed.
    """
    try:
        jinja2 = importlib.import_module("jinja2")
    except ImportError as error:
        raise UsageError("jinja2 is not installed", "pip install 'pullback[gate]'") from error
    environment = jinja2.Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True,
                                     undefined=jinja2.StrictUndefined)
    template = environment.from_string((Path(__file__).parent / "page.html").read_text())
    longest = max((result.seconds for result in report.results), default=0.0) or 1.0
    found: str = template.render(
        command=command, report=report, facts=report.facts(), width=_WIDTH, height=_HEIGHT,
        rows=[(*row, 100 * result.seconds / longest) for row, result in zip(report.rows(), report.results)],
        parts=[(result, _measured(result), list(_plots(result))) for result in report.results])
    return found


def _measured(result: Result) -> list[tuple[str, str]]:
    """The measurements in short: lists by their lengths, numbers in six digits."""
    def short(value: Any) -> str:
        if isinstance(value, dict):
            return ", ".join(f"{name} {short(x)}" for name, x in value.items())
        if isinstance(value, (list, tuple)):
            return f"{len(value)} values" if len(value) > 6 else ", ".join(map(short, value))
        value = plain(value)
        return f"{value:.6g}" if isinstance(value, float) else str(value)
    return [(entry["what"], "; ".join(f"{name}: {short(value)}" for name, value in entry.items() if name != "what"))
            for entry in result.measurements]


def _numbers(value: Any) -> list[float]:
    if not isinstance(value, (list, tuple)) or len(value) < 3:
        return []
    numbers = [x for x in map(plain, value) if isinstance(x, (int, float)) and math.isfinite(x)]
    return numbers if len(numbers) == len(value) else []


def _plots(result: Result) -> Iterator[Plot]:
    """Of times a histogram, of a course of values a line."""
    for entry in result.measurements:
        for name, value in entry.items():
            times = _numbers(value.get("milliseconds")) if isinstance(value, dict) else []
            if name == "milliseconds":
                yield _histogram(entry["what"], _numbers(value))
            elif times:
                yield _histogram(f"{entry['what']}, {name}", times)
            elif name == "values" and _numbers(value):
                yield _course(entry["what"], _numbers(value))


def _histogram(title: str, values: Sequence[float]) -> Plot:
    """Of all values: outliers widen the last bar's neighbours, they are not cut off."""
    if not values:
        return Plot(title, [], "", "", "")
    counts, edges = np.histogram(values, _BARS)
    size, top = _WIDTH / _BARS, int(counts.max())
    bars = [(i * size, _HEIGHT * (1 - n / top), size - 1, _HEIGHT * n / top)
            for i, n in enumerate(counts.tolist()) if n]
    return Plot(f"{title}: {len(values)} times in ms", bars, "", f"{edges[0]:.3g}", f"{edges[-1]:.3g}")


def _course(title: str, values: Sequence[float]) -> Plot:
    low, high = min(values), max(values)
    span = (high - low) or 1.0
    points = " ".join(f"{_WIDTH * i / (len(values) - 1):.1f},{4 + (_HEIGHT - 8) * (1 - (x - low) / span):.1f}"
                      for i, x in enumerate(values))
    return Plot(f"{title}: {len(values)} values", [], points, f"{values[0]:.4g}", f"{values[-1]:.4g}")

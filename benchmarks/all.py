"""All cases, in the order of the table."""

from __future__ import annotations

from benchmarks import networks, science  # noqa: F401  # register their cases
from benchmarks.cases import CASES

__all__ = ["CASES"]

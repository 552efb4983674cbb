"""jaxlib's profiler: what XLA and its threads did, and when."""

from __future__ import annotations

from typing import Any

from pullback.runtime import pjrt


def library() -> Any:
    """The bindings; the client exists, so that its work is seen."""
    from jaxlib import _profiler  # type: ignore[attr-defined]
    pjrt.client()
    return _profiler

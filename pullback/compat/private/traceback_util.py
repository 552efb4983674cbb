"""Which frames of a traceback are a library's own."""

from __future__ import annotations

from types import FrameType
from typing import Any

from pullback.core import source
from pullback.extend.source_info_util import register_exclusion

__all__ = ["api_boundary", "include_frame", "register_exclusion"]


def include_frame(f: FrameType) -> bool:
    """Whether a frame is the user's."""
    return not source.is_internal(f.f_code.co_filename)


def api_boundary(fun: Any = None, **_: Any) -> Any:
    """`fun` as it is: pullback's own frames are left out of messages anyway."""
    return (lambda f: f) if fun is None else fun

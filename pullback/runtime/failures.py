"""What goes wrong on a device, said in pullback's own exceptions. Nothing here needs the compiler."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

from pullback.core.errors import CompileError

__all__ = ["CompileError", "ExecutionError", "explained", "remember", "require_live"]

_REMEMBERED = re.compile(r"pullback host callback failure (\d+)")
_KEPT = 64
_remembered: dict[int, BaseException] = {}
_numbers = itertools.count(1)


class ExecutionError(RuntimeError):
    """A compiled program or a transfer failed, or a deleted buffer was used."""


def remember(error: BaseException) -> RuntimeError:
    """Keep what a host callback raised. XLA passes on text only: that of the result leads back to `error`."""
    number = next(_numbers)
    _remembered[number] = error
    _remembered.pop(number - _KEPT, None)
    return RuntimeError(f"pullback host callback failure {number}")


def require_live(*buffers: Any) -> None:
    """Raises: ExecutionError if one of the buffers has been deleted."""
    for i, buffer in enumerate(buffers):
        if buffer.is_deleted():
            written = f"{buffer.aval.dtype}{list(buffer.aval.shape)}"
            raise ExecutionError(
                f"Array has been deleted: buffer {i}, {written}, was donated to an earlier call or deleted; "
                f"a live one is required: copy it before, or do not donate it")


def explained(error: Exception, buffers: Sequence[Any]) -> BaseException:
    """The exception to raise in place of one of jaxlib's, met in using `buffers`.

    To be raised outside the handler of `error`: what a host callback raised keeps its own context so.
    """
    found = _REMEMBERED.search(str(error))
    if found and int(found[1]) in _remembered:
        return _remembered[int(found[1])]
    if not isinstance(error, (RuntimeError, TypeError, ValueError, BufferError)):
        return error
    try:
        require_live(*[buffer for buffer in buffers if hasattr(buffer, "is_deleted")])
    except ExecutionError as deleted:
        return deleted
    return ExecutionError(str(error))

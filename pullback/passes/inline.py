"""Inlining: jitted functions called inside a program are written out. Precondition: none.

XLA inlines calls anyway; the passes after this one see the whole program.
"""

from __future__ import annotations

from pullback.core.program import Program
from pullback.ops.call import inlined


def inline(program: Program) -> Program:
    """The program without calls of jitted functions."""
    return program.memo(inlined)  # type: ignore[no-any-return]

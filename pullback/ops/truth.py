"""Whether any or all of many truth values hold, as XLA's CPU compiler makes it quickly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pullback.core import dtypes
from pullback.core.types import ArrayType

LONG = 4095  # programs with longer reductions are not compiled whole (runtime/outline.py)


def truth(b: Any, x: Any, axes: Sequence[int], any_of: bool) -> Any:
    """Whether any of the truth values along axes holds, or whether all do.

    XLA's CPU compiler needs a second and more for the `or` of a long row of them, and a twentieth for the largest of as
    many bytes, which runs as fast.
    """
    long = x.type.ndim - 1 in axes and math.prod([x.type.shape[axis] for axis in axes]) > LONG
    x = b.convert(x, dtypes.int8) if long else x
    init = b.full(not any_of, ArrayType((), x.type.dtype))
    combine = ("max" if any_of else "min") if long else "or_" if any_of else "and_"
    out = b.reduce([x], [init], axes, lambda b, x, y: [getattr(b, combine)(x, y)])[0]
    return b.compare("NE", out, b.full(0, out.type)) if long else out

"""`jax.dtypes`, and the error of two dtypes without a common one."""

from __future__ import annotations

import numpy as np

from pullback import dtypes
from pullback.compat.private import inside
from pullback.core.dtypes import TypePromotionError, to_complex
from pullback.core.dtypes import to_inexact as to_inexact_dtype

__all__ = ["DType", "ExtendedDType", "TypePromotionError", "to_complex_dtype", "to_inexact_dtype"]

to_complex_dtype = to_complex

DType = np.dtype


class ExtendedDType:
    """What element types of a library derive from in jax; here an array of one is refused as of no known dtype."""

__getattr__ = inside("dtypes", dtypes)

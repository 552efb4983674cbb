"""NumPy's functions on arrays that can be differentiated, batched and compiled: jax.numpy's interface."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from typing import Any

from pullback.core import errors
from pullback.lax.namespace import collect as _collect
from pullback.numpy import methods as _methods
from pullback.runtime import eager as _eager  # noqa: F401  # makes operations run at once
from pullback.runtime import remember as _remember

_NAMESPACES = ("fft", "linalg")  # modules that users name themselves: jnp.linalg.inv

# Functions of which a call does what types and Python values say: eager calls that come again run by a schedule. Not
# among them: what makes arrays of Python values at once, and what looks at numbers (sets, histograms).
_REMEMBERED = """
    abs absolute acos acosh all allclose amax amin angle any append apply_over_axes arccos arccosh arcsin arcsinh
    arctan arctan2 arctanh argmax argmin argsort around array_equal array_split asin asinh astype atan atan2 atanh
    atleast_1d atleast_2d atleast_3d average bitwise_count bitwise_invert bitwise_left_shift bitwise_not
    bitwise_right_shift block broadcast_arrays broadcast_to cbrt ceil clip column_stack concat concatenate conj
    conjugate convolve copysign corrcoef correlate cos cosh count_nonzero cov cross cumprod cumsum cumulative_prod
    cumulative_sum deg2rad degrees diag diagflat diagonal diff digitize divide divmod dot dsplit dstack ediff1d einsum
    equal exp exp2 expand_dims expm1 fabs flip fliplr flipud float_power floor floor_divide fmax fmin fmod frexp gcd
    geomspace gradient greater greater_equal heaviside hsplit hstack hypot i0 imag inner interp invert isclose
    isfinite isinf isnan isneginf isposinf kron lcm ldexp left_shift less less_equal lexsort linspace log log10 log1p
    log2 logical_not logspace matmul matrix_transpose matvec max mean median meshgrid min mod modf moveaxis nan_to_num
    nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmedian nanmin nanpercentile nanprod nanquantile nanstd
    nansum nanvar nextafter not_equal ones_like outer packbits percentile permute_dims polyadd polyder polyint polymul
    polysub polyval positive pow power prod ptp quantile rad2deg radians ravel real reciprocal remainder repeat
    reshape right_shift rint roll rollaxis rot90 round searchsorted select sign signbit sin sinc sinh sort spacing
    split sqrt square squeeze stack std sum swapaxes take take_along_axis tan tanh tensordot tile trace transpose
    trapezoid tril triu true_divide trunc unpackbits unstack unwrap vander var vdot vecdot vecmat vsplit vstack where
    zeros_like""".split()

for _name in _NAMESPACES:  # before any name is set: they use the module `shape`
    importlib.import_module(f"{__name__}.{_name}")
# The ufuncs come last: they stand for functions of others.
_modules = sorted([info.name for info in pkgutil.iter_modules(__path__) if info.name not in _NAMESPACES],
                  key="ufuncs".__eq__)
__all__ = _collect(__name__, _modules, globals())
_remember.install(globals(), _REMEMBERED)
_methods.install(sys.modules[__name__])


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.numpy.{name}")

"""Random matrices and vectors that linear algebra makes: orthogonal matrices, correlated normal numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback import lax
from pullback import numpy as jnp
from pullback.core import errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.lax import linalg
from pullback.lax.operand import placed
from pullback.random.arguments import common_shape, dtype_of, integer, real, sizes
from pullback.random.continuous import normal

__all__ = ["multivariate_normal", "orthogonal"]


def orthogonal(key: Any, n: int, shape: Any = (), dtype: Any = None, m: int | None = None, *,
               out_sharding: Any = None) -> Array:
    """Orthogonal (of complex numbers unitary) matrices, uniformly distributed.

    Args:
      key: key<fry>[], or raw words u32[2].
      n: how many rows.
      shape: the shape of the stack of matrices.
      dtype: a float or complex dtype that LAPACK has; None: float32, with enable_x64 float64.
      m: how many columns; None: n. If they are not as many, those are orthonormal of which there are less.

    Returns: f32[*shape, n, m]

    Raises:
      ValueError: for negative sizes, or a dtype of another kind. TypeError: for one that LAPACK lacks.

    Source: Mezzadri, How to generate random matrices from the classical compact groups (2007).

    Example:
      >>> q = random.orthogonal(random.key(0), 3)
      >>> bool(jnp.allclose(q @ q.T, jnp.eye(3), atol=1e-5))
      True
    """
    rows, columns = integer(n, "n"), integer(n if m is None else m, "m")
    if rows < 0 or columns < 0:
        raise errors.value_error(f"n is {n} and m is {m}; at least 0 is required", fix="they are sizes of matrices")
    found = dtype_of(dtype, np.float64, "fc")
    z = normal(key, (*sizes(shape), max(rows, columns), min(rows, columns)), found)
    q, r = linalg.qr(z, full_matrices=False)
    # With a positive diagonal of R the distribution is uniform.
    diagonal = jnp.diagonal(r, axis1=-2, axis2=-1)
    q = q * (diagonal / jnp.abs(diagonal).astype(found))[..., None, :]
    return placed(q if rows >= columns else jnp.matrix_transpose(q), out_sharding)  # type: ignore[no-any-return]


def multivariate_normal(key: Any, mean: Any, cov: Any, shape: Any = None, dtype: Any = None, method: str = "cholesky",
                        *, out_sharding: Any = None) -> Array:
    """Normal vectors with a mean and a covariance.

    Args:
      key: key<fry>[], or raw words u32[2].
      mean: f32[..., n]
      cov: f32[..., n, n], symmetric and positive semidefinite; definite for method 'cholesky', else the result is NaN.
      shape: the shape of the result but for its last axis; None: that which the other axes of mean and cov broadcast
        to.
      dtype: a float dtype, in which the normal numbers are drawn; None: that of mean and cov. A wider one of mean and
        cov gives a wider result.
      method: how cov is factorized: 'cholesky', 'eigh' or 'svd'. They give different numbers.

    Returns: f32[*shape, n]

    Raises:
      ValueError: for another method, or if shapes do not go together. TypeError: for a dtype that LAPACK lacks.

    Example:
      >>> x = random.multivariate_normal(random.key(0), jnp.zeros(2), jnp.array([[1., 0.9], [0.9, 1.]]), (4,))
      >>> x.shape
      (4, 2)
    """
    if method not in ("cholesky", "eigh", "svd"):
        raise errors.value_error(f"method is {method!r}; 'cholesky', 'eigh' or 'svd' is required", fix="leave it out")
    center, spread = real(mean, "mean"), real(cov, "cov")
    common = jnp.result_type(center, spread, float)
    found = dtype_of(common if dtype is None else dtype, np.float64, "f")
    center, spread = (lax.convert_element_type(x, common) for x in (center, spread))
    ct, st = type_of(center), type_of(spread)
    if ct.ndim < 1 or st.ndim < 2 or st.shape[-2:] != ct.shape[-1:] * 2:
        raise errors.value_error(f"mean is {ct} and cov is {st}; [..., n] and [..., n, n] are required",
                                 fix="a variance is a covariance of one row and one column")
    stack = common_shape(shape, lax.empty(ct.shape[:-1], found), lax.empty(st.shape[:-2], found))
    if method == "cholesky":
        factor = linalg.cholesky(spread)
    elif method == "eigh":
        v, w = linalg.eigh(spread)
        factor = v * jnp.sqrt(w[..., None, :])
    else:
        u, s, _ = linalg.svd(spread)
        factor = u * jnp.sqrt(s[..., None, :])
    z = normal(key, (*stack, *ct.shape[-1:]), found)
    return placed(center + jnp.matvec(factor, z), out_sharding)  # type: ignore[no-any-return]

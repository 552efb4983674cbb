"""A density estimated from points, by a normal distribution around each."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pullback import lax, random, tree_util
from pullback import numpy as jnp
from pullback.core import dtypes, errors
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike, array
from pullback.scipy import special
from pullback.scipy.stats.arguments import reals

__all__ = ["gaussian_kde"]

_FIELDS = ("neff", "dataset", "weights", "covariance", "inv_cov")


def _solve_lower(factor: Any, x: Any) -> Any:
    return lax.linalg.triangular_solve(factor, x, left_side=True, lower=True)


class gaussian_kde:  # noqa: N801
    """A density estimated from points, by a normal distribution around each; a pytree of its fields.

    Args:
      dataset: float[d, n], points as columns; or float[n], numbers. At least two elements.
      bw_method: the width of the normal distributions, as a multiple of the points' covariance: 'scott' or None,
        'silverman', a number, or a function of this object that gives one.
      weights: float[n], of the points; None: equal ones.

    Attributes:
      dataset: float[d, n]
      weights: float[n], with sum 1.
      neff: the effective number of points, 1 / sum(weights ** 2).
      covariance, inv_cov: float[d, d], of the normal distributions, and its inverse.
      d, n: the dimension and the number of points.

    Raises:
      ValueError: if the points, the weights or bw_method are none.

    Example:
      >>> import pullback.numpy as jnp
      >>> from pullback.scipy import stats
      >>> density = stats.gaussian_kde(jnp.array([1.0, 2.0, 4.0]))
      >>> density.evaluate(0.0).shape
      (1,)
    """

    neff: Any
    dataset: Any
    weights: Any
    covariance: Any
    inv_cov: Any

    def __init__(self, dataset: ArrayLike, bw_method: str | float | Callable[[Any], Any] | None = None,
                 weights: ArrayLike | None = None) -> None:
        if dtypes.is_complex(array(jnp.asarray(dataset)).type.dtype):
            raise errors.type_error("the dataset is complex, real numbers are required",
                                    fix="stack the real and the imaginary parts as two dimensions")
        (points,) = reals(dataset)
        points = jnp.atleast_2d(points)
        if points.ndim != 2 or points.size <= 1:
            raise errors.value_error(f"the dataset is {points.type}, float[d, n] with at least two elements is "
                                     "required", fix="pass the points as columns")
        self.dataset = points
        if weights is None:
            shares = jnp.full(self.n, 1 / self.n, points.dtype)
        else:
            (shares,) = reals(weights)
            if shares.shape != (self.n,):
                raise errors.value_error(f"the weights are {shares.type}, one for each of {self.n} points is required",
                                         fix="pass a vector")
            shares = (shares / jnp.sum(shares)).astype(points.dtype)
        self.weights = shares
        self.neff = 1 / jnp.sum(shares * shares)
        if bw_method is None or bw_method == "scott":
            factor: Any = self.neff ** (-1 / (self.d + 4))
        elif bw_method == "silverman":
            factor = (self.neff * (self.d + 2) / 4) ** (-1 / (self.d + 4))
        elif callable(bw_method):
            factor = bw_method(self)
        elif isinstance(bw_method, str):
            raise errors.value_error(f"bw_method is {bw_method!r}, 'scott', 'silverman', a number or a function is "
                                     "required", fix="leave it out")
        else:
            factor = bw_method
        centred = points - jnp.sum(points * shares, axis=1, keepdims=True)
        covariance = (centred * shares) @ centred.T / (1 - jnp.sum(shares * shares))
        self.covariance = covariance * factor ** 2
        self.inv_cov = jnp.linalg.inv(covariance) / factor ** 2

    @property
    def d(self) -> int:
        return int(self.dataset.shape[0])

    @property
    def n(self) -> int:
        return int(self.dataset.shape[1])

    def tree_flatten(self) -> tuple[tuple[Any, ...], None]:
        return tuple([getattr(self, name) for name in _FIELDS]), None

    @classmethod
    def tree_unflatten(cls, _: None, fields: Any) -> gaussian_kde:
        made = object.__new__(cls)
        for name, value in zip(_FIELDS, fields, strict=True):
            setattr(made, name, value)
        return made

    def _points(self, points: ArrayLike) -> Any:
        """Points float[d, m]; a vector is one point of d dimensions, or m of one."""
        (x,) = reals(points)
        x = jnp.atleast_2d(x)
        if x.shape[0] != self.d and x.shape == (1, self.d):
            x = x.reshape(self.d, 1)
        if x.ndim != 2 or x.shape[0] != self.d:
            raise errors.value_error(f"the points are {x.type}, float[{self.d}, m] is required",
                                     fix="pass the points as columns")
        return x.astype(jnp.result_type(x.dtype, self.dataset.dtype))

    def _log_sums(self, x: Any, covariance: Any, signed: Any = None) -> Any:
        """log of the weighted sum of normal densities around the points, at each column of x; `signed`: weights of the
        columns, over which the sum runs too."""
        factor = lax.linalg.cholesky(covariance)
        a, b = _solve_lower(factor, self.dataset.astype(x.dtype)), _solve_lower(factor, x)
        height = 0.5 * self.d * math.log(2 * math.pi) + jnp.sum(jnp.log(jnp.diagonal(factor)))
        distance = jnp.sum((a[:, :, None] - b[:, None, :]) ** 2, axis=0)
        logs = jnp.log(self.weights)[:, None] - 0.5 * distance - height
        if signed is None:
            return special.logsumexp(logs, axis=0)
        return special.logsumexp(logs + jnp.log(signed))

    def logpdf(self, x: ArrayLike) -> Array:
        """The logarithm of the density at points.

        Args:
          x: float[d, m], points as columns; or float[d], one.

        Returns:
          float[m]
        """
        return self._log_sums(self._points(x), self.covariance)  # type: ignore[no-any-return]

    def evaluate(self, points: ArrayLike) -> Array:
        """The density at points: exp(logpdf(points))."""
        return jnp.exp(self.logpdf(points))

    __call__ = evaluate

    def pdf(self, x: ArrayLike) -> Array:
        """The density at points: evaluate(x)."""
        return self.evaluate(x)

    def integrate_gaussian(self, mean: ArrayLike, cov: ArrayLike) -> Array:
        """The integral of the density times that of a normal distribution.

        Args:
          mean: float[d]
          cov: float[d, d]
        """
        mean, cov = reals(mean, cov)
        mean, cov = jnp.atleast_1d(jnp.squeeze(mean)), jnp.atleast_2d(cov)
        if mean.shape != (self.d,) or cov.shape != (self.d, self.d):
            raise errors.value_error(f"the mean is {mean.type} and the covariance {cov.type}, float[{self.d}] and "
                                     f"float[{self.d}, {self.d}] are required", fix="pass those of the same dimension")
        return jnp.exp(self._log_sums(mean[:, None], self.covariance + cov))[0]

    def integrate_box_1d(self, low: ArrayLike, high: ArrayLike) -> Array:
        """The integral of the density from low to high, for points of one dimension."""
        if self.d != 1:
            raise errors.value_error(f"the points have {self.d} dimensions, one is required",
                                     fix="integrate a product of one-dimensional densities")
        low, high = reals(low, high)
        width = jnp.sqrt(self.covariance[0, 0])
        ends = [special.ndtr((jnp.squeeze(end) - self.dataset[0]) / width) for end in (low, high)]
        return jnp.sum(self.weights * (ends[1] - ends[0]))

    def integrate_kde(self, other: gaussian_kde) -> Array:
        """The integral of this density times another."""
        if other.d != self.d:
            raise errors.value_error(f"the dimensions are {self.d} and {other.d}, equal ones are required",
                                     fix="estimate both from points of the same dimension")
        return jnp.exp(self._log_sums(other.dataset, self.covariance + other.covariance, other.weights))

    def integrate_box(self, low_bounds: Any, high_bounds: Any, maxpts: Any = None) -> Array:
        """Absent as in real jax: raises UnsupportedError; integrate_box_1d serves one dimension."""
        raise errors.unsupported("pullback.scipy.stats.gaussian_kde.integrate_box")

    def set_bandwidth(self, bw_method: Any = None) -> None:
        """Absent as in real jax, for the object does not change: raises UnsupportedError; make a new one."""
        raise errors.unsupported("pullback.scipy.stats.gaussian_kde.set_bandwidth")

    def resample(self, key: Any, shape: Any = ()) -> Array:
        """Random points of the density.

        Args:
          key: key<fry>[], or raw words u32[2].
          shape: how many, and in which shape.

        Returns:
          float[d, *shape]
        """
        chosen, noise = random.split(key)
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        place = random.choice(chosen, self.n, shape, p=self.weights)
        n = random.normal(noise, (*shape, self.d), self.dataset.dtype)
        moved = n @ lax.linalg.cholesky(self.covariance).T
        return self.dataset[:, place] + jnp.moveaxis(moved, -1, 0)


tree_util.register_pytree_node_class(gaussian_kde)

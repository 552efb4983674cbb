"""Vector quantisation: jax.scipy.cluster.vq's interface."""

from __future__ import annotations

from typing import Any

from pullback import numpy as jnp
from pullback.core import errors
from pullback.numpy.arguments import array

__all__ = ["vq"]


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """The nearest code for each observation, by Euclidean distance.

    Args:
      obs: [n, d], or [n] for d = 1.
      code_book: [k, d], or [k].
      check_finite: accepted; traced values cannot be checked.

    Returns:
      (codes: i32[n], distances: float[n]). Among equally near codes, the first.

    Raises:
      ValueError: the two have another rank than 1 or 2, or not the same one. TypeError: another d.

    The distance is not smooth where an observation equals its code; its derivative there is NaN.

    Example:
      >>> codes, distances = vq(jnp.array([0.9, 3.0]), jnp.array([1.0, 5.0]))
      >>> print(codes, distances[1])
      [0 0] 2.0
    """
    obs, code_book = (array(x) for x in (obs, code_book))
    if obs.ndim != code_book.ndim:
        raise errors.value_error(f"obs has {obs.ndim} axes, code_book {code_book.ndim}: the same rank is required",
                                 op="vq", fix="give both [rows, features]")
    if obs.ndim not in (1, 2):
        raise errors.value_error(f"obs has {obs.ndim} axes, 1 or 2 are required", op="vq",
                                 fix="flatten the features of each observation")
    if obs.shape[1:] != code_book.shape[1:]:
        raise errors.type_error(f"obs has {obs.shape[1]} features, code_book {code_book.shape[1]}", op="vq",
                                fix="give both the same number of features")
    difference = obs[:, None] - code_book[None]
    squares = difference ** 2 if obs.ndim == 1 else jnp.sum(difference ** 2, axis=-1)
    distances = jnp.sqrt(squares)
    codes = jnp.argmin(distances, axis=1)
    return codes, jnp.take_along_axis(distances, codes[:, None], axis=1)[:, 0]


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.cluster.vq.{name}")

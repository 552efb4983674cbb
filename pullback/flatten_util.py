"""A pytree as one vector (jax.flatten_util)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pullback.core import dtypes, errors, tree
from pullback.core.primitive import TABLE
from pullback.core.trace import type_of
from pullback.lax.operand import retype
from pullback.runtime.device import as_array

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """All leaves of a pytree in one vector, and the function back.

    Args:
      pytree: arrays and numbers.

    Returns:
      (flat, unravel): `flat` of the leaves' common dtype; `unravel(flat)` gives the tree again, each leaf in its own
      shape and dtype.

    Raises:
      ValueError: `unravel` is given a vector of another length.

    Example:
      >>> pullback.flatten_util.ravel_pytree({"a": jnp.ones(2), "b": 3.0})[0]
      Array([1., 1., 3.], dtype=float32)
    """
    leaves, treedef = tree.flatten(pytree)
    leaves = [as_array(leaf) for leaf in leaves]
    types = [type_of(leaf) for leaf in leaves]
    dtype = dtypes.promote([(t.dtype, False) for t in types])[0] if leaves else dtypes.float32
    sizes = [math.prod(t.shape) for t in types]
    if leaves:
        parts = [TABLE["reshape"](retype(leaf, dtype), shape=(n,)) for leaf, n in zip(leaves, sizes, strict=True)]
        flat = TABLE["concatenate"](*parts, axis=0) if len(parts) > 1 else parts[0]
    else:
        flat = TABLE["iota"](shape=(0,), dtype=dtype, axis=0)

    def unravel(vector: Any) -> Any:
        vector = as_array(vector)
        if type_of(vector).shape != (sum(sizes),):
            raise errors.value_error(f"got {type_of(vector)}, a vector of {sum(sizes)} elements is required",
                                     op="unravel", fix="pass a vector as ravel_pytree made it")
        start, result = 0, []
        for t, n in zip(types, sizes, strict=True):
            part = TABLE["slice"](vector, start=(start,), limit=(start + n,), strides=(1,))
            result.append(retype(TABLE["reshape"](part, shape=t.shape), t.dtype, t.weak))
            start += n
        return tree.unflatten(treedef, result)

    return flat, unravel

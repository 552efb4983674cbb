"""What shapes a program rather than computing: barriers, choice of platform, named parts, tokens, placement."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pullback.api.flat import check_callable, wraps
from pullback.api.inspect import named_scope
from pullback.core import dtypes, errors, source, tree
from pullback.core.array import Array
from pullback.core.nodes import register_static
from pullback.core.trace import Tracer, type_of
from pullback.core.types import is_scalar
from pullback.core.values import value
from pullback.ops import checkpoint, convert, move
from pullback.ops.sink import sink
from pullback.runtime import pjrt
from pullback.runtime.device import as_array, device_put
from pullback.runtime.sharding import PartitionSpec, Sharding, place_of

__all__ = ["after_all", "composite", "create_token", "dce_sink", "dtype", "optimization_barrier", "platform_dependent",
           "shape_as_value", "stage", "with_sharding_constraint"]

ArrayLike = Any


# -- what the compiler may do ---------------------------------------------------------------------------

def optimization_barrier(operand: Any, /) -> Any:
    """The values unchanged; the compiler computes them all before it goes on, and none of them again behind.

    Args:
      operand: an array or a pytree of arrays.

    Raises:
      TypeError: if a leaf is no array.

    Example:
      >>> lax.optimization_barrier(jnp.arange(3))
      Array([0, 1, 2], dtype=int32)
    """
    leaves, structure = tree.flatten(operand)
    if not leaves:
        return operand
    results = checkpoint.optimization_barrier(*[as_array(leaf) for leaf in leaves])
    return tree.unflatten(structure, [results] if len(leaves) == 1 else results)


def dce_sink(val: Any, *, prevent_mlir_dce: bool = False) -> None:
    """Keeps in the program what computes the values, although nothing uses them.

    Args:
      val: an array or a pytree of arrays.
      prevent_mlir_dce: whether the compiler too must compute them.

    Raises:
      TypeError: if a leaf is no array.

    Example:
      >>> lax.dce_sink(jnp.arange(3))
    """
    for leaf in tree.leaves(val):
        sink(as_array(leaf), barrier=bool(prevent_mlir_dce))


def stage(x: ArrayLike, /) -> Array:
    """The value as a result of the program that is being traced, also where it is known before."""
    return convert.copy(as_array(x))  # type: ignore[no-any-return]


def platform_dependent(*args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]
                       ) -> Any:
    """The result of the function for the platform that the program runs on.

    Args:
      args: what the function is called with.
      default: for platforms that are not named.
      per_platform: functions by platform: cpu=..., tpu=...

    Raises:
      ValueError: if there is neither a function for this platform nor a default.

    Example:
      >>> lax.platform_dependent(1.0, cpu=lambda x: x + 1, tpu=lambda x: x - 1)
      2.0
    """
    here = pjrt.default_backend()
    for name, function in per_platform.items():
        check_callable(function, f"platform_dependent, {name}")
    chosen = per_platform.get(here, default)
    if chosen is None:
        raise errors.value_error(f"there are functions for {sorted(per_platform) or 'no platform'}, one for {here!r} "
                                 "or a default is required", fix=f"pass {here}=... or default=...")
    return chosen(*args)


def composite(decomposition: Callable[..., Any], name: str, version: int = 0) -> Callable[..., Any]:
    """A function as a part of the program with a name, which its operations carry as their scope.

    Args:
      decomposition: a function of arrays, with attributes as keyword arguments.
      name: such as 'my_library.attention'.
      version: of what the name stands for.

    Returns:
      The function; it can be differentiated and batched as the decomposition can.

    Raises:
      TypeError: if the name is no string.

    Example:
      >>> lax.composite(lambda x, *, factor: x * factor, "my.scale")(jnp.arange(3), factor=2)
      Array([0, 2, 4], dtype=int32)
    """
    if not isinstance(name, str):
        raise errors.type_error(f"the name is {name!r}, a string is required", fix="pass a name")

    @wraps(decomposition)
    def composed(*args: Any, **attributes: Any) -> Any:
        with named_scope(f"{name}.v{version}" if version else name or "composite"):
            return decomposition(*tree.map(as_array, args), **attributes)
    return composed


# -- tokens -------------------------------------------------------------------------------------------

@register_static
class Token:
    """Stands for what has happened so far. Ordered effects happen in the order of the program anyway."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Token)

    def __hash__(self) -> int:
        return hash(Token)

    def __repr__(self) -> str:
        return "Token()"


def create_token(_: Any = None) -> Token:
    """A token.

    Example:
      >>> lax.create_token()
      Token()
    """
    return Token()


def after_all(*operands: Token) -> Token:
    """A token that comes after those given. Raises TypeError if an operand is no token.

    Example:
      >>> lax.after_all(lax.create_token())
      Token()
    """
    for operand in operands:
        if not isinstance(operand, Token):
            raise errors.type_error(f"got a {type(operand).__name__}, tokens are required",
                                    fix="make one with lax.create_token()")
    return Token()


# -- types and places -----------------------------------------------------------------------------------

def dtype(x: Any) -> Any:
    """The dtype of an array or number, or the one that a name or class of numbers stands for.

    Raises:
      TypeError: if it has none.

    Example:
      >>> lax.dtype(1.5)
      dtype('float32')
    """
    if isinstance(x, Array) or is_scalar(x):
        return dtypes.canonicalize(type_of(x).dtype)
    if isinstance(x, (np.ndarray, np.generic)):
        return dtypes.canonicalize(x.dtype)
    if isinstance(x, (list, tuple, dict)):
        raise errors.type_error(f"got a {type(x).__name__}, an array, a number or a dtype is required",
                                fix="convert it with jnp.asarray")
    return dtypes.canonicalize(dtypes.as_dtype(x))


def shape_as_value(shape: Any) -> Array:
    """A shape as an array: int[number of axes].

    Example:
      >>> lax.shape_as_value((2, 3))
      Array([2, 3], dtype=int32)
    """
    element = dtypes.canonicalize(int)
    sizes = [n if isinstance(n, Array) else value(np.asarray(n, element)) for n in shape]
    if not sizes:
        return value(np.zeros(0, element))  # type: ignore[no-any-return]
    return move.concatenate(*[move.reshape(convert.convert_element_type(n, dtype=element), shape=(1,))
                              for n in sizes], axis=0)  # type: ignore[no-any-return]


def with_sharding_constraint(x: Any, shardings: Any) -> Any:
    """The arrays laid out as asked for, which is possible where it means one device.

    Args:
      x: an array or a pytree of arrays.
      shardings: a Sharding, a PartitionSpec over the mesh in force, or a pytree of these that is a prefix of `x`.

    Raises:
      ValueError: for a sharding over several devices, one that does not fit an array, or a PartitionSpec without a
        mesh.

    Example:
      >>> mesh = jax.make_mesh((1,), ("x",))
      >>> lax.with_sharding_constraint(jnp.arange(3), jax.NamedSharding(mesh, jax.P("x"))).sharding.spec
      P('x',)
    """
    leaves, structure = tree.flatten(x)
    wanted = tree.broadcast_prefix(shardings, x, is_leaf=lambda s: s is None)
    results = []
    for leaf, sharding in zip(leaves, wanted, strict=True):
        array = as_array(leaf)
        if sharding is None:
            raise errors.value_error("the sharding of an array is None", fix="leave the array out, or name a sharding")
        if not isinstance(sharding, (Sharding, PartitionSpec)):
            raise errors.type_error(f"got {sharding!r}, a Sharding or a PartitionSpec is required",
                                    fix="use SingleDeviceSharding(device)")
        place_of(sharding, array.type, source.called())
        array = array if isinstance(array, Tracer) else device_put(array, sharding)
        results.append(array)
    return tree.unflatten(structure, results)

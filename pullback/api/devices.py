"""Functions over several devices (`pmap`, `shard_map`), where there is one: every mapped axis has size 1.

Collectives inside see their axis; what they compute is what one device computes for itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from pullback.api.batch import vmap
from pullback.api.flat import check_callable, function_name, wraps
from pullback.api.jit import jit
from pullback.core import errors, trace, tree
from pullback.core.trace import type_of
from pullback.runtime.device import as_array, local_devices
from pullback.runtime.sharding import Mesh, PartitionSpec, get_mesh


class _Infer:
    """Stands for "not given" in shard_map's in_specs."""

    def __repr__(self) -> str:
        return "jax.sharding.Infer"


_INFER = _Infer()


def pmap(fun: Callable[..., Any], axis_name: Any = None, *, in_axes: Any = 0, out_axes: Any = 0,
         static_broadcasted_argnums: int | Iterable[int] = (), devices: Sequence[Any] | None = None,
         backend: str | None = None, axis_size: int | None = None, donate_argnums: int | Iterable[int] = ()) -> Any:
    """A compiled function that maps `fun` over an axis with one element for each device: here of size 1.

    Args:
      fun: a function of arrays or pytrees of arrays.
      axis_name: a name by which collectives (`lax.psum`, ...) reach the axis.
      in_axes, out_axes: as in `vmap`.
      static_broadcasted_argnums: positions of arguments that are Python values, part of the program.
      devices: the device, in a list; the only one if None.
      backend: "cpu", or None.
      axis_size: 1, or None.
      donate_argnums: positions of arguments whose memory the call may use.

    Raises:
      ValueError: the axis has another size, or `devices` more than one entry.

    Example:
      >>> pullback.pmap(lambda x: x / lax.psum(x, "i"), axis_name="i")(jnp.array([[2.0, 4.0]]))
      Array([[1., 1.]], dtype=float32)
    """
    check_callable(fun, "pmap")
    count = len(local_devices(backend=backend))
    if devices is not None and len(devices) != count:
        raise errors.value_error(f"devices has {len(devices)} entries, {count} is required", op="pmap",
                                 fix="pass jax.local_devices(), or leave it out")
    name = axis_name if axis_name is not None else object()
    static = _numbers(static_broadcasted_argnums)

    def one(*args: Any, **kwargs: Any) -> Any:
        size = trace.axis_size(name)
        if size != count:
            raise errors.value_error(f"{function_name(fun)} is mapped over an axis of size {size}; there is 1 device",
                                     op="pmap", fix="use jit(vmap(f)), which computes all elements on one device, or "
                                                    "pass arrays whose mapped axis has size 1")
        return fun(*args, **kwargs)

    @wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        fixed = {i % len(args): args[i] for i in static if -len(args) <= i < len(args)}
        rest = [x for i, x in enumerate(args) if i not in fixed]
        axes = in_axes if not isinstance(in_axes, (tuple, list)) else \
            tuple([axis for i, axis in enumerate(in_axes) if i not in fixed])

        def partial(*dynamic: Any, **more: Any) -> Any:
            given = iter(dynamic)
            return one(*[fixed[i] if i in fixed else next(given) for i in range(len(args))], **more)
        return vmap(wraps(fun)(partial), axes, out_axes, name, axis_size)(*rest, **kwargs)

    return jit(mapped, static_argnums=static, donate_argnums=_numbers(donate_argnums))


def _numbers(given: int | Iterable[int]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(given)


def shard_map(f: Callable[..., Any] | None = None, /, *, out_specs: Any, in_specs: Any = _INFER, mesh: Any = None,
              axis_names: Any = frozenset(), check_vma: bool = True) -> Any:
    """A function that runs `f` on each device's part of the arguments: here on the whole of them, on one device.

    Args:
      f: a function of arrays or pytrees of arrays; if None, a decorator is returned.
      out_specs: PartitionSpecs, a prefix of the output's tree: the mesh axes its parts are put together along.
      in_specs: the same for the arguments; theirs if not given.
      mesh: a Mesh of one device; that of `set_mesh` if None.
      axis_names: the axes of the mesh that `f` is mapped over; all if empty.
      check_vma: of no effect: with one device nothing can differ between devices.

    Raises:
      ValueError: there is no mesh, or a spec names an axis that it does not have, or more axes than an array has.

    Example:
      >>> mesh = jax.make_mesh((1,), ("x",))
      >>> spec = jax.P("x")
      >>> jax.shard_map(lambda a: a / lax.psum(a.sum(), "x"), mesh=mesh, in_specs=spec, out_specs=spec)(jnp.ones(4))
      Array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    if f is None:
        return lambda g: shard_map(g, out_specs=out_specs, in_specs=in_specs, mesh=mesh, axis_names=axis_names,
                                   check_vma=check_vma)
    check_callable(f, "shard_map")
    function = f

    @wraps(f)
    def sharded(*args: Any) -> Any:
        grid = get_mesh() if mesh is None else mesh
        if not isinstance(grid, Mesh) or not grid.axis_names:
            raise errors.value_error("there is no mesh", op="shard_map",
                                     fix='pass mesh=jax.make_mesh((1,), ("x",)), or call jax.set_mesh first')
        if in_specs is not _INFER:
            _check_specs(in_specs, args, grid, "in_specs", f)
        run: Callable[..., Any] = function
        for name in reversed([n for n in grid.axis_names if not axis_names or n in axis_names]):
            run = _alone(run, name)
        result = run(*args)
        _check_specs(out_specs, result, grid, "out_specs", f)
        return result
    return sharded


def _alone(run: Callable[..., Any], name: Any) -> Callable[..., Any]:
    """`run` under a mapped axis of size 1."""
    def mapped(*args: Any) -> Any:
        lead = tree.map(lambda x: as_array(x)[None], args)
        return tree.map(lambda x: x[0], vmap(run, 0, 0, name, 1)(*lead))
    return mapped


def _check_specs(specs: Any, values: Any, grid: Mesh, what: str, f: Callable[..., Any]) -> None:
    """Raises where a spec is no PartitionSpec, names no axis of the mesh, or has more entries than axes."""
    def leaf(x: Any) -> bool:
        return x is None or isinstance(x, PartitionSpec)
    if what == "in_specs" and leaf(specs):
        specs = (specs,) * len(values)
    if isinstance(specs, list):
        specs = tuple(specs)
    for spec, x in zip(tree.broadcast_prefix(specs, values, is_leaf=leaf), tree.leaves(values), strict=True):
        if spec is None:
            continue
        if not isinstance(spec, PartitionSpec):
            raise errors.type_error(f"{what} holds {spec!r:.60}, a PartitionSpec is required", op="shard_map",
                                    fix='write jax.P("x"), or jax.P() for what is not cut')
        unknown = [n for n in spec.names() if n not in grid.axis_names]
        if unknown:
            raise errors.value_error(f"{what} of {function_name(f)} names the axis {unknown[0]!r}; the mesh has "
                                     f"{list(grid.axis_names)}", op="shard_map", fix="name an axis of the mesh")
        if len(spec) > type_of(as_array(x)).ndim:
            raise errors.value_error(f"{what} of {function_name(f)} has {spec}, with {len(spec)} entries, for a value "
                                     f"of type {type_of(as_array(x))}", op="shard_map",
                                     fix="give at most one entry for each axis of the array")

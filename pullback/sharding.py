"""Where arrays lie (jax.sharding): meshes and shardings over the devices there are."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.lax.programs import with_sharding_constraint
from pullback.runtime.sharding import (
    AbstractMesh,
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    Sharding,
    SingleDeviceSharding,
    get_abstract_mesh,
    get_mesh,
    make_single_device_sharding,
    set_mesh,
)

__all__ = ["AbstractMesh", "AxisType", "Mesh", "NamedSharding", "PartitionSpec", "Sharding", "SingleDeviceSharding",
           "get_abstract_mesh", "get_mesh", "make_single_device_sharding", "reshard", "set_mesh"]


def reshard(xs: Any, out_shardings: Any) -> Any:
    """The arrays laid out as asked for; args and errors as for lax.with_sharding_constraint.

    Example:
      >>> mesh = jax.make_mesh((1,), ("x",))
      >>> jax.sharding.reshard(jnp.arange(3), jax.NamedSharding(mesh, jax.P("x"))).sharding.spec
      P('x',)
    """
    return with_sharding_constraint(xs, out_shardings)


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.sharding.{name}")

"""Devices arranged for meshes (jax.experimental.mesh_utils)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import errors
from pullback.runtime.device import devices as all_devices

__all__ = ["create_device_mesh"]


def create_device_mesh(mesh_shape: Sequence[int], devices: Sequence[Any] | None = None, *,
                       contiguous_submeshes: bool = False, allow_split_physical_axes: bool = False) -> np.ndarray:
    """The devices in an array of a shape, for `Mesh`.

    Args:
      mesh_shape: as many places as there are devices.
      devices: the devices; all if None.
      contiguous_submeshes, allow_split_physical_axes: of no effect on one device.

    Raises:
      ValueError: there are more places, or fewer.

    Example:
      >>> from pullback.experimental import mesh_utils
      >>> mesh_utils.create_device_mesh((1, 1)).shape
      (1, 1)
    """
    places = list(all_devices() if devices is None else devices)
    if math.prod(mesh_shape) != len(places):
        raise errors.value_error(f"mesh_shape {tuple(mesh_shape)} has {math.prod(mesh_shape)} places for "
                                 f"{len(places)} devices", op="create_device_mesh", fix="give each device one place")
    mesh = np.empty(tuple(mesh_shape), dtype=object)
    mesh.flat[:] = places
    return mesh

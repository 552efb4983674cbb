"""What several processes do together, where there is one (jax.experimental.multihost_utils)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pullback.core import errors, tree
from pullback.runtime.device import device_get

__all__ = ["assert_equal", "broadcast_one_to_all", "process_allgather", "sync_global_devices"]


def sync_global_devices(name: str) -> None:
    """Waits until every process is here: this one is."""


def broadcast_one_to_all(in_tree: Any, is_source: bool | None = None) -> Any:
    """The arrays of the process that is the source, on the host: those of this one."""
    return device_get(in_tree)


def process_allgather(in_tree: Any, tiled: bool = False) -> Any:
    """The arrays of all processes, on the host: along a new first axis, or along the first one there is if `tiled`.

    Example:
      >>> from pullback.experimental import multihost_utils
      >>> multihost_utils.process_allgather(jnp.ones(2)).shape
      (1, 2)
    """
    return tree.map(lambda x: np.asarray(x) if tiled else np.asarray(x)[None], in_tree)


def assert_equal(in_tree: Any, fail_message: str = "") -> None:
    """Raises where processes hold different arrays: one process agrees with itself."""


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.experimental.multihost_utils.{name}")

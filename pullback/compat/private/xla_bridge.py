"""Clients of XLA, by platform."""

from __future__ import annotations

from typing import Any

from pullback.compat.private import inside
from pullback.runtime.device import default_backend, devices

__all__ = ["default_backend", "devices"]

_backends: dict[str, Any] = {}  # none is to be taken away: there is one, the CPU's

__getattr__ = inside("xla_bridge")

"""`jax.tree_util`, and which classes are nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pullback import tree_util
from pullback.compat.private import inside
from pullback.core import tree

_BUILT_IN: dict[type, Any] = {tuple: None, list: None, dict: None, type(None): None}


class _Registry(Mapping[type, Any]):
    """The classes whose instances are nodes; what stands behind a key has no meaning."""

    def __getitem__(self, kind: type) -> Any:
        return _BUILT_IN[kind] if kind in _BUILT_IN else tree.REGISTERED[kind]

    def __iter__(self) -> Iterator[type]:
        yield from _BUILT_IN
        yield from tree.REGISTERED

    def __len__(self) -> int:
        return len(_BUILT_IN) + len(tree.REGISTERED)


_registry = _Registry()

__getattr__ = inside("tree_util", tree_util)

"""Classes as pytree nodes: dataclasses, static values, partial functions."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from pullback.core import tree

T = TypeVar("T")
C = TypeVar("C", bound=type)


def register_static(cls: C) -> C:
    """Make the instances of a class (with == and hash) nodes without leaves; can decorate the class."""
    tree.register_pytree_node(cls, lambda instance: ((), instance), lambda instance, _: instance,
                              lambda instance: ((), instance))
    return cls


def register_dataclass(nodetype: C, data_fields: Sequence[str] | None = None,
                       meta_fields: Sequence[str] | None = None, drop_fields: Sequence[str] = ()) -> C:
    """Make the instances of a dataclass nodes; can decorate the dataclass.

    Args:
      data_fields: the attributes that are children. By default all fields that are not static.
      meta_fields: the attributes that are part of the structure. By default the fields with
        `static=True` in their metadata (see `tree.static`).
      drop_fields: fields that take their defaults, or are computed, when an instance is rebuilt.
    A class that is no dataclass needs data_fields and meta_fields, and is rebuilt by calling it with them.
    Raises: ValueError if a field of `__init__` is missing, or named twice; if registered already.

    >>> @register_dataclass
    ... @dataclasses.dataclass
    ... class Layer:
    ...     weight: float
    ...     name: str = dataclasses.field(default="dense", metadata={"static": True})
    >>> tree.map(lambda x: 2 * x, Layer(3.0))
    Layer(weight=6.0, name='dense')
    """
    is_dataclass = isinstance(nodetype, type) and dataclasses.is_dataclass(nodetype)
    if any(isinstance(names, str) for names in (data_fields, meta_fields, drop_fields)):
        raise tree.failure(TypeError, "one of data_fields, meta_fields and drop_fields is a string, a list "
                           "of names is required", "put the name into a list")
    fields = [f for f in dataclasses.fields(nodetype) if f.name not in drop_fields] if is_dataclass else []
    if (data_fields is None) != (meta_fields is None) or (data_fields is None and not is_dataclass):
        raise tree.failure(TypeError, f"given {tree.short(nodetype)}, data_fields {data_fields} and "
                           f"meta_fields {meta_fields}; both are required, or neither for a dataclass",
                           "pass both")
    if data_fields is None or meta_fields is None:
        meta_fields = [f.name for f in fields if f.metadata.get("static", False)]
        data_fields = [f.name for f in fields if f.name not in meta_fields]
    given = [*data_fields, *meta_fields]
    required = [f.name for f in fields if f.init] if is_dataclass else given
    faults = {"named twice": [name for name in dict.fromkeys(given) if given.count(name) > 1],
              "missing": [name for name in required if name not in given],
              "not a field of __init__, or dropped": [name for name in given if name not in required]}
    if any(faults.values()):
        found = ", ".join(f"{names} {fault}" for fault, names in faults.items() if names)
        raise tree.failure(ValueError, f"{nodetype.__name__}: {found}; required is each of __init__ once",
                           "name it in data_fields or in meta_fields, or in drop_fields to leave it out")
    tree.register(nodetype, tuple(data_fields), tree.REGISTRY.register_dataclass_node, list(data_fields),
                  list(meta_fields))
    return nodetype


class _Opaque:
    """Holds a partial function, which functools.partial would otherwise merge into itself."""

    __slots__ = ("func",)

    def __init__(self, func: Callable[..., Any]) -> None:
        self.func = func

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.func(*args, **keywords)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Opaque) and bool(self.func == other.func)

    def __hash__(self) -> int:
        return hash(self.func)

    def __repr__(self) -> str:
        return repr(self.func)


class Partial(functools.partial[T]):
    """functools.partial as a node: its arguments are children, its function is structure.

    A function that is itself partial is kept whole: its own arguments are no children.

    >>> tree_leaves(Partial(pow, 2))
    [2]
    """

    __module__ = "pullback.tree_util"

    def __new__(cls, func: Callable[..., T], /, *args: Any, **kw: Any) -> Partial[T]:
        kept = _Opaque(func) if isinstance(func, functools.partial) else func
        return super().__new__(cls, kept, *args, **kw)


tree.register_pytree_node(Partial, lambda partial: ((partial.args, partial.keywords), partial.func),
                          lambda func, children: Partial(func, *children[0], **children[1]))

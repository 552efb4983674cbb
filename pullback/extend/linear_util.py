"""Functions under transformations of their arguments and results (jax.extend.linear_util).

pullback itself needs none of this: it is here for libraries that take functions to programs.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from pullback.core import errors

__all__ = ["StoreException", "WrappedFun", "cache", "merge_linear_aux", "transformation", "transformation2",
           "transformation_with_aux", "transformation_with_aux2", "wrap_init"]


class StoreException(Exception):
    """Auxiliary output was asked for before the function ran, or written twice."""


_EMPTY = object()


class Store:
    """A place that is written once, by a transformation, while the function runs."""

    def __init__(self) -> None:
        self._value: Any = _EMPTY

    def store(self, value: Any) -> None:
        if self._value is not _EMPTY:
            raise StoreException("the function ran already: its auxiliary output is there")
        self._value = value

    def reset(self) -> None:
        self._value = _EMPTY

    @property
    def val(self) -> Any:
        if self._value is _EMPTY:
            raise StoreException("the function has not run yet: there is no auxiliary output")
        return self._value

    def __bool__(self) -> bool:
        return self._value is not _EMPTY


class WrappedFun:
    """A function, and what transformations have made of it.

    Attributes:
      f: the function that was wrapped first.
      f_transformed: the function as it is now.
      params: keyword arguments of every call.
      debug_info: what messages are to say of it, or None.
    """

    def __init__(self, f: Callable[..., Any], f_transformed: Callable[..., Any], stores: tuple[Store, ...] = (),
                 params: Iterable[tuple[str, Any]] = (), debug_info: Any = None) -> None:
        self.f = f
        self.f_transformed = f_transformed
        self.stores = stores
        self.params = tuple(params)
        self.debug_info = debug_info

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", type(self.f).__name__)

    def wrap(self, transformed: Callable[..., Any], *stores: Store) -> WrappedFun:
        """The same function as `transformed` computes it."""
        return WrappedFun(self.f, transformed, (*stores, *self.stores), self.params, self.debug_info)

    def with_unknown_names(self) -> WrappedFun:
        """The same function: its results have no names that could be wrong."""
        return self

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """What the transformed function returns."""
        return self.f_transformed(*args, **{**dict(self.params), **kwargs})

    def __repr__(self) -> str:
        return f"WrappedFun({self.__name__})"


def wrap_init(f: Callable[..., Any], params: dict[str, Any] | None = None, *, debug_info: Any = None) -> WrappedFun:
    """A function ready to be transformed.

    Args:
      f: any function.
      params: keyword arguments of every call.
      debug_info: kept as it is.

    Returns:
      A WrappedFun.

    Example:
      >>> from pullback.extend import linear_util as lu
      >>> lu.wrap_init(lambda x: x + 1).call_wrapped(2)
      3
    """
    if not callable(f):
        raise errors.type_error(f"got {f!r:.60}, a function is required", op="wrap_init",
                                fix="pass the function itself")
    return WrappedFun(f, f, (), (params or {}).items(), debug_info)


def _applied(gen: Callable[..., Any]) -> Callable[..., Any]:
    """A transformation in the form `gen(f, *static, *args) -> result`, for one that is written as a generator."""
    def run(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        steps = gen(*args, **kwargs)
        inner_args, inner_kwargs = next(steps)
        result = steps.send(f(*inner_args, **inner_kwargs))
        steps.close()
        return result
    return run


def _plain(fun: WrappedFun) -> Callable[..., Any]:
    return fun.f_transformed


def transformation2(gen: Callable[..., Any], fun: WrappedFun | None = None, *gen_static_args: Any) -> Any:
    """A function transformed by `gen(f, *gen_static_args, *args, **kwargs) -> result`.

    Without `fun` a transformation: (WrappedFun, *static arguments) -> WrappedFun.
    """
    if fun is None:
        return functools.partial(transformation2, gen)
    return fun.wrap(functools.partial(gen, _plain(fun), *gen_static_args))


def transformation(gen: Callable[..., Any], fun: WrappedFun | None = None, *gen_static_args: Any) -> Any:
    """A function transformed by a generator.

    `gen(*gen_static_args, *args, **kwargs)` yields (args, kwargs) for the function, is sent its result, and yields the
    result of the whole. Without `fun` a transformation: (WrappedFun, *static arguments) -> WrappedFun.
    """
    if fun is None:
        return functools.partial(transformation, gen)
    return transformation2(_applied(gen), fun, *gen_static_args)


def transformation_with_aux2(gen: Callable[..., Any], fun: WrappedFun | None = None, *gen_static_args: Any,
                             use_eq_store: bool = False, unk_names: bool = False) -> Any:
    """A function transformed by `gen(f, store, *gen_static_args, *args, **kwargs) -> result`.

    Returns:
      (the WrappedFun, a function without arguments that returns what `gen` put into `store`).
    """
    if fun is None:
        return functools.partial(transformation_with_aux2, gen, use_eq_store=use_eq_store, unk_names=unk_names)
    store = Store()
    return fun.wrap(functools.partial(gen, _plain(fun), store, *gen_static_args), store), lambda: store.val


def transformation_with_aux(gen: Callable[..., Any], fun: WrappedFun | None = None, *gen_static_args: Any) -> Any:
    """As `transformation`, for a generator that yields (result, auxiliary output) in the end.

    Returns:
      (the WrappedFun, a function without arguments that returns the auxiliary output).
    """
    if fun is None:
        return functools.partial(transformation_with_aux, gen)

    def stored(f: Callable[..., Any], store: Store, *args: Any, **kwargs: Any) -> Any:
        result, aux = _applied(gen)(f, *args, **kwargs)
        store.store(aux)
        return result
    return transformation_with_aux2(stored, fun, *gen_static_args)


def merge_linear_aux(aux1: Callable[[], Any], aux2: Callable[[], Any]) -> tuple[bool, Any]:
    """(whether it is the first, the auxiliary output) of the one of two functions that ran.

    Raises:
      StoreException: neither did, or both.
    """
    found = []
    for first, aux in ((True, aux1), (False, aux2)):
        try:
            found.append((first, aux()))
        except StoreException:
            pass
    if len(found) != 1:
        raise StoreException("both functions ran" if found else "neither function ran")
    return found[0]


def cache(call: Callable[..., Any], *, explain: Any = None) -> Callable[..., Any]:
    """`call(fun, *args)`, its results kept as long as the function lives, by the arguments."""
    kept: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()

    @functools.wraps(call)
    def run(fun: WrappedFun, *args: Any) -> Any:
        results = kept.setdefault(fun, {})
        if args not in results:
            results[args] = call(fun, *args)
        return results[args]
    return run

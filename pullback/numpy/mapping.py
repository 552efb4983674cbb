"""Functions of vectors or scalars applied along the axes of larger arrays: vectorize, apply_along_axis."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from typing import Any

from pullback.api.batch import vmap
from pullback.api.flat import wraps
from pullback.core import errors
from pullback.core.array import Array
from pullback.numpy.arguments import ArrayLike, array, one_axis
from pullback.numpy.creation import asarray
from pullback.numpy.promotion import broadcast_shapes
from pullback.ops import move

__all__ = ["apply_along_axis", "apply_over_axes", "vectorize"]

Names = tuple[str, ...]


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: ArrayLike, *args: Any, **kwargs: Any) -> Any:
    """A function of vectors applied to every vector along an axis.

    Args:
      func1d: (any[n], *args, **kwargs) -> an array of any shape
      axis: the axis of the vectors.
      arr: any[*before, n, *after]

    Returns:
      any[*before, *shape of the function's result, *after]

    Example:
      >>> jnp.apply_along_axis(jnp.sum, 1, jnp.ones((2, 3)))
      Array([3., 3.], dtype=float32)
    """
    x = array(arr)
    place = one_axis(axis, x.type.ndim)

    def function(vector: Any) -> Any:
        return func1d(vector, *args, **kwargs)

    for i in range(1, x.type.ndim - place):
        function = vmap(function, in_axes=i, out_axes=-1)
    for _ in range(place):
        function = vmap(function)
    return function(x)


def apply_over_axes(func: Callable[[ArrayLike, int], Array], a: ArrayLike, axes: Sequence[int]) -> Array:
    """A function of an array and an axis applied for one axis after the other.

    Args:
      func: (array, axis) -> an array of as many axes, or one less: then the axis is put back with size 1.
      a: any[...]
      axes: the axes, in order.

    Raises:
      ValueError: if the function returns another number of axes.

    Example:
      >>> jnp.apply_over_axes(jnp.sum, jnp.ones((2, 3)), [0, 1]).item()
      6.0
    """
    x = array(a)
    for axis in (axes,) if isinstance(axes, int) else axes:
        place = one_axis(axis, x.type.ndim)
        out = array(func(x, place))
        if out.type.ndim == x.type.ndim - 1:
            shape = list(out.type.shape)
            shape.insert(place, 1)
            out = move.reshape(out, shape=tuple(shape))
        elif out.type.ndim != x.type.ndim:
            raise errors.value_error(
                f"the function made {out.type} of {x.type} along axis {place}; as many axes or one less are required",
                fix="reduce or map along the axis that the function is given")
        x = out
    return x  # type: ignore[no-any-return]


# -- vectorize ----------------------------------------------------------------------------------------

_TERM = r"\(\s*(?:\w+(?:\s*,\s*\w+)*)?\s*\)"
_SIGNATURE = re.compile(rf"\s*{_TERM}(?:\s*,\s*{_TERM})*\s*->\s*{_TERM}(?:\s*,\s*{_TERM})*\s*")


def vectorize(pyfunc: Callable[..., Any], *, excluded: Collection[int | str] = frozenset(), signature: str | None = None
              ) -> Callable[..., Any]:
    """A function of scalars, or of arrays with the axes that `signature` names, made one of larger arrays.

    The axes in front of those are mapped over, and broadcast.

    Args:
      pyfunc: the function.
      excluded: positions and names of arguments that are passed as they are.
      signature: '(n,m),(m)->(n)': the last axes of each argument and of each result; None: scalars.

    Raises:
      ValueError: if the arguments have not these axes, or the results not those promised.

    Example:
      >>> matvec = jnp.vectorize(jnp.dot, signature="(n,m),(m)->(n)")
      >>> matvec(jnp.ones((5, 2, 3)), jnp.ones(3)).shape
      (5, 2)
    """
    for name in excluded:
        if not isinstance(name, (int, str)) or isinstance(name, int) and name < 0:
            raise errors.type_error(f"excluded holds {name!r}; positions from 0 and names are required",
                                    fix="name each argument by its position or its keyword")
    inputs, outputs = (None, None) if signature is None else _read(signature)

    @wraps(pyfunc)
    def vectorized(*args: Any, **kwargs: Any) -> Any:
        # Without a signature keyword arguments are mapped over like the others.
        mapped: dict[int | str, Any] = {i: x for i, x in enumerate(args) if i not in excluded}
        if inputs is None:
            mapped |= {name: x for name, x in kwargs.items() if name not in excluded}
            mapped = {place: x for place, x in mapped.items() if x is not None}

        def function(*values: Any) -> Any:
            given = dict(zip(mapped, values))
            return pyfunc(*[given.get(i, x) for i, x in enumerate(args)],
                          **{name: given.get(name, x) for name, x in kwargs.items()})

        if inputs is not None and len(mapped) != len(inputs):
            raise errors.type_error(f"got {len(mapped)} arguments, the signature {signature} is for {len(inputs)}",
                                    op="vectorize", fix="name those without axes in `excluded`")
        return _mapped(function, [asarray(x) for x in mapped.values()], inputs or [()] * len(mapped), outputs,
                       signature)

    return vectorized


def _read(signature: str) -> tuple[list[Names], list[Names]]:
    """The names of the axes of the arguments and of the results."""
    if not isinstance(signature, str) or not _SIGNATURE.fullmatch(signature):
        raise errors.value_error(f"signature is {signature!r}; the form '(n,m),(m)->(n)' is required", op="vectorize",
                                 fix="write the last axes of each argument in parentheses, '()' for scalars")
    left, right = ([tuple(re.findall(r"\w+", term)) for term in re.findall(_TERM, side)]
                   for side in signature.split("->"))
    return left, right


def _mapped(function: Callable[..., Any], xs: list[Any], inputs: Sequence[Names], outputs: list[Names] | None,
            signature: str | None) -> Any:
    """The function mapped over the axes in front of the named ones."""
    sizes: dict[str, int] = {}
    batches = []
    for x, names in zip(xs, inputs):
        count = x.type.ndim - len(names)
        if count < 0:
            raise errors.value_error(
                f"an argument is {x.type}; the {len(names)} axes ({','.join(names)}) of {signature} are required",
                op="vectorize", fix="give it the missing axes")
        _check_sizes(x, names, sizes, "an argument", signature)
        batches.append(x.type.shape[:count])
    shape = broadcast_shapes(batches)

    def checked(*values: Any) -> Any:
        result = function(*values)
        if outputs is not None:
            _check_results(result, outputs, dict(sizes), signature)
        return result

    mapped: Callable[..., Any] = checked
    for i in range(len(shape) - 1, -1, -1):
        # An axis that an argument lacks, or has with size 1 where others have more, is not mapped over.
        own = [i - len(shape) + len(batch) for batch in batches]
        mapped = vmap(mapped, in_axes=tuple([0 if j >= 0 and batch[j] == shape[i] else None
                                             for j, batch in zip(own, batches)]))
    return mapped(*[_without_ones(x, batch, shape) for x, batch in zip(xs, batches)])


def _without_ones(x: Any, batch: tuple[int, ...], shape: tuple[int, ...]) -> Any:
    kept = tuple([n for n, full in zip(batch, shape[len(shape) - len(batch):]) if n == full])
    return x if kept == batch else move.reshape(x, shape=(*kept, *x.type.shape[len(batch):]))


def _check_sizes(x: Any, names: Names, sizes: dict[str, int], what: str, signature: str | None) -> None:
    """A ValueError unless the last axes of `x` have the sizes known by their names."""
    for name, n in zip(names, x.type.shape[x.type.ndim - len(names):]):
        if sizes.setdefault(name, n) != n:
            raise errors.value_error(f"axis {name} of {signature} has size {sizes[name]}, {what} {x.type} has {n}",
                                     op="vectorize", fix="check the order of the axes")


def _check_results(result: Any, outputs: list[Names], sizes: dict[str, int], signature: str | None) -> None:
    """An error unless the results have the axes that the signature promises."""
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(outputs) or len(outputs) > 1 and not isinstance(result, tuple):
        given = f"a tuple of {len(result)}" if isinstance(result, tuple) else f"a {type(result).__name__}"
        raise errors.type_error(f"the function returned {given}; {signature} promises "
                                f"{'a tuple of ' * (len(outputs) > 1)}{len(outputs)} result{'s' * (len(outputs) > 1)}",
                                op="vectorize", fix="return a tuple with an array for each result")
    for value, names in zip(results, outputs):
        x = array(value)
        if x.type.ndim != len(names):
            raise errors.value_error(f"the function returned {x.type}, {signature} promises axes ({','.join(names)})",
                                     op="vectorize", fix="correct the signature")
        _check_sizes(x, names, sizes, "a result", signature)

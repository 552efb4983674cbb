"""Einstein summation: products of labelled arrays, summed over the labels that the result does not have."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from pullback.core import errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.lax.contract import PrecisionLike, dot_general, preferred
from pullback.lax.operand import placed, retype
from pullback.numpy import promotion
from pullback.numpy.arguments import DTypeLike, array, no_out
from pullback.numpy.contract import arranged, diagonal_of, pairwise, total

__all__ = ["einsum", "einsum_path"]

# A label is a character or an entry of a list of labels; or, for an axis that an ellipsis stands for,
# ("...", -1), with the number of the axis counted from the last.
Labels = tuple[Any, ...]
Shapes = tuple[tuple[int, ...], ...]


def einsum(subscripts: Any, /, *operands: Any, out: None = None,
           optimize: str | bool | list[tuple[int, ...]] = "auto", precision: PrecisionLike = None,
           preferred_element_type: DTypeLike | None = None, _dot_general: Callable[..., Any] = dot_general,
           out_sharding: Any = None) -> Array:
    """Products of arrays with labelled axes, summed over the labels that the result does not have.

    A label that one operand has twice takes its diagonal. An ellipsis stands for any number of axes, which
    broadcast.

    Args:
      subscripts: 'ij,jk->ik': labels of each operand and of the result. Without '->' the result has the axes
        of ellipses, then the labels that occur once, in alphabetical order.
      operands: any[...]. Or einsum(x, [0, 1], y, [1, 2], [0, 2]): each operand with a list of its labels.
      optimize: how the order of more than two operands is found (see opt_einsum); or a path, as einsum_path
        gives it; False: from left to right.
      precision, preferred_element_type: of the products, see lax.dot_general.

    Raises:
      ValueError: if labels and operands do not fit.

    Example:
      >>> jnp.einsum("bij,bjk->bik", jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))).shape
      (5, 2, 4)
    """
    no_out(out)
    texts, result, given = _read(subscripts, operands)
    xs = list(promotion.promoted(*given))
    shapes = tuple([type_of(x).shape for x in xs])
    parsed, labels = _parsed(texts, result, shapes)
    dot = None if _dot_general is dot_general else _other_dot(_dot_general)
    settings = (precision, preferred_element_type, dot)
    terms, everything = list(parsed), tuple(range(len(xs)))
    for picks in _path(parsed, labels, shapes, _order(optimize)) if len(xs) > 2 else [everything]:
        # As in opt_einsum, operands leave the list, and their product goes to its end.
        chosen = [(xs[i], terms[i]) for i in picks]
        for i in sorted(picks, reverse=True):
            del xs[i], terms[i]
        x, term = _product(chosen, labels, terms, settings)
        xs.append(x)
        terms.append(term)
    x = arranged(xs[0], terms[0], labels)
    if preferred_element_type is not None:
        x = retype(x, preferred(preferred_element_type, type_of(x).dtype, "einsum"))
    return placed(array(x), out_sharding)  # type: ignore[no-any-return]


def einsum_path(subscripts: Any, /, *operands: Any, optimize: bool | str | list[tuple[int, ...]] = "auto"
                ) -> tuple[list[tuple[int, ...]], Any]:
    """The order in which `einsum` contracts its operands.

    Args:
      subscripts, operands, optimize: as in `einsum`.

    Returns:
      (path, report): the positions contracted in each step, whose product goes to the end of the list; and
      opt_einsum's account of the cost, which prints as text.

    Example:
      >>> jnp.einsum_path("ij,jk", jnp.ones((2, 3)), jnp.ones((3, 2)))[0]
      [(0, 1)]
    """
    texts, result, given = _read(subscripts, operands)
    shapes = tuple([type_of(promotion.operand(x)).shape for x in given])
    return _optimized(*_parsed(texts, result, shapes), shapes, optimize)


def _product(chosen: Sequence[tuple[Any, Labels]], labels: Labels, rest: Sequence[Labels], settings: Any
             ) -> tuple[Any, Labels]:
    """The product of operands, with the labels that the result or an operand of the `rest` has."""
    precision, dtype, dot = settings
    pending = [_with_diagonals(x, term) for x, term in chosen]
    x, term = pending.pop(0)
    wanted = {c for other in (labels, *rest) for c in other}
    if not pending:
        alone = tuple([i for i, c in enumerate(term) if c not in wanted])
        return total(x, alone, dtype), tuple([c for c in term if c in wanted])
    while pending:
        y, other = pending.pop(0)
        kept = wanted.union(*[t for _, t in pending])
        # The last product comes in the order of the result, others as dot_general leaves them.
        out = labels if not rest and not pending else _natural(term, other, kept)
        x, term = pairwise(x, term, y, other, out, precision, dtype, dot), out
    return x, term


def _natural(x: Labels, y: Labels, kept: set[Any]) -> Labels:
    """The labels of a product in the order in which dot_general gives them."""
    return (*[c for c in x if c in y and c in kept], *[c for c in x if c in kept and c not in y],
            *[c for c in y if c in kept and c not in x])


def _with_diagonals(x: Any, term: Labels) -> tuple[Any, Labels]:
    """`x` with one axis for each of its labels, and these."""
    while len(set(term)) < len(term):
        label = next(c for c in term if term.count(c) > 1)
        first = term.index(label)
        second = term.index(label, first + 1)
        x = diagonal_of(x, first, second)
        term = (*[c for i, c in enumerate(term) if i not in (first, second)], label)
    return x, term


def _other_dot(function: Callable[..., Any]) -> Callable[..., Any]:
    """A user's function in place of dot_general, in the form that `pairwise` takes."""

    def dot(x: Any, y: Any, dims: Any, precision: PrecisionLike, dtype: DTypeLike | None) -> Any:
        return function(x, y, dims, precision, preferred_element_type=dtype or type_of(x).dtype)

    return dot


# -- subscripts ---------------------------------------------------------------------------------------


def _read(subscripts: Any, operands: Sequence[Any]
          ) -> tuple[tuple[Labels, ...], Labels | None, Sequence[Any]]:
    """The labels of each operand and of the result (None: implied), with Ellipsis for '...'; the operands."""
    if isinstance(subscripts, str):
        texts, result = _split(subscripts)
        if len(texts) != len(operands):
            raise errors.value_error(
                f"subscripts {subscripts!r} are for {len(texts)} operand{'s' * (len(texts) != 1)}, got "
                f"{len(operands)}", fix="separate the labels of operands by commas")
        return texts, result, operands
    given, lists = [subscripts, *operands[1::2]], operands[::2]
    last = given.pop() if len(given) > len(lists) else None
    for labels in [*lists, last]:
        if not isinstance(labels, (list, tuple)) and (labels is not None or not lists):
            raise errors.type_error(
                f"labels of an operand are {labels!r}, a list is required where no text gives the subscripts",
                fix="call einsum('ij,jk->ik', x, y), or einsum(x, [0, 1], y, [1, 2], [0, 2])")
    return tuple([tuple(labels) for labels in lists]), None if last is None else tuple(last), given


@functools.lru_cache(maxsize=1024)
def _split(subscripts: str) -> tuple[tuple[Labels, ...], Labels | None]:
    """The labels that a text gives the operands, and the result."""
    inputs, arrow, result = "".join(subscripts.split()).partition("->")
    if set("->") & {*inputs, *result}:
        raise errors.value_error(f"subscripts {subscripts!r} have a second '->', or a part of one",
                                 fix="write them as 'ij,jk->ik'")

    def labels(term: str) -> Labels:
        before, dots, after = term.partition("...")
        if "." in before + after:
            raise errors.value_error(
                f"subscripts {subscripts!r} have dots that are no ellipsis, or two ellipses in one term",
                fix="write '...' once for the axes without labels")
        return (*before, ..., *after) if dots else (*term,)

    return tuple([labels(term) for term in inputs.split(",")]), labels(result) if arrow else None


@functools.lru_cache(maxsize=1024)
def _parsed(texts: tuple[Labels, ...], result: Labels | None, shapes: Shapes
            ) -> tuple[tuple[Labels, ...], Labels]:
    """The labels of the axes of each operand, and of the result."""
    terms = tuple([_expanded(text, shape, i) for i, (text, shape) in enumerate(zip(texts, shapes))])
    _check_sizes(terms, shapes)
    every = [c for term in terms for c in term]
    outer = sorted({c for c in every if _of_ellipsis(c)})
    named = [c for c in every if not _of_ellipsis(c)]
    if result is None:
        return terms, (*outer, *sorted([c for c in set(named) if named.count(c) == 1]))
    for c in result:
        if c is not ... and c not in named:
            raise errors.value_error(f"label {c!r} of the result is in no operand",
                                     fix="leave it out, or name the axis")
        if result.count(c) > 1:
            raise errors.value_error(f"label {'...' if c is ... else c!r} stands twice in the result",
                                     fix="name each axis of the result once")
    return terms, tuple([label for c in result for label in (outer if c is ... else (c,))])


def _of_ellipsis(label: Any) -> bool:
    return type(label) is tuple


def _expanded(text: Labels, shape: tuple[int, ...], place: int) -> Labels:
    """The labels of the axes of one operand."""
    dots = text.count(...)
    count = len(shape) - len(text) + dots
    if count < 0 or (count and not dots) or dots > 1:
        shown = "".join(["..." if c is ... else str(c) for c in text])
        raise errors.value_error(
            f"operand {place} of shape {shape} has {len(shape)} ax{'is' if len(shape) == 1 else 'es'}, its "
            f"labels {shown!r} are for {len(text) - dots}",
            fix="give a label for each axis, or '...' for those without")
    outer = [("...", i) for i in range(-count, 0)]
    return tuple([label for c in text for label in (outer if c is ... else (c,))])


def _check_sizes(terms: Sequence[Labels], shapes: Shapes) -> None:
    """A ValueError unless each label has one size, or 1; and in one operand, one size."""
    seen: dict[Any, tuple[int, int]] = {}
    for place, (term, shape) in enumerate(zip(terms, shapes)):
        for label, n in zip(term, shape):
            twin = shape[term.index(label)]
            before, where = (twin, place) if twin != n else seen.get(label, (1, place))
            if before != n and (before == twin or 1 not in (before, n)):
                shown = f"axis {label[1]} of '...'" if _of_ellipsis(label) else f"label {label!r}"
                raise errors.value_error(
                    f"{shown} has size {before} in operand {where} of shape {shapes[where]}, and size {n} in "
                    f"operand {place} of shape {shape}", fix="check the labels, or transpose an operand")
            if before == 1:
                seen[label] = (n, place)


# -- the order of several operands --------------------------------------------------------------------


def _order(optimize: Any) -> Any:
    """`optimize` in a form that can be remembered by."""
    if isinstance(optimize, (list, tuple)):
        return tuple([tuple(step) for step in optimize if not isinstance(step, str)])
    return optimize


@functools.lru_cache(maxsize=1024)
def _path(terms: tuple[Labels, ...], result: Labels, shapes: Shapes, optimize: Any) -> list[tuple[int, ...]]:
    """The positions of the operands contracted in each step."""
    if optimize is False:
        return [tuple(range(len(terms)))]
    return _optimized(terms, result, shapes, optimize)[0]


def _optimized(terms: tuple[Labels, ...], result: Labels, shapes: Shapes, optimize: Any
               ) -> tuple[list[tuple[int, ...]], Any]:
    """The path and the report of opt_einsum."""
    import opt_einsum
    labels = list(dict.fromkeys([c for term in terms for c in term]))
    free = (c for c in map(opt_einsum.get_symbol, range(10 ** 6)) if c not in labels)
    symbols = {c: c if isinstance(c, str) else next(free) for c in labels}
    text = ",".join(["".join([symbols[c] for c in term]) for term in terms])
    text += "->" + "".join([symbols[c] for c in result])
    if isinstance(optimize, tuple):
        optimize = list(optimize)
    try:
        path, report = opt_einsum.contract_path(text, *shapes, shapes=True, optimize=optimize)
    except (KeyError, TypeError, ValueError) as error:
        raise errors.value_error(f"optimize is {optimize!r}: {error}",
                                 fix="pass 'auto', 'optimal', 'greedy', False or a path") from None
    return [tuple(step) for step in path], report

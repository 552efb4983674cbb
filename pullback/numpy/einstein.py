"""Einstein summation: products of labelled arrays, summed over the labels that the result does not have."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from pullback.core import errors
from pullback.core.array import Array
from pullback.core.trace import type_of
from pullback.lax.contract import PrecisionLike, dot_general, preferred
from pullback.lax.operand import retype
from pullback.numpy import promotion
from pullback.numpy.arguments import ArrayLike, DTypeLike, array, no_out, placed
from pullback.numpy.contract import arranged, diagonal_of, pairwise, total

__all__ = ["einsum", "einsum_path"]

# A label is a character, a value from a list of labels, or a negative int: an axis that an ellipsis stands for.
Labels = tuple[Any, ...]


def einsum(subscripts: Any, /, *operands: Any, out: None = None, optimize: str | bool | list[tuple[int, ...]] = "auto",
           precision: PrecisionLike = None, preferred_element_type: DTypeLike | None = None,
           _dot_general: Callable[..., Any] = dot_general, out_sharding: Any = None) -> Array:
    """Products of arrays with labelled axes, summed over the labels that the result does not have.

    A label that an operand has twice takes its diagonal. An ellipsis stands for any number of axes, which broadcast.

    Args:
      subscripts: 'ij,jk->ik': labels of each operand and of the result. Without '->' the result has the labels that
        occur once, in alphabetical order, after the axes of ellipses.
      operands: any[...]. Or einsum(x, [0, 1], y, [1, 2], [0, 2]): each operand with a list of its labels.
      optimize: how the order of more than two operands is found (see opt_einsum); a path, as einsum_path gives it;
        False: from left to right.
      precision, preferred_element_type: of the products, see lax.dot_general.

    Raises:
      ValueError: if labels and operands do not fit.

    Example:
      >>> jnp.einsum("bij,bjk->bik", jnp.ones((5, 2, 3)), jnp.ones((5, 3, 4))).shape
      (5, 2, 4)
    """
    no_out(out)
    texts, result, given = _read(subscripts, operands)
    xs = promotion.promoted(*given) if given else []
    shapes = tuple([type_of(x).shape for x in xs])
    terms, labels = _parse(texts, result, shapes)
    dot = None if _dot_general is dot_general else _other_dot(_dot_general)
    settings = (precision, preferred_element_type, dot)
    xs, terms = list(xs), list(terms)
    for picks in _path(tuple(terms), labels, shapes, _order(optimize)) if len(xs) > 2 else [tuple(range(len(xs)))]:
        # As in opt_einsum, operands leave the list, and their product goes to its end.
        chosen = [(xs[i], terms[i]) for i in picks]
        for i in sorted(picks, reverse=True):
            del xs[i], terms[i]
        x, term = _contracted(chosen, labels, terms, settings)
        xs.append(x)
        terms.append(term)
    x = array(arranged(_result(xs[0], preferred_element_type), terms[0], labels))
    return placed(x, out_sharding)  # type: ignore[no-any-return]


def _contracted(chosen: Sequence[tuple[Any, Labels]], labels: Labels, rest: Sequence[Labels], settings: Any
                ) -> tuple[Any, Labels]:
    """The product of operands, with the labels that the result or operands of the `rest` have."""
    precision, dtype, dot = settings
    pending = [_diagonals(x, term) for x, term in chosen]
    x, term = pending.pop(0)
    if not pending:
        kept = {*labels, *(c for other in rest for c in other)}
        alone = tuple([i for i, c in enumerate(term) if c not in kept])
        return total(x, alone, dtype), tuple([c for c in term if c in kept])
    while pending:
        y, other = pending.pop(0)
        later = {c for term_ in (*rest, *(t for _, t in pending)) for c in term_}
        kept = {*labels, *later}
        own = {*term, *other}
        # The last product comes in the order of the result, others as dot_general leaves them.
        out = labels if own >= {*labels} and not later else _natural(term, other, kept)
        x, term = pairwise(x, term, y, other, out, precision, dtype, dot), tuple(out)
    return x, term


def _natural(x: Labels, y: Labels, kept: set[Any]) -> Labels:
    """Labels of a product in the order in which dot_general gives them."""
    batch = [c for c in x if c in y and c in kept]
    return (*batch, *[c for c in x if c in kept and c not in y], *[c for c in y if c in kept and c not in x])


def _diagonals(x: Any, term: Labels) -> tuple[Any, Labels]:
    """`x` with one axis for each of its labels."""
    while len(set(term)) < len(term):
        label = next(c for c in term if term.count(c) > 1)
        first = term.index(label)
        second = term.index(label, first + 1)
        x = diagonal_of(x, first, second)
        term = (*[c for i, c in enumerate(term) if i not in (first, second)], label)
    return x, term


def _result(x: Any, dtype: DTypeLike | None) -> Any:
    return x if dtype is None else retype(x, preferred(dtype, type_of(x).dtype, "einsum"))


def _other_dot(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function in place of dot_general, called as `contract.contracted` is."""
    return lambda x, y, dims, precision, dtype: function(x, y, dims, precision, preferred_element_type=dtype)


# -- subscripts ---------------------------------------------------------------------------------------


def _read(subscripts: Any, operands: Sequence[Any]) -> tuple[list[Any], Any, list[Any]]:
    """The labels of each operand and of the result (None: implied), with Ellipsis for '...'; and the operands."""
    if isinstance(subscripts, str):
        text = "".join(subscripts.split())
        inputs, arrow, result = text.partition("->")
        if any([c in "->" for c in inputs + result]):
            raise errors.value_error(f"subscripts {subscripts!r} have more than one '->', or a part of one",
                                     fix="write them as 'ij,jk->ik'")
        texts = [_characters(term, subscripts) for term in inputs.split(",")]
        if len(texts) != len(operands):
            raise errors.value_error(
                f"subscripts {subscripts!r} are for {len(texts)} operand{'s' * (len(texts) != 1)}, got {len(operands)}",
                fix="separate the labels of operands by commas")
        return texts, _characters(result, subscripts) if arrow else None, list(operands)
    everything = [subscripts, *operands]
    result = everything.pop() if len(everything) % 2 else None
    given, lists = everything[::2], everything[1::2]
    for labels in [*lists, result or []]:
        if not isinstance(labels, (list, tuple)):
            raise errors.type_error(
                f"labels of an operand are {labels!r}, a list is required where subscripts are not given as a str",
                fix="call einsum('ij,jk->ik', x, y), or einsum(x, [0, 1], y, [1, 2], [0, 2])")
    return [list(labels) for labels in lists], None if result is None else list(result), given


def _characters(term: str, subscripts: str) -> list[Any]:
    """The labels of one operand."""
    before, dots, after = term.partition("...")
    if "." in before + after:
        raise errors.value_error(f"subscripts {subscripts!r} have dots that are no ellipsis, or two ellipses in a term",
                                 fix="write '...' once for the axes without labels")
    return [*before, ..., *after] if dots else [*term]


def _parse(texts: Sequence[list[Any]], result: list[Any] | None, shapes: Sequence[tuple[int, ...]]
           ) -> tuple[tuple[Labels, ...], Labels]:
    """The labels of the axes of each operand and of the result."""
    terms = tuple([_expanded(text, shape, i) for i, (text, shape) in enumerate(zip(texts, shapes))])
    _check_sizes(terms, shapes)
    ndim = max([-min([c for c in term if _of_ellipsis(c)], default=0) for term in terms], default=0)
    outer = tuple(range(-ndim, 0))
    named = [c for term in terms for c in term if not _of_ellipsis(c)]
    if result is None:
        return terms, (*outer, *sorted([c for c in set(named) if named.count(c) == 1]))
    for c in result:
        if c is not ... and c not in named:
            raise errors.value_error(f"label {c!r} of the result is in no operand", fix="leave it out, or name the axis")
        if result.count(c) > 1:
            raise errors.value_error(f"label {'...' if c is ... else c!r} stands twice in the result",
                                     fix="name each axis of the result once")
    return terms, tuple([label for c in result for label in (outer if c is ... else (c,))])


class _Outer(int):
    """The label of an axis that an ellipsis stands for, counted from its end: -1 is the last."""

    __slots__ = ()


def _of_ellipsis(label: Any) -> bool:
    return isinstance(label, _Outer)


def _expanded(text: list[Any], shape: tuple[int, ...], place: int) -> Labels:
    """The labels of the axes of one operand."""
    dots = text.count(...)
    count = len(shape) - len(text) + dots
    if count < 0 or (count and not dots) or dots > 1:
        shown = "".join(["..." if c is ... else str(c) for c in text])
        raise errors.value_error(
            f"operand {place} of shape {shape} has {len(shape)} ax{'is' if len(shape) == 1 else 'es'}, its labels "
            f"{shown!r} name {len(text) - dots}", fix="give a label for each axis, or '...' for those without")
    return tuple([label for c in text for label in (map(_Outer, range(-count, 0)) if c is ... else (c,))])


def _check_sizes(terms: Sequence[Labels], shapes: Sequence[tuple[int, ...]]) -> None:
    """A ValueError unless every label has one size, or 1."""
    sizes: dict[Any, tuple[int, int]] = {}
    for place, (term, shape) in enumerate(zip(terms, shapes)):
        own: dict[Any, int] = {}
        for label, n in zip(term, shape):
            before, where = sizes.setdefault(label, (n, place))
            if own.setdefault(label, n) != n or (n != before and 1 not in (n, before)):
                before, where = (own[label], place) if own[label] != n else (before, where)
                shown = f"axis {label} of the ellipsis" if _of_ellipsis(label) else f"label {label!r}"
                raise errors.value_error(
                    f"{shown} has size {before} in operand {where} of shape {shapes[where]}, and {n} in operand {place} "
                    f"of shape {shape}", fix="check the labels, or transpose an operand")
            if n > before:
                sizes[label] = (n, place)


# -- the order of several operands --------------------------------------------------------------------


def _order(optimize: Any) -> Any:
    """`optimize` in a form that can be remembered by."""
    if isinstance(optimize, (list, tuple)):
        return tuple([tuple(pair) for pair in optimize if not isinstance(pair, str)])
    return "auto" if optimize is True else optimize


@functools.lru_cache(maxsize=1024)
def _path(terms: tuple[Labels, ...], result: Labels, shapes: tuple[tuple[int, ...], ...], optimize: Any
          ) -> list[tuple[int, ...]]:
    """Which operands to contract, step by step."""
    if optimize is False:
        return [tuple(range(len(terms)))]
    import opt_einsum
    symbols: dict[Any, str] = {}
    for term in terms:
        for c in term:
            symbols.setdefault((type(c), c), opt_einsum.get_symbol(len(symbols)))
    inputs = ",".join(["".join([symbols[type(c), c] for c in term]) for term in terms])
    output = "".join([symbols[type(c), c] for c in result])
    try:
        path, _ = opt_einsum.contract_path(f"{inputs}->{output}", *shapes, shapes=True, optimize=optimize)
    except (KeyError, TypeError) as error:
        raise errors.value_error(f"optimize is {optimize!r}: {error}",
                                 fix="pass 'auto', 'optimal', 'greedy', False or a path of einsum_path") from None
    return [tuple(step) for step in path]


def einsum_path(subscripts: Any, /, *operands: ArrayLike, optimize: bool | str | list[tuple[int, ...]] = "auto"
                ) -> tuple[list[tuple[int, ...]], Any]:
    """The order in which `einsum` would contract its operands.

    Args:
      subscripts, operands, optimize: as in `einsum`.

    Returns:
      (path, report): a list of the positions contracted in each step, the product going to the end of the list; and
      opt_einsum's report of its cost, which prints as text.
    """
    import opt_einsum
    texts, result, given = _read(subscripts, operands)
    shapes = tuple([type_of(promotion.operand(x)).shape for x in given])
    terms, labels = _parse(texts, result, shapes)
    symbols = {label: label for label in {*labels, *(c for term in terms for c in term)}
               if isinstance(label, str)}
    for label in {*labels, *(c for term in terms for c in term)} - set(symbols):
        free = (opt_einsum.get_symbol(i) for i in range(len(symbols) + len(terms) * 64))
        symbols[label] = next(symbol for symbol in free if symbol not in symbols.values())
    text = ",".join(["".join([symbols[c] for c in term]) for term in terms])
    text += "->" + "".join([symbols[c] for c in labels])
    path, report = opt_einsum.contract_path(text, *shapes, shapes=True, optimize=optimize)
    return [tuple(step) for step in path], report

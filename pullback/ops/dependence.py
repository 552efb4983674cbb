"""Which elements of a value depend on which elements of an input: what sparse Jacobians are made by.

A pattern is a sparse matrix of truth values with a row for each element of a value and a column for each element of the
input; None stands for a value that does not depend on it. Patterns are followed through a linear program, operation by
operation, by each primitive's `dependence`. They hold whatever the numbers are: only what the program was staged with
(index tables, masks) is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pullback.core import errors
from pullback.core.program import Atom, Equation, Literal, Program
from pullback.core.trace import base, bind, running, type_of
from pullback.core.types import ArrayType

Pattern = Any  # a scipy.sparse.csr_array of truth values, or None

_MOST = 1 << 27   # elements of a pattern that may not be zero
_KNOWN = 1 << 22  # elements of a value that is computed because it depends on no input


def matrix(rows: np.ndarray, columns: np.ndarray, shape: tuple[int, int]) -> Pattern:
    """The pattern that is true at these places."""
    from scipy.sparse import csr_array
    _check(len(rows))
    return csr_array((np.ones(len(rows), np.bool_), (rows, columns)), shape=shape)


def same(size: int) -> Pattern:
    """Each element depends on the one in its place."""
    every = np.arange(size)
    return matrix(every, every, (size, size))


def from_sources(sources: np.ndarray, size: int) -> Pattern:
    """Each element depends on one of `size`, whose number is given, or on none, where it is -1."""
    sources = np.ravel(sources)
    rows = np.flatnonzero(sources >= 0)
    return matrix(rows, sources[rows], (len(sources), size))


def to_places(places: np.ndarray, size: int) -> Pattern:
    """Each element goes to the place among `size` that is given, or nowhere, where that is -1."""
    places = np.ravel(places)
    columns = np.flatnonzero(places >= 0)
    return matrix(places[columns], columns, (size, len(places)))


def numbered(t: ArrayType) -> np.ndarray:
    """1, 2, ... in the shape of a type; 0 is left for what is no element of it."""
    return np.arange(1, t.size + 1).reshape(t.shape)


def joined(patterns: Sequence[Pattern]) -> Pattern:
    """Where any of these patterns is true."""
    some = [p for p in patterns if p is not None]
    if not some:
        return None
    total = some[0]
    for p in some[1:]:
        total = (total + p).astype(np.bool_)
    return total


def rows(patterns: Sequence[Pattern], size: int) -> Pattern:
    """Patterns of values of `size` elements, one below the other."""
    from scipy.sparse import csr_array, vstack
    width = next((p.shape[1] for p in patterns if p is not None), None)
    if width is None:
        return None
    none = csr_array((size, width), dtype=np.bool_)
    return vstack([none if p is None else p for p in patterns], format="csr")


def everything(pattern: Pattern, size: int) -> Pattern:
    """`size` elements, each of which depends on all that the elements of a value depend on."""
    from scipy.sparse import csr_array
    columns = np.unique(pattern.indices)
    _check(size * len(columns))
    return csr_array((np.ones(size * len(columns), np.bool_), np.tile(columns, size),
                      np.arange(size + 1) * len(columns)), shape=(size, pattern.shape[1]))


def _check(count: int) -> None:
    if count > _MOST:
        raise errors.value_error(
            f"{count:,} elements of the Jacobian may not be zero, at most {_MOST:,} are required", op="",
            fix="use jacfwd or jacrev, or products with it (jvp, vjp), where it is not sparse")


def follow(program: Program, patterns: Sequence[Pattern], values: Sequence[Any]) -> list[Pattern]:
    """The patterns of a linear program's outputs.

    Args:
      patterns: of its inputs.
      values: of its inputs, where they are known; else None.
    """
    found = dict(zip(program.inputs, patterns, strict=True))
    known = {v: x for v, x in zip(program.inputs, values, strict=True) if x is not None}
    for eqn in program.equations:
        given = [None if isinstance(a, Literal) else found.get(a) for a in eqn.inputs]
        numbers = _values(known, eqn.inputs)
        if all([p is None for p in given]):
            learn(eqn, known)
        else:
            found.update(zip(eqn.outputs, _through(eqn, given, numbers), strict=True))
    return [None if isinstance(a, Literal) else found.get(a) for a in program.outputs]


def learn(eqn: Equation, known: dict[Any, Any]) -> None:
    """Computes what an operation gives, if all that it reads is known."""
    values = _values(known, eqn.inputs)
    if all([x is not None for x in values]) and not eqn.effects and max(
            [v.type.size for v in eqn.outputs], default=0) <= _KNOWN:
        with running(base()):
            known.update(zip(eqn.outputs, bind(eqn.primitive, values, eqn.params), strict=True))


def _values(known: dict[Any, Any], atoms: Sequence[Atom]) -> list[Any]:
    return [a.value if isinstance(a, Literal) else known.get(a) for a in atoms]


def _through(eqn: Equation, patterns: Sequence[Pattern], values: Sequence[Any]) -> Sequence[Pattern]:
    if eqn.primitive.through is not None:
        return eqn.primitive.through(follow, patterns, values, **eqn.params)  # type: ignore[no-any-return]
    types = [type_of(a.value) if isinstance(a, Literal) else a.type for a in eqn.inputs]
    made = []
    for v in eqn.outputs:
        parts = []
        for which, pattern in enumerate(patterns):
            if pattern is not None:
                own = eqn.primitive.dependence(which, types, values, eqn.params) if len(eqn.outputs) == 1 else None
                parts.append(everything(pattern, v.type.size) if own is None else own @ pattern)
        made.append(joined(parts))
    return made


def products(types: Sequence[ArrayType], which: int, other: Any, dims: Any, free: Sequence[Sequence[int]]) -> Pattern:
    """Of a product of arrays, along contracted axes: each element depends on a row or column of an operand.

    Args:
      which: the operand.
      other: the other one, where it is known: where it is 0, nothing depends.
      dims: ((contracted axes of each), (batch axes of each)).
      free: the other axes of each.
    """
    contracted, batch = dims
    arranged = []
    for t, axes in zip(types, zip(batch, free, contracted)):
        order = [axis for group in axes for axis in group]
        sizes = [math.prod([t.shape[axis] for axis in group]) for group in axes]
        arranged.append(np.transpose(np.arange(t.size).reshape(t.shape), order).reshape(sizes))
    b, m, k = arranged[0].shape
    n = arranged[1].shape[1]
    _check(b * m * n * k)
    rows = np.broadcast_to(np.arange(b * m * n).reshape(b, m, n, 1), (b, m, n, k))
    columns = arranged[which][:, :, None, :] if which == 0 else arranged[which][:, None, :, :]
    columns = np.broadcast_to(columns, (b, m, n, k))
    size = types[which].size
    if other is None:
        return matrix(rows.ravel(), columns.ravel(), (b * m * n, size))
    factor = (np.ravel(np.asarray(other)) != 0)[arranged[1 - which]]
    true = np.broadcast_to(factor[:, None, :, :] if which == 0 else factor[:, :, None, :], (b, m, n, k))
    return matrix(rows[true], columns[true], (b * m * n, size))

"""Sparse arrays by coordinates (jax.experimental.sparse): the elements that are not zero, and where they stand.

Every axis is sparse: `n_batch` and `n_dense` are 0. An element whose index is out of bounds is padding, and counts for
nothing. Derivatives go through `data`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import pullback.numpy as jnp
from pullback.api import ad
from pullback.api.flat import wraps
from pullback.core import errors, tree
from pullback.core.array import Array

__all__ = ["BCOO", "JAXSparse", "bcoo_concatenate", "bcoo_extract", "bcoo_fromdense", "bcoo_multiply_dense",
           "bcoo_multiply_sparse", "bcoo_reduce_sum", "bcoo_reshape", "bcoo_sort_indices", "bcoo_sum_duplicates",
           "bcoo_todense", "bcoo_transpose", "empty", "eye", "grad", "todense", "value_and_grad"]


def _refuse(n_batch: int, n_dense: int, op: str) -> None:
    if n_batch or n_dense:
        raise errors.make(NotImplementedError, f"n_batch={n_batch} and n_dense={n_dense}; 0 and 0 are supported", op=op,
                          fix="use vmap over the data and indices of several arrays, or an array that is sparse "
                              "along all axes")


class JAXSparse:
    """The base of sparse arrays."""

    shape: tuple[int, ...]


class BCOO(JAXSparse):
    """An array given by its elements that are not zero.

    Args:
      args: (data: f[nse], indices: i[nse, ndim]): the elements, and for each where it stands. Elements at one place are
        added; one out of bounds is padding.
      shape: the shape of the array.
      indices_sorted: whether the indices are in the order of rows.
      unique_indices: whether no two are equal.

    Raises:
      ValueError: data, indices and shape do not fit together.

    Where it is not smooth: `data` of elements that are zero has the derivative of any other.

    Example:
      >>> from pullback.experimental import sparse
      >>> m = sparse.BCOO.fromdense(jnp.array([[0.0, 2.0], [3.0, 0.0]]))
      >>> m
      BCOO(float32[2, 2], nse=2)
      >>> m @ jnp.array([1.0, 10.0])
      Array([20.,  3.], dtype=float32)
    """

    n_batch = 0
    n_dense = 0

    def __init__(self, args: tuple[Any, Any], *, shape: Sequence[int], indices_sorted: bool = False,
                 unique_indices: bool = False) -> None:
        self.data, self.indices = map(jnp.asarray, args)
        self.shape = tuple(shape)
        self.indices_sorted = indices_sorted
        self.unique_indices = unique_indices
        given = self.data.shape, self.indices.shape
        if len(given[1]) != 2 or given[0] != given[1][:1] or given[1][1] != len(self.shape):
            raise errors.value_error(f"data has shape {given[0]} and indices {given[1]}; shapes (nse,) and "
                                     f"(nse, {len(self.shape)}) are required for an array of shape {self.shape}",
                                     op="BCOO", fix="give one row of indices for each element")

    # -- what it is ------------------------------------------------------------------------------

    @property
    def dtype(self) -> Any:
        return self.data.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    n_sparse = ndim

    @property
    def nse(self) -> int:
        """The number of elements that are stored."""
        return self.indices.shape[0]

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __repr__(self) -> str:
        return f"BCOO({np.dtype(self.dtype).name}{list(self.shape)}, nse={self.nse})"

    def _with(self, data: Any) -> BCOO:
        return BCOO((data, self.indices), shape=self.shape, indices_sorted=self.indices_sorted,
                    unique_indices=self.unique_indices)

    def _columns(self) -> tuple[Any, ...]:
        return tuple(self.indices[:, i] for i in range(self.ndim))

    def _inside(self) -> Any:
        """Which elements are no padding."""
        return jnp.all(self.indices < jnp.array(self.shape, self.indices.dtype), axis=1) if self.ndim else \
            jnp.ones(self.nse, bool)

    # -- to and from other forms -----------------------------------------------------------------

    @classmethod
    def fromdense(cls, mat: Any, *, nse: int | None = None, index_dtype: Any = np.int32, n_dense: int = 0,
                  n_batch: int = 0) -> BCOO:
        """The elements of an array that are not zero: as many as there are, or `nse`, which jit needs."""
        _refuse(n_batch, n_dense, "BCOO.fromdense")
        mat = jnp.asarray(mat)
        count = int(jnp.count_nonzero(mat)) if nse is None else nse
        columns = jnp.nonzero(mat, size=count, fill_value=mat.shape) if mat.ndim else ()
        data = mat.at[columns].get(mode="fill", fill_value=0) if mat.ndim else jnp.reshape(mat, 1)[:count]
        indices = jnp.stack(columns, axis=1).astype(index_dtype) if mat.ndim else jnp.zeros((count, 0), index_dtype)
        return cls((data, indices), shape=mat.shape, indices_sorted=True, unique_indices=True)

    @classmethod
    def from_scipy_sparse(cls, mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0) -> BCOO:
        """The elements of a matrix of scipy.sparse."""
        _refuse(n_batch, n_dense, "BCOO.from_scipy_sparse")
        mat = mat.tocoo()
        indices = np.stack([mat.row, mat.col], axis=1)
        return cls((mat.data, indices.astype(index_dtype or np.int32)), shape=mat.shape)

    def todense(self) -> Array:
        """The array with its zeros."""
        if not self.ndim:
            return jnp.sum(self.data)
        return jnp.zeros(self.shape, self.dtype).at[self._columns()].add(self.data, mode="drop")

    def astype(self, dtype: Any) -> BCOO:
        return self._with(self.data.astype(dtype))

    def block_until_ready(self) -> BCOO:
        self.data.block_until_ready()
        self.indices.block_until_ready()
        return self

    # -- moving elements -------------------------------------------------------------------------

    def transpose(self, axes: Sequence[int] | None = None) -> BCOO:
        """The axes in another order; reversed if none is given."""
        order = list(range(self.ndim))[::-1] if axes is None else [errors.check_axis(a, self.ndim) for a in axes]
        if sorted(order) != list(range(self.ndim)):
            raise errors.value_error(f"axes are {order}, each of 0 to {self.ndim - 1} once is required",
                                     op="BCOO.transpose", fix="leave axes out to reverse them")
        return BCOO((self.data, self.indices[:, jnp.array(order, int)]), shape=[self.shape[a] for a in order],
                    unique_indices=self.unique_indices)

    T = property(transpose)

    def reshape(self, *sizes: Any) -> BCOO:
        """The elements in row order in another shape; one size may be -1."""
        given = tuple(sizes[0]) if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
        known = math.prod([n for n in given if n != -1])
        shape = tuple([self.size // known if n == -1 and known else n for n in given])
        if math.prod(shape) != self.size:
            raise errors.value_error(f"an array of shape {self.shape} is to have shape {given}, with another number of "
                                     "elements", op="BCOO.reshape", fix="let one size be -1")
        place = jnp.zeros(self.nse, int)
        for column, n in zip(self._columns(), self.shape, strict=True):
            place = place * n + column
        columns = []
        for n in reversed(shape):
            columns.append(place % max(n, 1))
            place = place // max(n, 1)
        bounds = jnp.array(shape, self.indices.dtype)
        rows = jnp.stack(columns[::-1], axis=1).astype(self.indices.dtype) if shape else jnp.zeros((self.nse, 0), int)
        return BCOO((self.data, jnp.where(self._inside()[:, None], rows, bounds)), shape=shape)

    def sort_indices(self) -> BCOO:
        """The same array, its elements in the order of rows."""
        order = jnp.lexsort(self._columns()[::-1]) if self.ndim else jnp.arange(self.nse)
        return BCOO((self.data[order], self.indices[order]), shape=self.shape, indices_sorted=True,
                    unique_indices=self.unique_indices)

    def sum_duplicates(self, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
        """The same array, with one element for each place: as many as there are, or `nse`, which jit needs.

        `remove_zeros` has no effect where `nse` is given: what is left over is padding.
        """
        if not self.ndim:
            return BCOO((jnp.sum(self.data)[None], self.indices[:1]), shape=())
        mat = self._inside()
        if nse is None and remove_zeros:
            mat = mat & (self.data != 0)
        bounds = jnp.array(self.shape, self.indices.dtype)
        marked = jnp.where(mat[:, None], self.indices, bounds)
        places, which = jnp.unique(marked, axis=0, return_inverse=True, size=nse, fill_value=bounds)
        data = jnp.zeros(places.shape[0], self.dtype).at[which.ravel()].add(jnp.where(mat, self.data, 0))
        if nse is None:
            kept = jnp.all(places < bounds, axis=1)
            data, places = data[kept], places[kept]
        return BCOO((data, places), shape=self.shape, indices_sorted=True, unique_indices=True)

    def __getitem__(self, index: Any) -> Any:
        """A part of the array, by ints and slices; an int takes its axis away. The number of elements stays."""
        index = index if isinstance(index, tuple) else (index,)
        if any(not isinstance(i, (int, np.integer, slice)) and i is not Ellipsis for i in index):
            raise errors.make(NotImplementedError, f"indexing by {index!r:.60}; ints, slices and ... are supported",
                              op="BCOO", fix="use todense() for other indices")
        if Ellipsis in index:
            at = index.index(Ellipsis)
            index = (*index[:at], *[slice(None)] * (self.ndim - len(index) + 1), *index[at + 1:])
        if len(index) > self.ndim:
            raise errors.make(IndexError, f"{len(index)} indices for an array of {self.ndim} axes", op="BCOO",
                              fix="give at most one for each axis")
        index = (*index, *[slice(None)] * (self.ndim - len(index)))
        kept, columns, shape = self._inside(), [], []
        for i, n, column in zip(index, self.shape, self._columns(), strict=True):
            if isinstance(i, slice):
                start, stop, step = i.indices(n)
                count = len(range(start, stop, step))
                moved = (column - start) // step
                kept = kept & ((column - start) % step == 0) & (moved >= 0) & (moved < count)
                columns.append(moved)
                shape.append(count)
            else:
                if not -n <= i < n:
                    raise errors.make(IndexError, f"index {i} is out of bounds for an axis of size {n}", op="BCOO",
                                      fix=f"use an index from {-n} to {n - 1}")
                kept = kept & (column == i % n)
        rows = jnp.stack(columns, axis=1).astype(self.indices.dtype) if columns else jnp.zeros((self.nse, 0), int)
        bounds = jnp.array(shape, self.indices.dtype)
        return BCOO((jnp.where(kept, self.data, 0), jnp.where(kept[:, None], rows, bounds)), shape=shape)

    def __iter__(self) -> Any:
        return (self[i] for i in range(self.shape[0]))

    # -- arithmetic ------------------------------------------------------------------------------

    def sum(self, axis: int | Sequence[int] | None = None) -> Any:
        """The sum along axes, as a sparse array; of all elements, as a number."""
        if axis is None:
            return jnp.sum(jnp.where(self._inside(), self.data, 0))
        axes = [errors.check_axis(a, self.ndim) for a in ([axis] if isinstance(axis, int) else axis)]
        left = [a for a in range(self.ndim) if a not in axes]
        if not left:
            return self.sum()
        inside = self._inside()
        bounds = jnp.array([self.shape[a] for a in left], self.indices.dtype)
        return BCOO((jnp.where(inside, self.data, 0),
                     jnp.where(inside[:, None], self.indices[:, jnp.array(left)], bounds)),
                    shape=[self.shape[a] for a in left])

    def __matmul__(self, other: Any) -> Any:
        if isinstance(other, BCOO):
            return _sparse_product(self, other)
        other = jnp.asarray(other)
        if not self.ndim or other.ndim not in (1, 2) or self.shape[-1] != other.shape[0]:
            raise errors.type_error(f"the product of arrays of shapes {self.shape} and {other.shape}; the last axis of "
                                    "the first and the first of the second, of one or two, are to have one size",
                                    op="matmul", fix="transpose one, or reshape the dense one")
        rows = other.at[self.indices[:, -1]].get(mode="fill", fill_value=0)
        weighted = self.data.reshape(-1, *[1] * (rows.ndim - 1)) * rows
        if self.ndim == 1:
            return jnp.sum(weighted, axis=0)
        zeros = jnp.zeros((*self.shape[:-1], *other.shape[1:]), weighted.dtype)
        return zeros.at[self._columns()[:-1]].add(weighted, mode="drop")

    def __rmatmul__(self, other: Any) -> Any:
        other = jnp.asarray(other)
        if self.ndim > 2 or other.ndim not in (1, 2):
            raise errors.type_error(f"the product of arrays of shapes {other.shape} and {self.shape}; one or two axes "
                                    "of each are supported", op="matmul", fix="use todense()")
        product = (self if self.ndim == 1 else self.transpose()) @ other.T
        return product.T

    def __neg__(self) -> BCOO:
        return self._with(-self.data)

    def __abs__(self) -> BCOO:
        whole = self if self.unique_indices else self.sum_duplicates(self.nse)
        return whole._with(jnp.abs(whole.data))

    def __pow__(self, exponent: Any) -> BCOO:
        if not isinstance(exponent, int) or exponent < 1:
            raise errors.make(NotImplementedError, f"the power {exponent!r:.60} of a sparse array; whole numbers "
                              "from 1 are supported, which leave zeros zero", op="pow", fix="use todense()")
        whole = self if self.unique_indices else self.sum_duplicates(self.nse)
        return whole._with(whole.data ** exponent)

    def __mul__(self, other: Any) -> BCOO:
        if isinstance(other, BCOO):
            return bcoo_multiply_sparse(self, other)
        return self._with(bcoo_multiply_dense(self, other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> BCOO:
        if isinstance(other, BCOO):
            raise errors.make(NotImplementedError, "a quotient of sparse arrays: zeros would be divided by zeros",
                              op="divide", fix="use todense()")
        return self._with(jnp.divide(self.data, _at(self, other)))

    def __add__(self, other: Any) -> Any:
        if isinstance(other, BCOO):
            if self.shape != other.shape:
                raise errors.type_error(f"the sum of sparse arrays of shapes {self.shape} and {other.shape}; one shape "
                                        "is required", op="add", fix="use todense() and broadcast")
            return BCOO((jnp.concatenate([self.data, other.data]), jnp.concatenate([self.indices, other.indices])),
                        shape=self.shape)
        other = jnp.asarray(other)
        if other.shape != self.shape:
            raise errors.make(NotImplementedError, f"the sum of a sparse array of shape {self.shape} and a dense one "
                              f"of shape {other.shape}; one shape is required", op="add", fix="use todense()")
        total = jnp.result_type(self.dtype, other.dtype)
        return other.astype(total).at[self._columns()].add(self.data.astype(total), mode="drop")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self + -other

    def __rsub__(self, other: Any) -> Any:
        return -self + other


tree.register_pytree_node(
    BCOO, lambda x: ((x.data, x.indices), (x.shape, x.indices_sorted, x.unique_indices)),
    lambda aux, parts: _restored(*aux, *parts))


def _restored(shape: Any, indices_sorted: bool, unique_indices: bool, data: Any, indices: Any) -> BCOO:
    made = object.__new__(BCOO)  # the parts may be anything: trees are taken apart with any leaves
    made.data, made.indices, made.shape = data, indices, shape
    made.indices_sorted, made.unique_indices = indices_sorted, unique_indices
    return made


def _at(mat: BCOO, dense: Any) -> Any:
    """The elements of a dense array, broadcast to the sparse one's shape, where that has its own; 1 for padding."""
    dense = jnp.asarray(dense)
    if not dense.ndim:
        return dense
    if jnp.broadcast_shapes(mat.shape, dense.shape) != mat.shape:
        raise errors.make(NotImplementedError, f"a sparse array of shape {mat.shape} and a dense one of shape "
                          f"{dense.shape}: the result would have another shape", op="multiply", fix="use todense()")
    return jnp.broadcast_to(dense, mat.shape).at[mat._columns()].get(mode="fill", fill_value=1)


def _sparse_product(lhs: BCOO, rhs: BCOO) -> BCOO:
    """Every element of one with every element of the other; pairs whose inner indices differ become padding."""
    if not lhs.ndim or not rhs.ndim or rhs.ndim > 2 or lhs.shape[-1] != rhs.shape[0]:
        raise errors.type_error(f"the product of sparse arrays of shapes {lhs.shape} and {rhs.shape}; the last axis of "
                                "the first and the first of the second are to have one size", op="matmul",
                                fix="transpose one of them")
    meet = (lhs.indices[:, None, -1] == rhs.indices[None, :, 0]) & lhs._inside()[:, None] & rhs._inside()[None, :]
    shape = (*lhs.shape[:-1], *rhs.shape[1:])
    pairs = (lhs.nse, rhs.nse)
    rows = jnp.concatenate([jnp.broadcast_to(lhs.indices[:, None, :-1], (*pairs, lhs.ndim - 1)),
                            jnp.broadcast_to(rhs.indices[None, :, 1:], (*pairs, rhs.ndim - 1))], axis=2)
    rows = jnp.where(meet[..., None], rows, jnp.array(shape, rows.dtype)).reshape(-1, len(shape))
    data = jnp.where(meet, lhs.data[:, None] * rhs.data[None, :], 0).reshape(-1)
    whole = BCOO((data, rows), shape=shape)
    return whole.todense() if not shape else whole.sum_duplicates(math.prod(pairs))  # type: ignore[return-value]


# -- the same by name -------------------------------------------------------------------------------------

def todense(arr: Any) -> Any:
    """A sparse array with its zeros; anything else as it is."""
    return arr.todense() if isinstance(arr, BCOO) else arr


def bcoo_fromdense(mat: Any, *, nse: int | None = None, n_batch: int = 0, n_dense: int = 0, index_dtype: Any = jnp.int32
                   ) -> BCOO:
    """The elements of an array that are not zero: as many as there are, or `nse`, which jit needs."""
    return BCOO.fromdense(mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype)


def bcoo_todense(mat: BCOO) -> Array:
    """The array with its zeros."""
    return mat.todense()


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """The axes in another order."""
    return mat.transpose(permutation)


def bcoo_reshape(mat: BCOO, *, new_sizes: Sequence[int], dimensions: Sequence[int] | None = None, sharding: Any = None
                 ) -> BCOO:
    """The elements in another shape; of the array with its axes in the order of `dimensions`, where that is given."""
    return (mat if dimensions is None else mat.transpose(dimensions)).reshape(*new_sizes)


def bcoo_sort_indices(mat: BCOO) -> BCOO:
    """The same array, its elements in the order of rows."""
    return mat.sort_indices()


def bcoo_sum_duplicates(mat: BCOO, nse: int | None = None) -> BCOO:
    """The same array, with one element for each place; zeros stay."""
    return mat.sum_duplicates(nse, remove_zeros=False)


def bcoo_reduce_sum(mat: BCOO, *, axes: Sequence[int]) -> Any:
    """The sum along axes."""
    return mat.sum(tuple(axes))


def bcoo_extract(sparr: BCOO, arr: Any, *, assume_unique: bool | None = None) -> BCOO:
    """The elements of a dense array where the sparse one has its own."""
    inside = sparr._inside()
    values = jnp.asarray(arr).at[sparr._columns()].get(mode="fill", fill_value=0)
    return sparr._with(jnp.where(inside, values, 0))


def bcoo_multiply_dense(sp_mat: BCOO, v: Any) -> Array:
    """The data of the product with a dense array or a number, element by element."""
    return sp_mat.data * _at(sp_mat, v)


def bcoo_multiply_sparse(lhs: BCOO, rhs: BCOO) -> BCOO:
    """The product of two sparse arrays of one shape, element by element."""
    if lhs.shape != rhs.shape:
        raise errors.type_error(f"the product of sparse arrays of shapes {lhs.shape} and {rhs.shape}; one shape is "
                                "required", op="multiply", fix="use todense() and broadcast")
    same = jnp.all(lhs.indices[:, None] == rhs.indices[None], axis=-1) & lhs._inside()[:, None]
    data = lhs.data * jnp.sum(jnp.where(same, rhs.data[None, :], 0), axis=1)
    return lhs._with(data)


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Sparse arrays one after another along an axis."""
    if not operands:
        raise errors.value_error("there are no arrays, one at least is required", op="bcoo_concatenate",
                                 fix="use empty(shape)")
    axis = errors.check_axis(dimension, operands[0].ndim)
    rest = [tuple(n for a, n in enumerate(x.shape) if a != axis) for x in operands]
    if any(r != rest[0] for r in rest):
        raise errors.value_error(f"shapes {', '.join(str(x.shape) for x in operands)} differ along other axes than "
                                 f"{axis}", op="bcoo_concatenate", fix="name another dimension")
    shape = list(operands[0].shape)
    shape[axis] = sum(x.shape[axis] for x in operands)
    bounds = jnp.array(shape, operands[0].indices.dtype)
    moved, start = [], 0
    for x in operands:
        rows = x.indices.at[:, axis].add(start)
        moved.append(jnp.where(x._inside()[:, None], rows, bounds))
        start += x.shape[axis]
    return BCOO((jnp.concatenate([x.data for x in operands]), jnp.concatenate(moved)), shape=shape)


def empty(shape: Sequence[int], dtype: Any = None, index_dtype: Any = "int32", sparse_format: str = "bcoo", **kwds: Any
          ) -> BCOO:
    """An array of zeros, of which none is stored."""
    _bcoo_only(sparse_format, "empty")
    _refuse(kwds.get("n_batch", 0), kwds.get("n_dense", 0), "empty")
    return BCOO((jnp.zeros(0, dtype), jnp.zeros((0, len(shape)), index_dtype)), shape=shape, indices_sorted=True,
                unique_indices=True)


def eye(N: int, M: int | None = None, k: int = 0, dtype: Any = None, index_dtype: Any = "int32",
        sparse_format: str = "bcoo", **kwds: Any) -> BCOO:
    """Ones on the k-th diagonal of an N x M matrix."""
    _bcoo_only(sparse_format, "eye")
    _refuse(kwds.get("n_batch", 0), kwds.get("n_dense", 0), "eye")
    columns = N if M is None else M
    count = max(0, min(N, columns - k) if k >= 0 else min(N + k, columns))
    rows = jnp.arange(count, dtype=index_dtype)
    return BCOO((jnp.ones(count, dtype), jnp.stack([rows + max(-k, 0), rows + max(k, 0)], axis=1)), shape=(N, columns),
                indices_sorted=True, unique_indices=True)


def _bcoo_only(sparse_format: str, op: str) -> None:
    if sparse_format != "bcoo":
        raise errors.make(NotImplementedError, f"sparse_format is {sparse_format!r}; 'bcoo' is supported", op=op,
                          fix="leave it out")


# -- derivatives ------------------------------------------------------------------------------------------

def value_and_grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
                   ) -> Callable[..., Any]:
    """As `jax.value_and_grad`; the gradient by a sparse array is sparse, with its indices.

    Example:
      >>> from pullback.experimental import sparse
      >>> m = sparse.eye(2)
      >>> value, gradient = sparse.value_and_grad(lambda m: jnp.sum(m @ jnp.array([1.0, 5.0])))(m)
      >>> gradient.data
      Array([1., 5.], dtype=float32)
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @wraps(fun)
    def of(*args: Any, **more: Any) -> Any:
        def by_data(*data: Any) -> Any:
            full = list(args)
            for i, new in zip(numbers, data, strict=True):
                full[i] = _with_data(args[i], new)
            return fun(*full, **more)
        data = [tree.map(lambda x: x.data if _is_sparse(x) else x, args[i], is_leaf=_is_sparse) for i in numbers]
        value, gradients = ad.value_and_grad(by_data, tuple(range(len(numbers))), has_aux, **kwargs)(*data)
        back = [_with_data(args[i], g) for i, g in zip(numbers, gradients, strict=True)]
        return value, back[0] if isinstance(argnums, int) else tuple(back)
    return of


def _is_sparse(x: Any) -> bool:
    return isinstance(x, BCOO)


def _with_data(given: Any, data: Any) -> Any:
    """A tree with other data in its sparse arrays, and other leaves for the rest."""
    return tree.map(lambda x, new: x._with(new) if _is_sparse(x) else new, given, data, is_leaf=_is_sparse)


def grad(fun: Callable[..., Any], argnums: int | Sequence[int] = 0, has_aux: bool = False, **kwargs: Any
         ) -> Callable[..., Any]:
    """As `jax.grad`; the gradient by a sparse array is sparse, with its indices."""
    both = value_and_grad(fun, argnums, has_aux, **kwargs)

    @wraps(fun)
    def of(*args: Any, **more: Any) -> Any:
        value, gradient = both(*args, **more)
        return (gradient, value[1]) if has_aux else gradient
    return of


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.experimental.sparse.{name}")

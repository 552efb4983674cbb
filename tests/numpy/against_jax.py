"""Calls of pullback.numpy functions compared with the same calls of real jax."""

import jax
import jax.numpy as jnp
import numpy as np

import pullback
from pullback.core.array import Array, ConcreteArray
from pullback.core.types import ArrayType

assert pullback.Array  # the first use of a public name loads the engine

RTOL = {"float16": 4e-3, "bfloat16": 2e-2, "float32": 2e-5, "float64": 1e-12, "complex64": 2e-5, "complex128": 1e-12}


class weak:
    """An argument of weak type."""

    def __init__(self, value):
        self.value = np.asarray(value)
        self.value = self.value.astype({"f": np.float32, "i": np.int32}[self.value.dtype.kind])


def ours(x):
    if isinstance(x, weak):
        return ConcreteArray(ArrayType(x.value.shape, x.value.dtype, True), x.value)
    return _mapped(ours, x) if not isinstance(x, np.ndarray) else ConcreteArray(ArrayType(x.shape, x.dtype), x)


def theirs(x):
    if isinstance(x, weak):
        return jnp.stack(x.value.reshape(-1).tolist()).reshape(x.value.shape)  # of Python scalars
    return _mapped(theirs, x) if not isinstance(x, np.ndarray) else jnp.asarray(x)


def _mapped(convert, x):
    if isinstance(x, (list, tuple)) and not hasattr(x, "_fields"):
        return type(x)(convert(item) for item in x)
    return {key: convert(item) for key, item in x.items()} if isinstance(x, dict) else x


def close(mine, real, what, rtol=None):
    """The two results have the same structure, types and numbers."""
    mine = pullback.tree_util.tree_leaves(mine)
    real = jax.tree.leaves(real)
    assert len(mine) == len(real), (what, mine, real)
    for x, y in zip(mine, real):
        if not isinstance(y, jax.Array):
            assert x == y, (what, x, y)
            continue
        assert isinstance(x, Array), (what, x)
        assert x.shape == y.shape and x.dtype == y.dtype, (what, x.type, y.aval)
        assert x.weak_type == y.weak_type, (what, "weak_type", x.weak_type, y.weak_type)
        tolerance = rtol or RTOL.get(y.dtype.name, 0)
        a, b = np.asarray(x), np.asarray(y)
        if a.dtype.name == "bfloat16":
            a, b = a.astype(np.float32), b.astype(np.float32)
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance, err_msg=str(what))


def same(function, name, *args, rtol=None, traced=True, grad=False, **kwargs):
    """`function` gives what the function `name` of real jax gives: at once, under jit, and in its derivative.

    Args:
      function: of pullback.
      args: ndarrays become arrays of either library.
      traced: compare under jit too, with the ndarrays among `args` as traced arguments.
      grad: compare pullbacks with respect to the inexact ndarrays among `args`.
    """
    real = getattr(jnp, name) if isinstance(name, str) else name
    what = (name, [getattr(a, "shape", a) for a in args], kwargs)
    mine_out = function(*ours(args), **ours(kwargs))
    real_out = real(*theirs(args), **theirs(kwargs))
    close(mine_out, real_out, what, rtol)
    places = [i for i, a in enumerate(args) if isinstance(a, (np.ndarray, weak))]
    if traced and places:
        def fixed(*values):
            whole = list(ours(args))
            for i, v in zip(places, values):
                whole[i] = v
            return function(*whole, **ours(kwargs))

        close(pullback.jit(fixed)(*[ours(args[i]) for i in places]), real_out, ("jit", *what), rtol)
    if grad:
        _gradients(function, real, args, kwargs, what, rtol)


def _gradients(function, real, args, kwargs, what, rtol):
    places = [i for i, a in enumerate(args) if isinstance(a, np.ndarray) and a.dtype.kind in "fc"]

    def call(target, convert):
        def fixed(*values):
            whole = list(convert(args))
            for i, v in zip(places, values):
                whole[i] = v
            return target(*whole, **convert(kwargs))
        return fixed

    values = [args[i] for i in places]
    mine_out, mine_pull = pullback.vjp(call(function, ours), *ours(values))
    real_out, real_pull = jax.vjp(call(real, theirs), *theirs(values))
    rng = np.random.default_rng(0)
    cts = [rng.normal(size=leaf.shape).astype(leaf.dtype) if leaf.dtype.kind in "fc" else
           np.zeros(leaf.shape, jax.dtypes.float0) for leaf in jax.tree.leaves(real_out)]
    treedef = jax.tree.structure(real_out)
    mine_def = pullback.tree_util.tree_structure(mine_out)
    mine = mine_pull(pullback.tree_util.tree_unflatten(mine_def, [c if c.dtype == jax.dtypes.float0 else ours(c)
                                                                  for c in cts]))
    close(list(mine), list(real_pull(jax.tree.unflatten(treedef, [theirs(c) if c.dtype != jax.dtypes.float0 else c
                                                                  for c in cts]))), ("vjp", *what), rtol)

"""Dtype and weak type of what two operands give, for every pair of dtypes and Python scalars, as real jax has them."""

import contextlib
import re
import warnings

import jax
import ml_dtypes
import numpy as np
import pytest

import pullback

newest = pytest.mark.skipif(jax.__version_info__[:2] != (0, 11), reason="the lattice is that of jax 0.11")
NAMES = ("bool int2 int4 int8 int16 int32 int64 uint2 uint4 uint8 uint16 uint32 uint64 float4_e2m1fn float8_e3m4 "
         "float8_e4m3 float8_e4m3fn float8_e4m3b11fnuz float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu "
         "bfloat16 float16 float32 float64 complex64 complex128").split()
SCALARS = {"True": True, "1": 1, "1.5": 1.5, "1j": 1j, "np.int8": np.int8(1), "np.float32": np.float32(1),
           "np.float64": np.float64(1), "np.bool": np.bool_(True), "np.uint64": np.uint64(1)}
CALLS = {
    "add": lambda jnp, x, y: jnp.add(x, y), "multiply": lambda jnp, x, y: jnp.multiply(x, y),
    "divide": lambda jnp, x, y: jnp.divide(x, y), "maximum": lambda jnp, x, y: jnp.maximum(x, y),
    "equal": lambda jnp, x, y: jnp.equal(x, y), "floor_divide": lambda jnp, x, y: jnp.floor_divide(x, y),
    "power": lambda jnp, x, y: jnp.power(x, y), "bitwise_and": lambda jnp, x, y: jnp.bitwise_and(x, y),
    "where": lambda jnp, x, y: jnp.where(True, x, y), "concatenate": lambda jnp, x, y: jnp.concatenate([x, y]),
    "stack": lambda jnp, x, y: jnp.stack([x, y]), "arctan2": lambda jnp, x, y: jnp.arctan2(x, y),
    "subtract": lambda jnp, x, y: y - x, "dot": lambda jnp, x, y: jnp.dot(x, y),
    "set": lambda jnp, x, y: jnp.asarray(x).at[0].set(y), "clip": lambda jnp, x, y: jnp.clip(x, y),
    "result_type": lambda jnp, x, y: jnp.zeros(1, jnp.result_type(x, y)),
}


# Where jax refuses by accident, or gives what its own rules do not: (calls, dtypes or words of its error, why).
ACCIDENTS = [
    ({"divide", "arctan2"}, re.compile("int2"), "jax makes no float of integers of 2 bits"),
    ({"power"}, re.compile("int[24]"), "jax's power knows no integers of few bits"),
    ({"dot"}, re.compile("preferred_element_type"), "jax forgets that one operand is weak"),
]


def dtype_of(name):
    return np.dtype(getattr(ml_dtypes, name, None) or name)


def outcomes(engine, call):
    """What `call` gives for every pair: dtype and weak type, or the error."""
    jnp, found = engine.numpy, {}

    def every(arrays):
        operands = {**arrays, **SCALARS}
        for one in operands:
            for other in operands:
                if one in arrays:
                    try:
                        out = jnp.asarray(call(jnp, operands[one], operands[other]))
                        # Whether a truth value is weak decides nothing.
                        found[one, other] = str(out.dtype), bool(out.weak_type) and out.dtype != bool
                    except Exception as error:
                        found[one, other] = error
        return ()

    made = {name: jnp.zeros(2, dtype_of(name)) for name in NAMES}
    made |= {f"weak {type(x).__name__}": jnp.broadcast_to(jnp.asarray(x), 2) for x in (1, 1.5, 1j)}
    engine.eval_shape(every, made)
    return found


def alike(ours, theirs):
    if not isinstance(theirs, Exception):
        return ours == theirs
    expected = getattr(pullback.errors, type(theirs).__name__, None) or next(
        c for c in type(theirs).__mro__ if c.__module__ == "builtins")
    return isinstance(ours, expected)


def accident(name, pair, theirs):
    return any(name in calls and words.search(f"{pair} {theirs}") for calls, words, _ in ACCIDENTS)


@contextlib.contextmanager
def setting(wide):
    with jax.enable_x64(wide), pullback.enable_x64(wide), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@newest
@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("wide", [False, True], ids=["x32", "x64"])
def test_every_pair(name, wide):
    with setting(wide):
        ours, theirs = (outcomes(engine, CALLS[name]) for engine in (pullback, jax))
    differing = {pair: (ours[pair], theirs[pair]) for pair in theirs if not alike(ours[pair], theirs[pair])
                 and not accident(name, pair, theirs[pair])}
    assert not differing, "\n".join(f"{pair}: pullback {a!r:.99}, jax {b!r:.99}" for pair, (a, b) in differing.items())

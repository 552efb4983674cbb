"""x.at[index]: every kind of index with every mode, and every operation with every dtype, as real jax has them."""

import warnings

import jax
import ml_dtypes
import numpy as np
import pytest

import pullback
from tests.same import same_leaves

INDICES = """
    1
    -2
    7
    -9
    np.int8(-1)
    k
    1, 2
    -1, -9
    k, k
    slice(1, 3)
    slice(None, None, -1)
    slice(-1, 0, -2)
    slice(9, 20)
    slice(1, 9), 2
    slice(2, 0), slice(None, None, 3)
    None
    None, 1, None
    ...
    ..., 1
    1, ..., None
    ..., slice(0, 3, 2)
    m
    ~m
    mm
    slice(None), m[:4]
    m, 1
    m, None, slice(1, 3)
    True
    False, 0
    i
    i, -1
    i, i
    i[:2, None], j
    slice(None), j
    None, i, slice(1, 3)
    i, None, j[0]
    j
    k, j
    i - 9
    i + 9
    i.astype('uint8'), i.astype('int8')
    i[:0]
    (np.array([0, 4, 4]), np.array([1, 1, 1]))""".strip().splitlines()
MODES = (None, "clip", "fill", "drop")
OPERATIONS = ("get()", "get(fill_value=9)", "set(7)", "set(v)", "set(jnp.asarray(1))", "add(2)", "add(1.5)",
              "subtract(2)", "multiply(3)", "divide(2)", "power(2)", "min(1)", "max(2)", "apply(jnp.square)")
DTYPES = ("bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64", "float8_e4m3fn", "int4")
REFUSED = ("x.at['a'].get()", "x.at[1.5].set(1)", "x.at[1, 2, 3].get()", "x.at[1, 2, 3].set(1)", "x.at[..., ...].get()",
           "x.at[m[:2]].set(1)", "x.at[v].get()", "x.at[jnp.zeros(2)].add(1)", "x.at[slice(0, 2, 0)].get()",
           "x.at[i, j[:1, :2]].set(0)", "x.at[k, 'a'].set(1)", "x.at[[0, 2]].get()", "x.at[i].get(mode='bogus')",
           "x.at[i].set(1, mode='bogus')", "x.at[i].set(jnp.ones(7))", "x.at[1].set(jnp.ones((2, 4)))",
           "x.at[i].set('a')", "x.at[i].set([1, 2])", "x.at[:2].multiply(jnp.ones(3))")


def given(engine, dtype="float32"):
    jnp = engine.numpy
    x = jnp.asarray(np.arange(20).reshape(5, 4) % 8 - 3).astype(getattr(ml_dtypes, dtype, dtype))
    m, mm = np.array([True, False, True, False, True]), np.arange(20).reshape(5, 4) % 3 == 0
    return {"x": x, "m": m, "mm": mm, "i": jnp.asarray([0, 3, 3]), "j": jnp.asarray([[1, -1, 2], [0, 8, 3]]),
            "k": jnp.asarray(2), "v": jnp.asarray(2.5)}


def call(index, operation, mode):
    return f"x.at[{index.strip()}].{operation[:-1]}{'' if operation.endswith('()') else ', '}mode={mode!r})"


def compare(texts, dtype="float32", traced="xijkv", eager=True):
    """The calls by one compilation of each engine, with `traced` not known; and by pullback at once."""
    def results(engine, compiled):
        known = given(engine, dtype)

        def every(values):
            names = {"jnp": engine.numpy, "np": np, **known, **values}
            return {text: eval(text, names) for text in texts}
        return (engine.jit(every) if compiled else every)({name: known[name] for name in traced})

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # values of a dtype that does not fit
        theirs, rtol = results(jax, True), 1e-2 if "16" in dtype else 2e-5
        for compiled in (True, False)[:1 + eager]:
            same_leaves(results(pullback, compiled), theirs, "jit " if compiled else "", rtol=rtol)


@pytest.mark.parametrize("operation", ["get()", "get(fill_value=9)", "set(7)", "add(2)"])
def test_every_index_in_every_mode(operation):
    compare([call(index, operation, mode) for index in INDICES for mode in MODES])


@pytest.mark.parametrize("operation", ["get()", "multiply(3)"])
def test_indices_that_are_known(operation):
    compare([call(index, operation, mode) for index in INDICES for mode in MODES], traced="xv", eager=False)


def test_promises():
    """Indices outside are left out: what they give is not defined."""
    inside = [text for text in INDICES if not any(c in text for c in "79j")]
    compare([call(index, operation, "promise_in_bounds") for index in inside for operation in ("get()", "add(2)")])


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_operation_on_every_dtype(dtype):
    refused = {"bool": ("apply(jnp.square)", "subtract(2)", "divide(2)", "power(2)"),
               "int4": ("power(2)", "set(v)", "add(1.5)")}
    compare([call(index, operation, None) for index in ("1", "i", "slice(1, 9), 2", "i + 9")
             for operation in OPERATIONS if operation not in refused.get(dtype, ())], dtype)


@pytest.mark.parametrize("text", REFUSED)
def test_refusals(text):
    def error(engine):
        with pytest.raises(Exception) as caught:  # noqa: B017
            eval(text, {"jnp": engine.numpy, "np": np, **given(engine)})
        return caught.value
    theirs, ours = error(jax), error(pullback)
    assert isinstance(ours, getattr(pullback.errors, type(theirs).__name__, type(theirs))), (ours, theirs)
    assert "fix: " in str(ours)


def test_values_in_a_list_with_traced_ones():
    for engine in (pullback, jax):
        zeros = engine.numpy.zeros
        rows = engine.jit(lambda x, zeros=zeros: zeros((2, 3), int).at[0, :].set([1, 2, x]))(5)
        sums = engine.jit(lambda x, zeros=zeros: zeros(3).at[:].add((x, 1.0, 2.0)))(5.0)
        assert rows.tolist() == [[1, 2, 5], [0, 0, 0]] and sums.tolist() == [5.0, 1.0, 2.0]
        assert rows.dtype == "int32" and sums.dtype == "float32"

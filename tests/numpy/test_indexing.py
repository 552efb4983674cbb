"""x[index], x.at[index], take, put and their like against real jax; their errors."""

import copy

import jax
import jax.numpy
import numpy as np
import pytest

import pullback
import pullback.numpy as jnp
from pullback import lax

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 8 - 1
S = np.s_
I32 = np.int32


def array(*values, dtype=I32):
    return np.array(values, dtype)


def same(ours, theirs, rtol=1e-6):
    assert (ours.shape, ours.dtype, ours.weak_type) == (theirs.shape, theirs.dtype, theirs.weak_type)
    np.testing.assert_allclose(np.asarray(ours), np.asarray(theirs), rtol=rtol, atol=rtol)


def entries(index):
    return index if isinstance(index, tuple) else (index,)


def positions(index):
    """The scalars and arrays of an index that may be traced."""
    return [e for e in entries(index) if isinstance(e, (np.ndarray, np.generic)) and e.dtype != np.bool_]


def with_positions(index, values):
    rest = iter(values)
    return tuple([next(rest) if isinstance(e, (np.ndarray, np.generic)) and e.dtype != np.bool_ else e
                  for e in entries(index)])


PLAIN = [
    0, -1, 7, -9, S[1:], S[::-1], S[::2], S[-1:0:-2], S[5:1], S[()], S[...], None, S[None, 0, None],
    S[0, 1, 2],
    S[:, 1], S[..., 0], S[0, ..., None], S[:, ::-1, 1:3], S[:, 1:, ::-2], S[1, :, -1, None], S[:, 0:0],
    S[-1, 2:0:-1],
]
SCALARS = [
    I32(1), I32(-1), I32(9), np.int8(-3), np.uint8(1), S[:, I32(2)], S[I32(1), I32(-1)],
    S[I32(0), ..., I32(1)],
    S[:, I32(1), ::-2], S[0, I32(1), 1:3], S[::-1, I32(-7), None],
]
ARRAYS = [
    array(1, 0, 1), array(-1, 5, -9), array([0, 1], [1, 1]), array(1, dtype=np.uint8), array(dtype=I32),
    S[:, array(2, 0)], S[array(0, 1), array(1, 2)], S[array([0], [1]), array(1, 2, 0)],
    S[array(0, 1), :, array(1, 2)],
    S[:, array(0, 1), array(1, 2)], S[0, array(0, 1)], S[0, :, array(0, 1)], S[array(0, 1), ..., 0],
    S[..., array(0, 1)], S[array(0, 1), None, array(1, 2)], S[None, array(0, 1), array(1, 2), None],
    S[::-1, array(2, 2)], S[1:, array(0, 1), ::-2], S[:, array(0, 2), ::2], S[I32(1), array(0, 1)],
    S[I32(1), :, array(0, 1)], S[array(0, 1), I32(-1), 1:3], S[:, array([[1]]), array(0, 1)],
    S[:1, array(0, -5), 7],
    S[:, :, array(3, 1), ..., None], S[:, array(0, 1), ..., 0],
]
MASKS = [
    np.array([True, False]), X > 0, S[:, np.array([True, False, True])], S[0, np.array([False, True, True])],
    S[np.array([[True, False, True], [False, False, True]])], S[np.array([True, False]), array(1)],
    S[:, np.array([True, False, True]), None], True, False, S[:, True, 0], S[True, array(1, 0)],
    S[..., np.array([True, False, False, True])], np.zeros(2, bool),
]
FORMS = PLAIN + SCALARS + ARRAYS + MASKS
SOME = range(0, len(FORMS), 3)  # compiling derivatives takes long
UNMASKED = range(0, len(PLAIN) + len(SCALARS) + len(ARRAYS), 2)


def reads(index, mode=None, **options):
    def ours(x, *values):
        return x.at[with_positions(index, values)].get(mode=mode, **options) if mode or options else \
            x[with_positions(index, values)]
    return ours


def reference(function, *args):
    """What real jax computes; compiled as one program, which is faster than operation by operation."""
    return jax.jit(function)(*args)


@pytest.mark.parametrize("form", range(len(FORMS)))
def test_reading_equals_jax(form):
    index = FORMS[form]
    expected = reference(lambda x: x[index], X)
    same(jnp.asarray(X)[index], expected)
    read, values = reads(index), [jnp.asarray(v) for v in positions(index)]
    same(read(jnp.asarray(X), *values), expected)
    if not any(v.shape == (0,) for v in values):
        same(pullback.jit(read)(jnp.asarray(X), *values), expected)


@pytest.mark.parametrize("form", range(len(FORMS)))
def test_reading_outside_equals_jax(form):
    index = FORMS[form]
    kinds = [("fill", True), ("fill", False), ("clip", True), ("clip", False)]

    def all_kinds(x, *values):
        return [reads(index, mode, wrap_negative_indices=wrap)(x, *values) for mode, wrap in kinds]

    values = positions(index)
    expected = reference(lambda x: all_kinds(x, *[jax.numpy.asarray(v) for v in values]), X)
    for a, b in zip(all_kinds(jnp.asarray(X), *values), expected):
        same(a, b)
    if values and expected[0].size:
        for a, b in zip(pullback.jit(all_kinds)(jnp.asarray(X), *values), expected):
            same(a, b)


@pytest.mark.parametrize("form", SOME)
def test_gradients_of_reading_equal_jax(form):
    index = FORMS[form]
    size = jax.eval_shape(lambda x: x[index], X).size

    def total(x):
        y = reads(index, "fill")(x, *positions(index))
        return (y * y * np.arange(1, size + 1, dtype=np.float32).reshape(y.shape)).sum()

    ours, theirs = pullback.grad(total)(jnp.asarray(X)), reference(jax.grad(total), X)
    finite = np.isfinite(np.asarray(theirs))
    np.testing.assert_allclose(np.asarray(ours)[finite], np.asarray(theirs)[finite], rtol=1e-5)


@pytest.mark.parametrize("form", UNMASKED)
def test_reading_maps_over_array_and_positions(form):
    index = FORMS[form]
    stacked = np.stack([X, X * 2])
    values = [np.stack([v, np.flip(v) if v.ndim else v * 0]) for v in positions(index)]
    ours = pullback.vmap(reads(index))(jnp.asarray(stacked), *[jnp.asarray(v) for v in values])
    theirs = reference(jax.vmap(reads(index)), stacked, *values)
    np.testing.assert_array_equal(ours, theirs)


OPERATIONS = ["set", "add", "subtract", "multiply", "divide", "min", "max"]


def writes(index, operation, **options):
    def call(x, update, *values):
        return getattr(x.at[with_positions(index, values)], operation)(update, **options)
    return call


def update_for(index, scale=2.0):
    """Values for what an index names: all of them different, and none that would tie."""
    shape = jax.eval_shape(lambda x: x[index], X).shape
    return np.asarray(np.arange(np.prod(shape, dtype=int)).reshape(shape) * scale + 0.0625, np.float32)


@pytest.mark.parametrize("form", range(len(FORMS)))
def test_writing_equals_jax(form):
    index = FORMS[form]
    update, values = update_for(index), positions(index)

    def all_operations(x, update, *values):
        return ([writes(index, operation)(x, update, *values) for operation in OPERATIONS]
                + [writes(index, operation)(x, 3.0, *values) for operation in ("set", "add")])

    expected = reference(all_operations, X, update, *values)
    for a, b in zip(all_operations(jnp.asarray(X), update, *values), expected):
        same(a, b, 1e-5)
    added = pullback.jit(writes(index, "add"))(jnp.asarray(X), update, *values)
    same(added, expected[OPERATIONS.index("add")], 1e-5)


@pytest.mark.parametrize("form", UNMASKED)
def test_writing_outside_equals_jax(form):
    index = FORMS[form]
    kinds = [("set", "drop", True), ("add", "drop", False), ("set", "clip", True), ("max", "clip", False)]

    def all_kinds(x, update):
        return [writes(index, operation, mode=mode, wrap_negative_indices=wrap)(x, update, *positions(index))
                for operation, mode, wrap in kinds]

    expected = reference(all_kinds, X, update_for(index))
    for a, b in zip(all_kinds(jnp.asarray(X), update_for(index)), expected):
        same(a, b, 1e-5)


@pytest.mark.parametrize("form", SOME)
def test_gradients_of_writing_equal_jax(form):
    index = FORMS[form]
    update, weights = update_for(index, 0.25), np.arange(24, dtype=np.float32).reshape(X.shape)

    def total(x, u):
        results = [writes(index, operation)(x, u, *positions(index)) for operation in ("set", "add", "min",
                                                                                       "max")]
        return sum([(y * y * weights).sum() for y in results], x.sum())

    ours = pullback.grad(total, (0, 1))(jnp.asarray(X), jnp.asarray(update))
    for a, b in zip(ours, reference(jax.grad(total, (0, 1)), X, update)):
        same(a, b, 1e-4)


@pytest.mark.parametrize("form", UNMASKED)
def test_writing_maps(form):
    index = FORMS[form]
    update = update_for(index)
    stacked, updates = np.stack([X, X * 2]), np.stack([update, update + 1])
    values = [np.stack([v, np.flip(v) if v.ndim else v * 0]) for v in positions(index)]
    ours = pullback.vmap(writes(index, "set"))(jnp.asarray(stacked), jnp.asarray(updates),
                                               *[jnp.asarray(v) for v in values])
    theirs = reference(jax.vmap(writes(index, "set")), stacked, updates, *values)
    np.testing.assert_array_equal(ours, theirs)


def test_a_list_inside_of_a_tuple_may_hold_traced_ints():
    x = jnp.asarray(X)
    np.testing.assert_array_equal(x[0, [1, 2], 3], X[0, [1, 2], 3])
    np.testing.assert_array_equal(x[0, []], X[0, []])
    np.testing.assert_array_equal(pullback.jit(lambda x, i: x[0, [i, -1]])(x, 1), X[0, [1, -1]])


# -- dtypes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype, value", [
    ("float32", 1), ("float32", np.int32(2)), ("bfloat16", 1.5), ("int8", 5), ("int32", True), ("uint8", 3),
    ("complex64", 2.5), ("complex64", 1j), ("bool", True), ("int32", np.int8(3)), ("float32", [1.0, 2.0]),
])
@pytest.mark.parametrize("operation", ["set", "add", "multiply"])
def test_values_take_the_dtype_of_the_array(dtype, value, operation):
    if dtype == "bool" and operation != "set":
        return  # in jax there is no such sum
    for index in (S[:2], array(2, 0), I32(1)):
        if isinstance(value, list) and not np.ndim(index) and index != S[:2]:
            continue
        start = np.array([1, 0, 1])
        call = writes(index, operation)
        theirs = call(jax.numpy.asarray(start, dtype), value, *positions(index))
        same(call(jnp.asarray(start).astype(dtype), value, *positions(index)), theirs)


@pytest.mark.parametrize("dtype, value", [
    ("int32", 2.5), ("bfloat16", np.float32(3)), ("int8", np.int32(100)), ("float32", 1j), ("bool", 3)])
def test_values_of_a_wider_dtype_are_announced(dtype, value):
    start = jnp.asarray(np.array([1, 0, 1])).astype(dtype)
    with pytest.warns(FutureWarning, match="scatter inputs have incompatible types"):
        ours = start.at[0].set(value)
    with pytest.warns((FutureWarning, np.exceptions.ComplexWarning)):
        theirs = jax.numpy.asarray(np.array([1, 0, 1]), dtype).at[0].set(value)
    same(ours, theirs)


def test_ints_do_not_lose_digits_where_nothing_is_written():
    with pytest.warns(FutureWarning):
        assert jnp.asarray(np.array([16777217, 1])).at[1].set(2.5).tolist() == [16777217, 2]


def test_a_python_int_has_to_fit():
    with pytest.raises(OverflowError, match="300 does not fit into int8"):
        jnp.zeros(3, "int8").at[0].set(300)


def test_weak_arrays_stay_weak():
    for value in (2.0, np.float32(2)):
        for index in (0, array(0, 1)):
            same(lax.full((3,), 1.0).at[index].set(value), jax.lax.full((3,), 1.0).at[index].set(value))
            same(lax.full((3,), 1.0).at[index].add(value), jax.lax.full((3,), 1.0).at[index].add(value))
    same(lax.full((3,), 1.0)[array(0)], jax.lax.full((3,), 1.0)[array(0)])


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int32"])
def test_narrow_positions_reach_everywhere(dtype):
    x = np.arange(300, dtype=np.float32)
    places = np.array([100, 127, -1 if dtype.startswith("i") else 200], dtype)
    for f in (lambda x, i: x[i], pullback.jit(lambda x, i: x[i])):
        np.testing.assert_array_equal(f(jnp.asarray(x), jnp.asarray(places)), x[places])
        np.testing.assert_array_equal(f(jnp.asarray(x), jnp.asarray(places[2])), x[places[2]])
    np.testing.assert_array_equal(jnp.asarray(x).at[places].set(0.0) != x,
                                  np.isin(np.arange(300), places.astype(int) % 300))


@pytest.mark.parametrize("dtype", ["float32", "int32", "int8", "uint16", "bool", "complex64", "bfloat16"])
def test_fill_by_dtype(dtype):
    read = reads(array(5, 1), "fill")
    ours = read(jnp.asarray(np.array([1, 0])).astype(dtype), array(5, 1))
    same(ours.astype("complex64"),
         read(jax.numpy.asarray(np.array([1, 0]), dtype), array(5, 1)).astype("complex64"))
    assert reads(array(5), "fill", fill_value=7)(jnp.arange(3), array(5)).tolist() == [7]


# -- masks, apply, power ------------------------------------------------------------------------------


@pytest.mark.parametrize("operation", OPERATIONS[:4] + ["min", "max"])
@pytest.mark.parametrize("value", [2.0, np.arange(4, dtype=np.float32)])
def test_a_traced_mask_takes_values_that_are_the_same_for_each_element(operation, value):
    mask = np.array([[True, False, True], [False, True, True]])
    expected = getattr(jax.numpy.asarray(X).at[mask], operation)(value)
    ours = pullback.jit(lambda x, m: getattr(x.at[m], operation)(value))(jnp.asarray(X), mask)
    same(ours, expected)
    same(getattr(jnp.asarray(X).at[mask, ...], operation)(value), expected)
    assert pullback.jit(lambda x: x.at[x > 0].set(2.0))(jnp.float32(3)) == 2
    gradient = pullback.grad(lambda x: (x.at[x > 0].set(0.0) ** 2).sum())(jnp.asarray(X))
    np.testing.assert_allclose(gradient, np.where(X > 0, 0, 2 * X))


def test_apply_equals_jax():
    for index in (0, S[:, 1:], array(1, 0), array(1, 1, 0), X > 0, I32(-1), 7, array(5, 1)):
        def call(x, index=index):
            return x.at[index].apply(lambda v: v * 2 + 1)
        expected = call(jax.numpy.asarray(X))
        same(call(jnp.asarray(X)), expected)
        same(pullback.jit(call)(jnp.asarray(X)), expected)
    traced = pullback.jit(lambda x, i: x.at[i].apply(lambda v: v * 2 + 1))
    same(traced(jnp.asarray(X), array(1, 1, 0)),
         jax.numpy.asarray(X).at[array(1, 1, 0)].apply(lambda v: v * 2 + 1))


def test_apply_has_a_derivative():
    gradient = pullback.grad(lambda x: x.at[array(0, 0, 1)].apply(lambda v: v * 3).sum())(jnp.ones(3))
    np.testing.assert_array_equal(gradient, [9, 3, 1])


def test_power_and_divide_equal_jax():
    for index in (0, array(1, 1)):
        same(jnp.asarray(X).at[index].power(2), jax.numpy.asarray(X).at[index].power(2))
        same(jnp.arange(4).at[index].divide(2), jax.numpy.arange(4).at[index].divide(2))


# -- what it becomes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("index, there, absent", [
    (S[1, ::2], ["slice"], ["gather", "dynamic_slice"]), (S[array(0, 1)], ["gather"], ["select_n"]),
    (S[:, ::-1], ["rev"], ["gather"]), (S[...], [], ["slice", "reshape"])])
def test_known_positions_are_read_cheaply(index, there, absent):
    text = str(pullback.make_jaxpr(lambda x: x[index])(X))
    assert all(name in text for name in there) and not any(name in text for name in absent), text


def test_one_traced_position_is_a_dynamic_slice():
    text = str(pullback.make_jaxpr(lambda x, i: x[i, 1:])(X, 1))
    assert "dynamic_slice" in text and "gather" not in text, text


def test_known_windows_are_written_by_an_update_of_a_slice():
    text = str(pullback.make_jaxpr(lambda x: x.at[0, 1:].add(1.0))(X))
    assert "dynamic_update_slice" in text and "scatter" not in text, text


# -- keys, iteration, immutability --------------------------------------------------------------------


def test_keys_are_indexed():
    keys, data = pullback.random.split(pullback.random.key(0), 4), pullback.random.key_data
    for index in (0, S[1:3], array(2, 0), np.array([True, False, False, True]), S[None, ::-1]):
        np.testing.assert_array_equal(data(keys[index]), data(keys)[index])
    changed = keys.at[1].set(keys[3])
    np.testing.assert_array_equal(data(changed)[1], data(keys)[3])
    np.testing.assert_array_equal(data(keys.at[array(0, 2)].set(keys[1]))[2], data(keys)[1])


def test_arrays_unpack_and_stay_as_they_are():
    x = jnp.asarray(X)
    a, b = x
    np.testing.assert_array_equal(b, X[1])
    x.at[0].set(9.0)
    np.testing.assert_array_equal(x, X)
    assert "At" in repr(x.at) and "0" in repr(copy.copy(x).at[0])


# -- take, put ----------------------------------------------------------------------------------------


TAKES = [
    dict(indices=array(0, 7, -1, -99)), dict(indices=array([0, 1], [2, 5]), axis=2),
    dict(indices=array(1, 9), axis=0),
    dict(indices=array(5, -1, 100), mode="clip"), dict(indices=array(5, -1, 100, -100), mode="wrap"),
    dict(indices=array(1, 9, -4), axis=1, mode="fill", fill_value=-7.0), dict(indices=3),
    dict(indices=array(1), axis=-1),
    dict(indices=array(True, False, dtype=np.bool_), axis=1),
    dict(indices=array(0, 1), axis=1, unique_indices=True),
    dict(indices=array(dtype=np.int8), axis=1), dict(indices=array(200, 3, dtype=np.uint8)),
]


@pytest.mark.parametrize("i", range(len(TAKES)))
def test_take_equals_jax(i):
    options = dict(TAKES[i])
    indices = options.pop("indices")
    theirs = jax.numpy.take(X, indices, **options)
    same(jnp.take(jnp.asarray(X), indices, **options), theirs)
    if theirs.size:
        same(pullback.jit(lambda x, i: jnp.take(x, i, **options))(jnp.asarray(X), indices), theirs)
    ct = pullback.grad(lambda x: (jnp.take(x, indices, **options) * 2).sum())(jnp.asarray(X))
    if options.get("mode") != "wrap":
        same(ct, jax.grad(lambda x: (jax.numpy.take(x, indices, **options) * 2).sum())(X))


ALONG = [
    (X, np.argsort(-X, axis=1), 1), (X, array([[0], [7], [-1]], [[1], [-5], [2]]), -1),
    (X, array([[1, 0, 1, 1]]), 1),
    (X, array([[0, 1], [1, 1], [0, 0]])[None].reshape(1, 3, 2), 2), (X[:, :1], np.zeros((2, 5, 3), I32), 2),
    (X, array(5, 30, -1), None), (X, np.zeros((2, 0, 4), I32), 1), (X, array([[1]]), 0),
]


@pytest.mark.parametrize("i", range(len(ALONG)))
@pytest.mark.parametrize("mode", [None, "clip"])
def test_take_along_axis_equals_jax(i, mode):
    x, places, axis = ALONG[i]
    theirs = jax.numpy.take_along_axis(x, places, axis, mode)
    same(jnp.take_along_axis(jnp.asarray(x), places, axis, mode), theirs)
    if theirs.size:
        same(pullback.jit(lambda x, i: jnp.take_along_axis(x, i, axis, mode))(jnp.asarray(x), places), theirs)
    gradient = pullback.grad(lambda x: (jnp.take_along_axis(x, places, axis, mode) * 3).sum())(jnp.asarray(x))
    same(gradient, jax.grad(lambda x: (jax.numpy.take_along_axis(x, places, axis, mode) * 3).sum())(x))


@pytest.mark.parametrize("mode", [None, "clip", "wrap"])
@pytest.mark.parametrize("places, values", [
    (array(0, 5, -1), 1.0), (array(0, 5, 99), np.float32([10, 20])),
    (array([1, 2], [3, -40]), np.ones(9, np.float32)),
    (array(dtype=I32), 1.0), (2, np.float32([7, 8]))])
def test_put_equals_jax(places, values, mode):
    same(jnp.put(jnp.asarray(X), places, values, mode, inplace=False),
         jax.numpy.put(X, places, values, mode, inplace=False))


@pytest.mark.parametrize("places, axis", [
    (array([[0], [1], [9]], [[-1], [2], [3]]), 2), (array([[1]]), 1), (array(0, 7), None),
    (array([[1, 0, 0, 1]], [[2, 2, 0, 1]]), 1)])
def test_put_along_axis_equals_jax(places, axis):
    same(jnp.put_along_axis(jnp.asarray(X), places, 7.0, axis, inplace=False),
         jax.numpy.put_along_axis(X, places, 7.0, axis, inplace=False))


# -- errors -------------------------------------------------------------------------------------------


ERRORS = [
    (lambda x: x[0, 0, 0, 0], IndexError, ["f32[2,3,4]", "3 axes, 4 are indexed"]),
    (lambda x: x[0][0][0][0], IndexError, ["f32[]", "0 axes, 1 are indexed"]),
    (lambda x: x[[0, 1]], TypeError, ["list", "jnp.array(index)"]),
    (lambda x: x[range(2)], TypeError, ["range"]),
    (lambda x: x[1.0], TypeError, ["1.0", "integers"]),
    (lambda x: x[jnp.asarray(1.5)], TypeError, ["float32", "integers"]),
    (lambda x: x[np.array([1.0])], TypeError, ["f64[1]", "integers"]),
    (lambda x: x["name"], TypeError, ["'name'"]),
    (lambda x: x[{}], IndexError, ["dict"]),
    (lambda x: x[0.5:], TypeError, ["slice bound 0.5"]),
    (lambda x: x[::0], ValueError, ["zero"]),
    (lambda x: x[..., ...], IndexError, ["one ellipsis", "2"]),
    (lambda x: x[np.array([True, False, True])], IndexError,
     ["(3,)", "axis 0 has size 3", "size 2", "f32[2,3,4]"]),
    (lambda x: x[:, np.ones((3, 3), bool)], IndexError, ["axis 1 has size 3", "axis 2 has size 4"]),
    (lambda x: x[np.zeros(2, int), np.zeros(3, int)], ValueError, ["(2,), (3,)", "jnp.ix_"]),
    (lambda x: x[:0][0], IndexError, ["axis 0 of f32[0,3,4]", "size 0"]),
    (lambda x: x[:0][np.array([0])], IndexError, ["axis 0 of f32[0,3,4]"]),
    (lambda x: x.at[0].set(np.zeros(3, np.float32)), ValueError, ["f32[3]", "(3, 4)"]),
    (lambda x: x.at[0].set(np.zeros((1, 3, 4), np.float32)), ValueError, ["f32[1,3,4]", "(3, 4)"]),
    (lambda x: x.at[0].set("a"), TypeError, ["str"]),
    (lambda x: x.at[0].get(mode="wrap"), ValueError, ["'wrap'", "'clip'"]),
    (lambda x: x.at[0, 0, 0, 0].set(1.0), IndexError, ["4 are indexed"]),
    (lambda x: x.at[0].apply(lambda v: v.sum()), TypeError, ["made f32[] of f32[3,4]", "elementwise"]),
    (lambda x: x.at[0].apply(lambda v: v.astype(int)), TypeError, ["made i32[3,4] of f32[3,4]"]),
    (lambda x: x.__setitem__(0, 1.0), TypeError, ["immutable", "x.at[index].set(value)"]),
    (lambda x: jnp.take(x, [0, 1]), TypeError, ["list"]),
    (lambda x: jnp.take(x, jnp.asarray(1.0)), TypeError, ["f32[]", "integers"]),
    (lambda x: jnp.take(x, 0, axis=3), ValueError, ["axis 3"]),
    (lambda x: jnp.take(x, 0, mode="raise"), ValueError, ["'raise'", "'fill'"]),
    (lambda x: jnp.take(x[:0], 0, axis=0), IndexError, ["axis 0 of f32[0,3,4]"]),
    (lambda x: jnp.take(x, 0, out=x), TypeError, ["immutable"]),
    (lambda x: jnp.take_along_axis(x, jnp.asarray(np.array([0])), 0), ValueError,
     ["i32[1]", "f32[2,3,4]", "rank"]),
    (lambda x: jnp.take_along_axis(x, jnp.asarray(np.zeros((3, 3, 1), int)), 2), ValueError, ["2", "3"]),
    (lambda x: jnp.take_along_axis(x, x, 2), TypeError, ["f32[2,3,4]", "integers"]),
    (lambda x: jnp.put(x, 0, 1.0), ValueError, ["inplace=False"]),
    (lambda x: jnp.put(x, 0, 1.0, mode="raise", inplace=False), ValueError, ["'raise'"]),
    (lambda x: jnp.put_along_axis(x, jnp.asarray(np.zeros((1, 1, 1), int)), 1.0, 0), ValueError,
     ["inplace=False"]),
]


@pytest.mark.parametrize("i", range(len(ERRORS)))
def test_errors_say_what_was_given_and_what_to_do(i):
    call, kind, words = ERRORS[i]
    with pytest.raises(kind) as caught:
        call(jnp.asarray(X))
    text = str(caught.value)
    assert all(word in text for word in words), text
    if kind is not ValueError or "zero" not in words:  # Python's own
        assert "fix: " in text and "test_indexing.py" in text, text


@pytest.mark.parametrize("call, kind, words", [
    (lambda x, m, i: x[m], pullback.errors.NonConcreteBooleanIndexError,
     ["bool[2]", "jnp.where", "argument m"]),
    (lambda x, m, i: x.at[m].set(x[:1]), pullback.errors.NonConcreteBooleanIndexError, ["bool[2]", "(3, 4)"]),
    (lambda x, m, i: x[:, m, 0], IndexError, ["(2,)", "size 3"]),
    (lambda x, m, i: x[i:i + 1], IndexError, ["traced bound", "i32[]", "dynamic_slice", "argument i"]),
    (lambda x, m, i: x[x], TypeError, ["f32[2,3,4]"]),
])
def test_errors_of_traced_indices(call, kind, words):
    with pytest.raises(kind) as caught:
        pullback.jit(lambda x, m, i: call(x, m, i))(X, np.array([True, False]), 1)
    text = str(caught.value)
    assert all(word in text for word in [*words, "fix: "]), text


@pytest.mark.parametrize("engine", [pullback, jax], ids=lambda e: e.__name__)
def test_truth_values_are_not_added(engine):
    x = engine.numpy.array([True, False])
    for change in (x.at[0].add, x.at[0].multiply):
        with pytest.raises(TypeError, match="bool"):
            change(True)
    assert x.at[1].max(True).tolist() == [True, True] and x.at[0].min(False).tolist() == [False, False]

"""Shapes, joining, padding and editing, against real jax."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pullback
import pullback.numpy as pnp
from pullback.core.errors import ConcretizationTypeError
from pullback.ops.elementwise import select_n
from tests.numpy.against_jax import close, ours, same, theirs, weak

V = np.array([3.0, 1.0, 4.0], np.float32)
M = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
T = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
S = np.float32(2.5)
EMPTY = np.zeros((0, 3), np.float32)
W = weak([1.5, 2.5])


def call(name, *args, **kwargs):
    return getattr(pullback.numpy, name)(*args, **kwargs)


def function(name):
    return lambda *args, **kwargs: call(name, *args, **kwargs)


@pytest.mark.parametrize("name, args, kwargs", [
    ("reshape", (M, (3, 2)), {}), ("reshape", (M, -1), {}), ("reshape", (M, (3, -1)), {"order": "F"}),
    ("reshape", (M, 6), {"copy": True}), ("reshape", (EMPTY, (3, -1, 2)), {}),
    ("reshape", (W, (2, 1)), {}), ("reshape", (T, np.array([4, 6])), {}),
    ("ravel", (M,), {}), ("ravel", (M,), {"order": "F"}), ("ravel", (3,), {}), ("ravel", (W,), {}),
    ("transpose", (T,), {}), ("transpose", (T, (2, 0, 1)), {}), ("transpose", (M, (-1, -2)), {}),
    ("transpose", (S,), {}), ("permute_dims", (T, (1, 2, 0)), {}), ("matrix_transpose", (T,), {}),
    ("moveaxis", (T, 0, -1), {}), ("moveaxis", (T, (0, 1), (2, 0)), {}), ("moveaxis", (T, (), ()), {}),
    ("swapaxes", (T, 0, -1), {}), ("rollaxis", (T, 2), {}), ("rollaxis", (T, 0, 3), {}), ("rollaxis", (T, 1, -1), {}),
    ("expand_dims", (M, 0), {}), ("expand_dims", (M, (0, -1)), {}), ("expand_dims", (1.5, 0), {}),
    ("squeeze", (M[None, :, None],), {}), ("squeeze", (M[None, :, None], -2), {}), ("squeeze", (M[None], (0,)), {}),
    ("broadcast_to", (V, (2, 3)), {}), ("broadcast_to", (M[:, :1], (2, 2, 3)), {}), ("broadcast_to", (1.5, 3), {}),
    ("broadcast_to", (EMPTY, (2, 0, 3)), {}), ("broadcast_arrays", (M, V, 1.0), {}), ("broadcast_arrays", (), {}),
    ("broadcast_shapes", ((2, 1), 3, (4, 1, 1)), {}), ("broadcast_shapes", (), {}),
    ("broadcast_shapes", ((0,), (1,)), {}),
    ("atleast_1d", (S,), {}), ("atleast_1d", (1, V), {}), ("atleast_2d", (V,), {}), ("atleast_2d", (W, 2.0), {}),
    ("atleast_3d", (V,), {}), ("atleast_3d", (S, M, T), {}), ("atleast_1d", (), {}),
    ("shape", (M,), {}), ("size", (T,), {}), ("size", (T, 1), {}), ("size", (T, (0, -1)), {}), ("ndim", (3,), {}),
    ("flip", (M,), {}), ("flip", (M, 0), {}), ("flip", (M, (0, 1)), {}), ("flip", (S,), {}), ("fliplr", (M,), {}),
    ("flipud", (M,), {}), ("rot90", (M,), {}), ("rot90", (M, -1), {}), ("rot90", (M, 2), {}), ("rot90", (M, 4), {}),
    ("rot90", (T, 1, (2, 0)), {}),
    ("roll", (M, 1), {}), ("roll", (M, -4, 1), {}), ("roll", (M, (1, 2), (0, 1)), {}), ("roll", (M, 1, (0, 1)), {}),
    ("roll", (M, (1, 1), 1), {}), ("roll", (S, 1), {}), ("roll", (EMPTY, 1, 0), {}), ("roll", (M, (1, 2)), {}),
    ("roll", (M, np.int8(-5), 1), {}), ("roll", (M, np.array([1, 2]), (0, 1)), {}),
])
def test_shape(name, args, kwargs):
    fixed = name in ("reshape", "shape", "size", "ndim", "broadcast_shapes")
    same(function(name), name, *args, traced=not fixed, **kwargs)


@pytest.mark.filterwarnings("ignore:Casting")
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64"])
def test_astype(dtype):
    target = np.dtype(dtype) if dtype != "bfloat16" else jnp.bfloat16
    for x in (M, T, M > 0, M * (1 + 2j), S, np.float32([np.nan, 3e9, -1, 1e-3]), weak([1.5])):
        same(pnp.astype, lambda x, d: jnp.asarray(x).astype(d), x, target)
    same(pnp.astype, "astype", M, None)


def test_astype_warns_of_a_dtype_that_is_off():
    with pytest.warns(UserWarning, match="float64"):
        pnp.astype(ours(M), "float64")


def test_a_lost_imaginary_part_is_warned_of():
    for lose in (lambda z: pnp.astype(z, "float32"), lambda z: pnp.concatenate([z], dtype="float32"),
                 lambda z: pnp.insert(ours(V), 0, z[0]), lambda z: pnp.sum(z, dtype="int32")):
        with pytest.warns(np.exceptions.ComplexWarning):
            lose(ours(V * np.complex64(1j)))


def test_same_array_where_nothing_changes():
    x = ours(M)
    for i, y in enumerate((pnp.reshape(x, (2, 3)), pnp.transpose(x, (0, 1)), pnp.squeeze(x),
                           pnp.broadcast_to(x, (2, 3)),
              pnp.astype(x, np.float32), pnp.tile(x, 1), pnp.concatenate([x]), pnp.roll(x, 0),
              pnp.repeat(x, 1, 0))):
        assert y is x, i


@pytest.mark.parametrize("name, args, kwargs", [
    ("concatenate", ([M, M + 1],), {}), ("concatenate", ([M, T[:, :, 0], EMPTY],), {"axis": 0}),
    ("concatenate", ((M, M[:, :1]),), {"axis": -1}), ("concatenate", ([M, 1, V],), {"axis": None}),
    ("concatenate", (T,), {}), ("concatenate", (T, 1), {}), ("concatenate", (T, None), {}),
    ("concatenate", ([W, W],), {}), ("concatenate", ([W, weak([1])],), {}),
    ("concatenate", ([V, V],), {"dtype": "int32"}),
    ("concatenate", ([V > 1, np.int8([1])],), {}), ("concat", ([M, M],), {"axis": 1}),
    ("concat", ([M, M],), {"axis": None}),
    ("stack", ([M, M + 1],), {}), ("stack", ([M, T[:, :, 0]],), {"axis": 1}), ("stack", ([1, 2.5],), {}),
    ("stack", (T,), {"axis": -1}), ("stack", (T,), {}), ("stack", ([V, V],), {"axis": -1, "dtype": "float16"}),
    ("vstack", ([V, M],), {}), ("vstack", ([1, 2],), {}), ("vstack", (M,), {}), ("vstack", (T,), {}),
    ("hstack", ([V, 1],), {}), ("hstack", ([M, M[:, :1]],), {}), ("hstack", (T,), {}), ("hstack", (M,), {}),
    ("dstack", ([V, V],), {}), ("dstack", ([M, M],), {}), ("dstack", (M,), {}), ("dstack", ([S, 2],), {}),
    ("column_stack", ([V, np.stack([V, V], 1)],), {}), ("column_stack", ([1, 2],), {}), ("column_stack", (M,), {}),
    ("block", ([[M, M], [1, np.ones(5, np.float32)]],), {}), ("block", ([1, 2.5],), {}), ("block", (M,), {}),
    ("block", ([[[M, M]], [[M, T[:, :, 0]]]],), {}), ("block", ([V, M[0]],), {}),
    ("append", (M, V), {}), ("append", (M, V[None]), {"axis": 0}), ("append", (W, 2), {}),
    ("split", (T, 2), {"axis": 2}), ("split", (T, (1, 3)), {"axis": -1}), ("split", (V, np.array([1, 3])), {}),
    ("array_split", (T, 3), {"axis": 2}), ("array_split", (V, 5), {}),
    ("hsplit", (M, 3), {}), ("hsplit", (V, [1]), {}), ("vsplit", (M, 2), {}), ("dsplit", (T, 2), {}),
    ("unstack", (M,), {}), ("unstack", (T,), {"axis": -1}),
    ("tile", (M, 2), {}), ("tile", (V, (2, 1, 2)), {}), ("tile", (M, ()), {}), ("tile", (1.5, 2), {}),
    ("tile", (V, 0), {}),
    ("tile", (M, (2, 1)), {}), ("tile", (T, (1, 2, 1)), {}), ("tile", (W, (3, 1)), {}), ("tile", (M, (1, 1, 1)), {}),
    ("resize", (M, (2, 4)), {}), ("resize", (M, 2), {}), ("resize", (M, ()), {}), ("resize", (EMPTY, (2,)), {}),
    ("resize", (M, (3, 5)), {}), ("resize", (M, (0,)), {}),
])
def test_joining(name, args, kwargs):
    fixed = name in ("split", "array_split", "hsplit", "vsplit", "dsplit")
    same(function(name), name, *args, traced=not fixed, **kwargs)


def test_split_positions_outside():
    assert [x.tolist() for x in pnp.split(ours(V), [1, 7])] == [[3], [1, 4], []]
    assert [x.tolist() for x in pnp.split(ours(V), [-1])] == [[3, 1], [4]]


def test_joining_key_arrays():
    keys = pullback.random.split(pullback.random.key(0), 3)
    both = pnp.concatenate([keys, keys])
    assert both.dtype == keys.dtype and both.shape == (6,)
    assert pnp.stack([keys, keys], axis=1).shape == pnp.transpose(pnp.tile(keys, (2, 1))).shape == (3, 2)
    np.testing.assert_array_equal(pullback.random.key_data(pnp.flip(both)), pullback.random.key_data(both)[::-1])


COUNTS = np.array([2, 0, 1], np.int32)


@pytest.mark.parametrize("args, kwargs", [
    ((M, 2), {}), ((M, 2, 1), {}), ((M, COUNTS, 1), {}), ((M, COUNTS[:1], 1), {}), ((5, 3), {}), ((M, 0, 0), {}),
    ((M, COUNTS, 1), {"total_repeat_length": 5}), ((M, COUNTS, 1), {"total_repeat_length": 2}),
    ((M, 3, 1), {"total_repeat_length": 2}), ((M, 3, 1), {"total_repeat_length": 10}), ((W, COUNTS[:2]), {}),
    ((EMPTY, 2, 0), {}), ((EMPTY, np.zeros(0, np.int32), 0), {}), ((V, np.zeros(3, np.int32)), {}),
])
def test_repeat(args, kwargs):
    same(pnp.repeat, "repeat", *args, traced="total_repeat_length" in kwargs, grad=args[0] is M, **kwargs)


def test_repeat_traced():
    for total in (2, 3, 6):
        f = pullback.jit(lambda x, n, total=total: pnp.repeat(x, n, 1, total_repeat_length=total))
        close(f(ours(M), ours(COUNTS)), jnp.repeat(M, COUNTS, 1, total_repeat_length=total), total)
    f = pullback.vmap(lambda n: pnp.repeat(ours(V), n, total_repeat_length=4))
    counts = np.int32([[1, 2, 1], [0, 0, 4], [4, 0, 0]])
    close(f(ours(counts)), jnp.stack([jnp.repeat(V, n) for n in counts]), "vmap")


@pytest.mark.parametrize("shift, axis", [(1, 1), (-7, 0), (np.int32([1, 5]), (0, 1)), (2, None), (3, (0, 1)),
                                         (np.uint8(200), 1), (np.int8(-128), 0)])
def test_roll_traced(shift, axis):
    f = pullback.jit(lambda x, s: pnp.roll(x, s, axis))
    expected = np.roll(M, np.asarray(shift, np.int64), axis)
    np.testing.assert_array_equal(f(ours(M), ours(np.asarray(shift))), expected)
    got = pullback.vmap(lambda s: pnp.roll(ours(V), s))(ours(np.int32([0, 1, -1])))
    np.testing.assert_array_equal(got, [np.roll(V, s) for s in (0, 1, -1)])


@pytest.mark.parametrize("mode", ["constant", "edge", "linear_ramp", "maximum", "mean", "median", "minimum", "reflect",
                                  "symmetric", "wrap", "empty"])
def test_pad(mode):
    for x, width in ((V, (2, 5)), (M, ((1, 0), (2, 1))), (M, 1), (np.int32([1, 2, 3]), 2), (V[:1], 3),
                     (np.int8([40, 80, 120]), 1), (weak([1.0, 2.0]), 1), (V, 0), (V.astype(np.float16), 2),
                     (M, ((7, 3), (0, 5)))):
        same(pnp.pad, "pad", x, width, mode)
    for x, width in ((V, (2, 5)), (M, ((1, 0), (2, 1)))):
        same(pnp.pad, "pad", x, width, mode, grad=True)


@pytest.mark.parametrize("mode, kwargs", [
    ("constant", {"constant_values": 9}), ("constant", {"constant_values": (8, 9)}),
    ("constant", {"constant_values": ((1, 2), (3, 4))}), ("constant", {"constant_values": np.float32([[1], [2]])}),
    ("constant", {"constant_values": np.float32(7)}), ("maximum", {"stat_length": 2}),
    ("mean", {"stat_length": (1, 2)}),
    ("minimum", {"stat_length": ((1, 2), (2, 1))}), ("median", {"stat_length": 9}), ("linear_ramp", {"end_values": 5}),
    ("linear_ramp", {"end_values": ((5, -4), (1, 2))}), ("reflect", {"reflect_type": "odd"}),
    ("symmetric", {"reflect_type": "odd"}), ("reflect", {"reflect_type": "even"}),
])
def test_pad_arguments(mode, kwargs):
    same(pnp.pad, "pad", M, ((2, 3), (1, 4)), mode, **kwargs)
    same(pnp.pad, "pad", M[:1], ((2, 0), (4, 9)), mode, **kwargs)
    same(pnp.pad, "pad", M.astype(np.int32), 2, mode, **kwargs)
    same(pnp.pad, "pad", M, 1, mode, grad=True, **kwargs)


def test_pad_with_traced_values():
    f = pullback.jit(lambda x, c: pnp.pad(x, 1, constant_values=c))
    close(f(ours(M), 2.0), jnp.pad(M, 1, constant_values=2.0), "scalar")
    pairs = np.float32([[1, 2], [3, 4]])
    close(f(ours(M), ours(pairs)), jnp.pad(M, 1, constant_values=pairs), "pairs")
    close(pullback.jit(lambda x, c: pnp.pad(x, 1, constant_values=((0, c), (c, 1))))(ours(M), 2.0),
          jnp.pad(M, 1, constant_values=((0, 2.0), (2.0, 1))), "nested")


def test_pad_by_a_function():
    def fill(row, width, axis, kwargs):
        inner = np.arange(row.size)
        inner = (inner >= width[0]) & (inner < row.size - width[1])
        return select_n(ours(inner), np.float32(kwargs["v"] + axis), row)

    def real(row, width, axis, kwargs):
        keep = jnp.arange(row.size)
        return jnp.where((keep >= width[0]) & (keep < row.size - width[1]), row, kwargs["v"] + axis)

    close(pnp.pad(ours(M), ((1, 2), (1, 1)), fill, v=7), jnp.pad(M, ((1, 2), (1, 1)), real, v=7), "function")


POSITIONS = np.array([0, 2], np.int32)


@pytest.mark.parametrize("args, kwargs", [
    ((M, 1, 7), {}), ((M, 1, 7), {"axis": 1}), ((M, POSITIONS, np.float32([[7], [8]])), {"axis": 1}),
    ((M, slice(0, 2), 9), {"axis": 1}), ((M, -1, 9.5), {"axis": 1}), ((T[0, 0], -1, 9.5), {}), ((M, 3, 9), {"axis": 1}),
    ((V, np.int32([1, 1, 1]), np.float32([7, 8, 9])), {}), ((V, 1, np.float32([7, 8])), {}),
    ((M, 1, np.float32([7, 8])), {"axis": 1}), ((M, 1, V), {"axis": 0}), ((W, 0, 1), {}),
    ((M, np.int32([1]), np.float32([[7, 9], [8, 6]])), {"axis": 1}), ((M, np.zeros(0, np.int32), 9), {}),
    ((V, np.int32([3, 0, -1, 0]), np.float32([1, 2, 3, 4])), {}),
])
def test_insert(args, kwargs):
    same(pnp.insert, "insert", *args, **kwargs)
    same(pnp.insert, "insert", *args, traced=False, grad=True, **kwargs)


@pytest.mark.parametrize("args, kwargs", [
    ((M, 1), {}), ((M, 1), {"axis": 1}), ((M, POSITIONS), {"axis": 1}), ((M, np.int32([0, 0])), {"axis": 1}),
    ((M, slice(0, 3, 2)), {"axis": 1}), ((M, -1), {"axis": 1}), ((M, np.array([True, False, True])), {"axis": 1}),
    ((M, POSITIONS), {"axis": 1, "assume_unique_indices": True}), ((T, np.int32([3, -1, 20, 7, 0, 12, 5])), {}),
])
def test_delete(args, kwargs):
    same(pnp.delete, "delete", *args, traced=False, grad=True, **kwargs)


def test_delete_traced():
    f = pullback.jit(lambda x, i: pnp.delete(x, i, 1, assume_unique_indices=True))
    close(f(ours(M), ours(np.int32([0, -1]))), jnp.delete(M, np.int32([0, -1]), 1), "two")
    close(pullback.jit(lambda x, i: pnp.delete(x, i, 1))(ours(M), -1), jnp.delete(M, -1, 1), "one")
    with pytest.raises(ConcretizationTypeError, match="assume_unique_indices"):
        pullback.jit(pnp.delete)(ours(M), ours(POSITIONS))


@pytest.mark.parametrize("args", [([0, 0, 1, 2, 0],), ([0, 0, 1, 2, 0], "f"), ([0, 1, 0], "B"), ([0, 0],),
                                  ([[0, 0, 0], [0, 1, 0]],), ([[0, 0, 0], [0, 1, 0]], "fb", 1)])
def test_trim_zeros(args):
    same(pnp.trim_zeros, "trim_zeros", np.asarray(args[0], np.float32), *args[1:], traced=False)


@pytest.mark.parametrize("f", [
    lambda n, x: n("concatenate")([x, x], 1), lambda n, x: n("stack")([x, x], 1), lambda n, x: n("roll")(x, 1, 1),
    lambda n, x: n("tile")(x, (2, 1)), lambda n, x: n("flip")(x, 0), lambda n, x: n("moveaxis")(x, 0, 1),
    lambda n, x: n("broadcast_to")(x, (4, 2, 3)), lambda n, x: n("split")(x, [1], 1)[1],
    lambda n, x: n("block")([[x], [x]]),
    lambda n, x: n("concatenate")(x), lambda n, x: n("resize")(x, (3, 3)),
])
def test_gradients(f):
    same(lambda x: f(function, x), lambda x: f(lambda name: getattr(jnp, name), x), M, grad=True)


def test_no_needless_equations():
    def count(f, *args):
        return len(pullback.make_jaxpr(f)(*args).eqns)

    x = ours(M)
    assert count(lambda x: pnp.reshape(x, (2, 3)), x) == 0
    assert count(lambda x: pnp.reshape(x, -1), x) == count(lambda x: pnp.transpose(x), x) == 1
    assert count(lambda x: pnp.concatenate([x, x]), x) == 1
    assert count(lambda x: pnp.pad(x, 1), x) == 1
    assert count(lambda x: pnp.stack([x, x]), x) == 3
    assert count(lambda x: pnp.repeat(x, 2, 1), x) == count(lambda x: pnp.tile(x, 2), x) == 2


ERRORS = [
    (TypeError, lambda: pnp.reshape(ours(M), (4, 2)), r"reshape: .*f32\[2,3\].*\(4, 2\)"),
    (TypeError, lambda: pnp.reshape(ours(M), (4, -1)), r"does not divide 6"),
    (TypeError, lambda: pnp.reshape(ours(M), (-1, -1)), "more than one -1"),
    (TypeError, lambda: pnp.reshape(ours(M), (-2, -3)), "negative"),
    (TypeError, lambda: pnp.reshape(ours(EMPTY), (0, -1)), "in place of -1"),
    (ValueError, lambda: pnp.reshape(ours(M), 6, order="K"), "order is 'K'"),
    (TypeError, lambda: pnp.transpose(ours(M), (0, 0)), r"f32\[2,3\].*\(0, 0\)"),
    (ValueError, lambda: pnp.matrix_transpose(ours(V)), "at least 2 axes"),
    (ValueError, lambda: pnp.moveaxis(ours(M), (0, 1), (1,)), "2 axes"),
    (ValueError, lambda: pnp.moveaxis(ours(M), 2, 0), "axis 2 is out of bounds"),
    (ValueError, lambda: pnp.expand_dims(ours(M), (0, 0)), "twice"),
    (ValueError, lambda: pnp.squeeze(ours(M), 0), "axis 0 .*size 2"),
    (ValueError, lambda: pnp.broadcast_to(ours(M), (2, 2)), r"broadcast_to: f32\[2,3\]"),
    (ValueError, lambda: pnp.broadcast_shapes((2, 3), (2,)), r"\(2, 3\), \(2,\)"),
    (TypeError, lambda: pnp.broadcast_arrays(ours(M), [1]), "broadcast_arrays: got a list"),
    (ValueError, lambda: pnp.concatenate([]), "at least one array"),
    (TypeError, lambda: pnp.concatenate([ours(M), ours(M), ours(M[:, :2])]), r"operand 2, f32\[2,2\]"),
    (TypeError, lambda: pnp.concatenate([ours(M), ours(V)]), r"operand 0 is f32\[2,3\], operand 1 is f32\[3\]"),
    (ValueError, lambda: pnp.concatenate([1, 2]), "without axes"),
    (ValueError, lambda: pnp.concatenate([ours(M)], axis=2), "axis 2 is out of bounds"),
    (TypeError, lambda: pnp.concatenate(3), "a sequence of arrays"),
    (TypeError, lambda: pnp.concatenate([[1, 2], [3]]), "got a list"),
    (ValueError, lambda: pnp.stack([ours(M), ours(V)]), r"stack: operand 0 is f32\[2,3\], operand 1 is f32\[3\]"),
    (TypeError, lambda: pnp.stack([ours(M)], out=ours(M)), r"stack: out is f32\[2,3\]"),
    (ValueError, lambda: pnp.block([ours(M), [ours(M)]]), "deep"),
    (ValueError, lambda: pnp.block([]), "empty list"),
    (ValueError, lambda: pnp.block((1, 2)), "tuple"),
    (ValueError, lambda: pnp.split(ours(M), 2, 1), "size 3.* 2 equal pieces"),
    (ValueError, lambda: pnp.split(ours(M), [2, 1], 1), "rise"),
    (ValueError, lambda: pnp.split(ours(M), 0), "at least 1"),
    (ValueError, lambda: pnp.dsplit(ours(M), 1), "3 axes"),
    (ValueError, lambda: pnp.tile(ours(M), -1), "negative"),
    (ValueError, lambda: pnp.repeat(ours(M), -1, 1), "negative"),
    (ValueError, lambda: pnp.repeat(ours(M), ours(np.int32([1, 2])), 1), "repeats is i32"),
    (TypeError, lambda: pnp.repeat(ours(M), 1.5), "integers are required"),
    (ConcretizationTypeError, lambda: pullback.jit(pnp.repeat)(ours(M), 2), "total_repeat_length"),
    (TypeError, lambda: pnp.roll(ours(M), 1.5), "shift is .*1.5"),
    (ValueError, lambda: pnp.roll(ours(M), (1, 2, 3), (0, 1)), "3 shifts and 2 axes"),
    (ValueError, lambda: pnp.rot90(ours(M), axes=(0, 0)), "twice"),
    (ValueError, lambda: pnp.fliplr(ours(V)), "axis 1 is out of bounds"),
    (ValueError, lambda: pnp.pad(ours(M), -1), "negative"),
    (TypeError, lambda: pnp.pad(ours(M), 1.0), "integers are required"),
    (ValueError, lambda: pnp.pad(ours(M), 1, "bogus"), "mode is 'bogus'"),
    (ValueError, lambda: pnp.pad(ours(M), 1, "edge", constant_values=1), "constant_values is no argument"),
    (ValueError, lambda: pnp.pad(ours(M), (1, 2, 3)), "pad_width is"),
    (ValueError, lambda: pnp.pad(ours(EMPTY), 1, "edge"), "axis 0 of f32.0,3. is empty"),
    (ValueError, lambda: pnp.pad(ours(M), 1, "mean", stat_length=0), "stat_length is 0"),
    (ConcretizationTypeError, lambda: pullback.jit(pnp.pad)(ours(M), 1), "pad_width"),
    (IndexError, lambda: pnp.insert(ours(M), 17, 1), "position 17"),
    (TypeError, lambda: pnp.insert(ours(V), ours(np.array([True])), 1), "integers are required"),
    (IndexError, lambda: pnp.delete(ours(M), 7, axis=1), "position 7"),
    (ValueError, lambda: pnp.delete(ours(M), ours(np.array([True])), axis=1), "mask"),
    (ConcretizationTypeError, lambda: pullback.jit(pnp.trim_zeros)(ours(V)), "trim_zeros"),
    (ValueError, lambda: pnp.trim_zeros(ours(V), "x"), "trim is 'x'"),
    (ValueError, lambda: pnp.resize(ours(M), (-1,)), "negative"),
]


@pytest.mark.parametrize("kind, bad, message", ERRORS, ids=range(len(ERRORS)))
def test_errors(kind, bad, message):
    with pytest.raises(kind, match=message) as caught:
        bad()
    assert "fix:" in str(caught.value)


def test_under_x64():
    with pullback.enable_x64(True), jax.enable_x64(True):
        x = np.arange(6.0).reshape(2, 3)
        for name, args in (("concatenate", ([x, 1 + T[0, :2, :3]],)), ("pad", (x, 2, "mean")), ("roll", (x, 1)),
                           ("insert", (x, 1, 5)), ("repeat", (x, np.array([1, 2, 3]), 1)), ("tile", (2, 3))):
            close(call(name, *ours(args)), getattr(jnp, name)(*theirs(args)), name)

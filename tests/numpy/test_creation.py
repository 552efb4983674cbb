"""What makes arrays in pullback.numpy against real jax: values, types, errors; and its dtypes."""

import doctest
import importlib
import io
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pullback
import pullback.numpy as pnp
from pullback.core.array import Array
from tests.numpy.against_jax import close

SAME = """
array(True)
array(1)
array(1.0)
array(1j)
array([1, 2])
array([1, 2.0])
array([1, 2.0, True])
array([True, 1])
array([1, 1j])
array([])
array([[]])
array([[], []])
array(())
array(((1, 2), [3, 4]))
array([2**31, 1.0])
array(2**40, dtype=jnp.float32)
array([2**31], dtype=jnp.uint32)
array([1.5, -2.5], dtype=jnp.int32)
array([0, 2], dtype=bool)
array([1, 2], dtype=float)
array([1, 2], dtype='bfloat16')
array(1, dtype=float)
array(1, dtype=jnp.float32)
array(np.float64(1))
array([np.float64(1), 2])
array([np.float16(1), 2])
array([np.int8(1), 2])
array([np.ones(2), [1, 2]])
array(np.ones(2))
array(np.ones(2, np.int64) * 2**40)
array(np.ones((2, 3)).T)
array([jnp.float32(1), 2])
array([jnp.ones(2), [1, 2]])
array([jnp.ones(2, jnp.bfloat16), [1, 2]])
array([jnp.asarray(1.0), 2])
array([jnp.asarray(1.0), np.int8(2)])
array([[jnp.ones(2)], [np.zeros(2)]])
array(range(3))
array([range(3)])
array(memoryview(b'ab'))
array(bytearray(b'ab'))
array(jnp.asarray(1.0))
array(jnp.asarray(1.0), dtype=jnp.float32)
array(jnp.asarray(1.0), dtype=float)
array([1, 2], ndmin=3)
array(1.0, ndmin=1)
array(jnp.ones(2), copy=False)
asarray(True)
asarray(1)
asarray(jnp.asarray(1.0))
asarray(jnp.asarray(1.0), dtype=jnp.float32)
asarray(jnp.ones(2), copy=True)
float32(1)
float32([1, 2])
float32('1.5')
int32(1.5)
bool_(2)
bfloat16(1.001)
zeros(3)
zeros((2, 3), int)
zeros(2, float)
zeros(jnp.asarray(2))
zeros(np.array([2, 3]))
zeros([2, 0])
zeros(())
ones(2, bool)
ones((2, 1), jnp.complex64)
empty(2)
full(2, 1)
full(2, 1.0)
full(2, jnp.asarray(1.0))
full((2, 2), jnp.arange(2))
full(2, 1, float)
full(2, 1.5, int)
full(2, True)
full((), 7)
zeros_like(1.0)
zeros_like(jnp.asarray(1.0))
zeros_like(jnp.ones(2, jnp.int8))
zeros_like(jnp.ones(2, jnp.int8), float)
zeros_like(jnp.ones(2, jnp.int8), shape=(3,))
zeros_like(jnp.ones(2, jnp.int8), shape=3)
zeros_like(jax.ShapeDtypeStruct((2,), jnp.float16))
ones_like(1)
full_like(jnp.ones(2, jnp.int8), 1.5)
full_like(1.0, 2)
full_like(jnp.ones(2, int), 1.5, dtype=float)
full_like(jnp.ones((2, 2)), jnp.arange(2))
empty_like(1.0)
arange(3)
arange(3.0)
arange(jnp.asarray(3.0))
arange(1, 4)
arange(1, 4.0)
arange(0, 1, 0.1)
arange(-1, 1, 0.001)
arange(1.0, 0, -0.07)
arange(3, dtype='float32')
arange(3, dtype=jnp.bfloat16)
arange(300, dtype=jnp.int8)
arange(3, 0)
arange(3, 0, -1)
arange(10, 0, -3)
arange(-1)
arange(np.int8(3))
arange(np.float64(3))
arange(2**31, 2**31 + 2)
arange(0.5)
arange(5, step=2)
arange(5, None, 2)
arange(jnp.float16(3))
arange(0, 5, jnp.int8(2))
linspace(0, 1, 5)
linspace(0.3, 2.7, 11)
linspace(-5, 3.7, 100)
linspace(1e8, -3, 9)
linspace(0, 10, 5, dtype=int)
linspace(-5, 3.7, 4, dtype=int)
linspace(0, 1, 5, endpoint=False)
linspace(0, 1, 5, retstep=True)
linspace(0, 1, 5, False, True)
linspace(0, 1, 1, retstep=True)
linspace(0, 1, 1, endpoint=False, retstep=True)
linspace(0, 1, 0, retstep=True)
linspace(jnp.zeros(2), jnp.ones(2), 3)
linspace(jnp.zeros(2), jnp.ones(2), 3, axis=1)
linspace(jnp.zeros((2, 1)), jnp.ones(3), 4, axis=-2)
linspace(jnp.zeros(2), 1, 3, axis=-1)
linspace(jnp.float16(0), 1, 3)
linspace(jnp.bfloat16(0), 1, 3)
linspace(0, 1j, 3)
linspace(jnp.int8(0), jnp.int8(100), 3)
logspace(0, 2, 3)
logspace(0, 2, 3, dtype=int)
logspace(0, 2, 3, base=2)
logspace(0, 2, 3, endpoint=False)
logspace(jnp.zeros(2), 2, 3)
logspace(0, 2, 3, base=jnp.asarray([2., 3., 4.]))
geomspace(1, 100, 3)
geomspace(-1, -100, 3)
geomspace(1, -100, 3)
geomspace(1j, 100j, 3)
geomspace(1, 100, 3, endpoint=False)
geomspace(jnp.ones(2), 100, 3, axis=1)
geomspace(1, 100, 3, dtype=jnp.float16)
eye(2)
eye(2, 3, 1)
eye(2, k=-1, dtype=int)
eye(2, k=5)
eye(2, 2, jnp.asarray(1))
eye(0)
identity(2, bool)
tri(2)
tri(2, 3, 1, int)
tri(3, k=-1, dtype=bool)
tril(jnp.ones((3, 3)), 1)
tril(jnp.ones((2, 3, 3), bool))
triu(jnp.ones((3, 2), int), -1)
triu(jnp.ones((3, 4)) * 1j)
diag(jnp.arange(3))
diag(jnp.arange(3), -1)
diag(jnp.arange(3.0), 2)
diag(jnp.arange(6).reshape(2, 3))
diag(jnp.arange(6).reshape(2, 3), 1)
diag(jnp.arange(6).reshape(2, 3), 9)
diagonal(jnp.arange(12).reshape(3, 4))
diagonal(jnp.arange(12).reshape(3, 4), 2)
diagonal(jnp.arange(12).reshape(3, 4), -1)
diagonal(jnp.arange(12).reshape(2, 3, 2), 0, 0, 2)
diagonal(jnp.arange(12).reshape(2, 3, 2), 1, 2, 1)
diagonal(jnp.arange(6).reshape(2, 3), -5)
diagflat(jnp.arange(4).reshape(2, 2))
diagflat(jnp.arange(2), 1)
meshgrid(jnp.arange(2), jnp.arange(3.0))
meshgrid(jnp.arange(2), jnp.arange(3), jnp.arange(4))
meshgrid(jnp.arange(2), jnp.arange(3), indexing='ij')
meshgrid(jnp.arange(2), jnp.arange(3), sparse=True)
meshgrid()
meshgrid(jnp.arange(2))
indices((2, 3))
indices((2, 3), float)
indices((2, 3), sparse=True)
indices(())
mgrid[0:3]
mgrid[0:3, 0:2]
mgrid[0:1:5j]
mgrid[0:1:5j, 0:2]
mgrid[:3]
mgrid[0:3.0]
ogrid[0:3, 0:2]
ogrid[0:3]
ogrid[0:1:3j, 0:2]
mgrid[jnp.asarray(0):3]
fromfunction(lambda i, j: i + j, (2, 2))
fromfunction(lambda i, j: i + j, (2, 3), dtype=int)
fromfunction(lambda i: 1.0, (2,))
fromfunction(lambda i, j: (i, j), (2, 2))
frombuffer(np.arange(3, dtype='float32').tobytes(), 'float32')
frombuffer(np.arange(3).tobytes(), int)
frombuffer(np.arange(3.).tobytes(), count=2, offset=8)
fromstring('1 2 3', sep=' ')
fromstring('1,2,3', int, 2, sep=',')
from_dlpack(np.arange(3, dtype=np.float32))
copy(1.0)
copy(np.ones(2))
vander(jnp.arange(3.0), 2, increasing=True)
vander(jnp.arange(4))
vander(jnp.arange(2.0), 0)
hamming(4)
hamming(1)
hamming(0)
hanning(5)
hanning(4.0)
bartlett(5)
bartlett(4)
blackman(5)
kaiser(5, 14.0)
kaiser(4, 3)
"""

ERRORS = [
    ("array([[1, 2], [3]])", ValueError, "depth 1"), ("array([1, [2]])", ValueError, "one shape"),
    ("array('a')", TypeError, "str"), ("array(['a'])", TypeError, "'a'"),
    ("array(b'ab')", TypeError, "bytes"),
    ("array(None)", ValueError, "None"), ("array([1, None])", ValueError, "None"),
    ("array({})", TypeError, "dict"), ("array([object()])", TypeError, "object"),
    ("array(np.array([object()]))", TypeError, "object"), ("array(np.array(['a']))", TypeError, "<U1"),
    ("array(np.datetime64('2020-01-01'))", TypeError, "datetime64"), ("array({1, 2})", TypeError, "set"),
    ("array(2**40)", OverflowError, "int32"), ("array([2**40])", OverflowError, "int32"),
    ("array([-1], dtype=jnp.uint32)", OverflowError, "uint32"),
    ("array(300, dtype=jnp.int8)", OverflowError, "int8"), ("int8(300)", OverflowError, "int8"),
    ("array([1j], dtype=jnp.float32)", TypeError, "complex"), ("array(1.0, dtype=str)", TypeError, "<U0"),
    ("zeros(-1)", TypeError, "(-1,)"), ("zeros((2, -1))", TypeError, "(2, -1)"),
    ("zeros(2.0)", TypeError, "2.0"),
    ("zeros(None)", TypeError, "None"), ("zeros(2, str)", TypeError, "<U0"),
    ("full(2, [1, 2])", TypeError, "list"),
    ("full((2, 2), jnp.ones(3))", ValueError, "(2, 2)"),
    ("zeros_like([1, 2])", TypeError, "list"), ("zeros_like(None)", TypeError, "NoneType"),
    ("arange(3, dtype=bool)", TypeError, "bool"), ("arange(None)", TypeError, "None"),
    ("arange(jnp.ones(2))", ValueError, "f32[2]"), ("arange(1j)", ValueError, "1j"),
    ("arange([3])", TypeError, "list"),
    ("arange(np.nan)", ValueError, "nan"), ("linspace(0, 1, -1)", ValueError, "-1"),
    ("linspace(0, 1, 2.5)", TypeError, "2.5"), ("linspace([0], 1, 3)", TypeError, "list"),
    ("eye(-1)", ValueError, "-1"),
    ("eye(2.0)", TypeError, "2.0"), ("eye(2, 2, 1.0)", ValueError, "k is 1.0"),
    ("eye(2, 2, jnp.arange(2))", ValueError, "k is"), ("tri(2, k=0.5)", TypeError, "0.5"),
    ("tril(jnp.ones(3))", ValueError, "f32[3]"), ("tril([[1]])", TypeError, "list"),
    ("diag(1)", ValueError, "i32[]"),
    ("diag(jnp.ones((2, 2, 2)))", ValueError, "f32[2,2,2]"), ("diagonal(jnp.ones(2))", ValueError, "f32[2]"),
    ("diagonal(jnp.ones((2, 2)), 0, 0, 2)", ValueError, "axis 2"),
    ("meshgrid(jnp.arange(2), indexing='x')", ValueError, "'x'"), ("meshgrid(1)", ValueError, "i32[]"),
    ("meshgrid(jnp.arange(2), copy=False)", ValueError, "copy"), ("mgrid[3]", TypeError, "mgrid"),
    ("copy([1])", TypeError, "list"), ("vander(jnp.ones((2, 2)))", ValueError, "f32[2,2]"),
    ("vander(jnp.ones(2), -1)", ValueError, "-1"), ("hamming(-1)", TypeError, "(-1,)")]


def call(expression, library, numpy):
    return eval(f"jnp.{expression}", {"jnp": numpy, "jax": library, "np": np})


@pytest.mark.parametrize("expression", SAME.strip().splitlines())
def test_the_same(expression):
    mine = call(expression, pullback, pnp)
    assert all(isinstance(x, Array) for x in pullback.tree_util.tree_leaves(mine))
    close(mine, call(expression, jax, jnp), expression)


@pytest.mark.parametrize("expression, error, part", ERRORS)
def test_errors(expression, error, part):
    with pytest.raises((TypeError, ValueError, OverflowError)):
        call(expression, jax, jnp)
    with pytest.raises(error) as caught:
        call(expression, pullback, pnp)
    assert part in str(caught.value), str(caught.value)


@pytest.mark.parametrize("expression, error", [
    ("arange(0, 3, 0)", ZeroDivisionError), ("arange(0, np.inf)", ValueError), ("array([1], order='F')", ValueError),
    ("diagonal(jnp.ones((2, 2)), 0, 1, 1)", ValueError), ("array(range(2**40, 2**40 + 2))", OverflowError),
    ("full(2, 1j, float)", TypeError), ("array([jnp.ones(2), jnp.ones(3)])", ValueError)])
def test_errors_of_our_own_class(expression, error):
    with pytest.raises(error, match="fix"):
        call(expression, pullback, pnp)


@pytest.mark.parametrize("expression", [
    "array(np.ones(2), dtype='float64')", "array([1, 2], dtype=jnp.float64)", "float64(1)",
    "zeros(2, 'float64')",
    "arange(3, dtype='int64')", "linspace(0, 1, 3, dtype='float64')", "ones(2).astype('float64')",
    "full(2, 1, 'int64')"])
def test_64_bits_are_refused_with_a_warning(expression):
    with pytest.warns(UserWarning, match="Explicitly requested dtype"):
        result = call(expression, pullback, pnp)
    assert result.dtype.itemsize == 4
    with pullback.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert call(expression, pullback, pnp).dtype.itemsize == 8


def test_lists_of_traced_values():
    def build(numpy):
        return lambda x: numpy.array([[x[0] ** 2 + x[1], x[0] * x[1]], [1.0, numpy.sin(x[1])], [2, x[0]]])

    x = np.float32([2, 3])
    mine, real = pullback.jacobian(build(pnp))(pnp.asarray(x)), jax.jacobian(build(jnp))(x)
    close(mine, real, "jacobian")
    close(pullback.jit(build(pnp))(pnp.asarray(x)), build(jnp)(x), "jit")
    close(pullback.vmap(build(pnp))(pnp.ones((4, 2))), jax.vmap(build(jnp))(jnp.ones((4, 2))), "vmap")
    rows = pullback.jit(lambda x: pnp.array([x, [4, 5], np.zeros(2)]))(pnp.asarray(x))
    assert np.asarray(rows).tolist() == [[2, 3], [4, 5], [0, 0]]


def test_weak_traced_values_make_strong_arrays():
    mine, real = (library.jit(lambda x, numpy=numpy: numpy.array([x, 2.0]))(1.5)
                  for library, numpy in ((pullback, pnp), (jax, jnp)))
    close(mine, real, "weak")


def test_an_array_is_copied_unless_asked_otherwise():
    host = np.zeros(2, np.float32)
    x = pnp.asarray(host)
    host[0] = 1
    assert float(x[0]) == 0
    assert pnp.asarray(x) is x and pnp.array(x) is not x and pnp.array(x, copy=False) is x


def test_ranges_need_known_numbers():
    with pytest.raises(pullback.errors.ConcretizationTypeError, match=r"arange[\s\S]*stop[\s\S]*static"):
        pullback.jit(pnp.arange)(3)
    close(pullback.jit(lambda x: pnp.linspace(x, 1, 3))(0.0), jnp.linspace(0.0, 1, 3), "linspace")
    close(pullback.jit(lambda k: pnp.eye(3, k=k))(1), jnp.eye(3, k=1), "eye")


def test_derivatives():
    x = np.float32([0.5, 1.5, -2])
    for name, function in {"vander": lambda numpy: lambda x: numpy.vander(x),
                           "diag": lambda numpy: lambda x: (
            numpy.diag(numpy.outer(x, x)) * numpy.diag(x, 1)[:3, 0]).sum(),
            "tril": lambda numpy: lambda x: numpy.tril(numpy.outer(x, x)),
            "linspace": lambda numpy: lambda x: numpy.linspace(x, 2 * x, 4),
            "diagonal": lambda numpy: lambda x: numpy.diagonal(numpy.outer(x, x), 1)}.items():
        close(pullback.jacobian(function(pnp))(pnp.asarray(x)), jax.jacobian(function(jnp))(x), name)


def test_powers_of_zero_in_a_vandermonde_matrix_have_derivatives():
    assert np.asarray(pullback.jacobian(pnp.vander)(pnp.zeros(2)))[0].tolist() == [[1, 0], [0, 0]]


def test_casts_stop_at_the_end_of_the_range():
    x = np.float32([-1.5, 300, np.nan])
    assert np.asarray(pnp.array(x, pnp.int8)).tolist() == [-1, 127, 0]
    assert np.asarray(pnp.array(x).astype(pnp.int8)).tolist() == [-1, 127, 0]


def test_functions_of_positions_take_more_arguments():
    assert np.asarray(pnp.fromfunction(lambda i, k: i * k, 3, k=2)).tolist() == [0, 2, 4]


def test_files():
    for x in (np.arange(3, dtype=np.float32), np.array([1, 2.5], jnp.bfloat16)):
        file = io.BytesIO()
        pnp.save(file, pnp.asarray(x))
        file.seek(0)
        loaded = pnp.load(file)
        assert loaded.dtype == x.dtype and np.asarray(loaded).tolist() == x.tolist()
    file = io.BytesIO()
    pnp.savez(file, pnp.ones(2), name=pnp.zeros(3))
    file.seek(0)
    loaded = pnp.load(file)
    assert loaded["arr_0"].tolist() == [1, 1] and loaded["name"].tolist() == [0, 0, 0]


def test_iterables():
    assert np.asarray(pnp.fromiter((i * i for i in range(5)), int, count=3)).tolist() == [0, 1, 4]


@pytest.mark.parametrize("module", ["creation", "ranges", "elementwise", "floats", "logic"])
def test_examples_in_docstrings(module):
    loaded = importlib.import_module(f"pullback.numpy.{module}")
    failed, attempted = doctest.testmod(loaded, extraglobs={"jnp": pnp, "jax": pullback})
    assert attempted and not failed


# -- dtypes and constants -----------------------------------------------------------------------------

@pytest.mark.parametrize("expression", """
can_cast(jnp.int32, jnp.float32)
can_cast('i4', 'f8')
can_cast(jnp.float32, jnp.int32, 'unsafe')
promote_types('int8', 'float32')
promote_types(int, jnp.float32)
promote_types(jnp.bfloat16, jnp.float16)
result_type(1, 2.0)
result_type(jnp.ones(2, jnp.int8), 1)
result_type(jnp.int8, jnp.uint8)
issubdtype(jnp.float32, jnp.floating)
issubdtype(jnp.bfloat16, jnp.inexact)
issubdtype(jnp.int8, jnp.signedinteger)
isdtype(jnp.float32, 'real floating')
isdtype(jnp.float32, ('integral', 'bool'))
isdtype(jnp.float32, jnp.float32)
isdtype(jnp.bfloat16, 'numeric')
isdtype('int8', 'signed integer')
finfo(jnp.float32).eps
finfo('float16').max
iinfo(jnp.int8).max
iinfo(int).bits
dtype('float32')
dtype(jnp.bfloat16)
zeros(1, jnp.int4).dtype
float32 == np.float32
float32.dtype
single == jnp.float32
int_ == jnp.int64
pi
e
inf
newaxis
euler_gamma
iterable([1])
iterable(jnp.ones(2))
iterable(jnp.ones(()))
array_str(jnp.ones(2))
get_printoptions()['precision']
generic
object_
""".strip().splitlines())
def test_dtypes_and_constants(expression):
    assert call(expression, pullback, pnp) == call(expression, jax, jnp)


def test_names_of_dtypes():
    assert isinstance(pnp.ones(2), pnp.ndarray) and not isinstance(np.ones(2), pnp.ndarray)
    for name in dir(jnp):
        if hasattr(getattr(jnp, name), "dtype") and isinstance(getattr(jnp, name), type(jnp.float32)):
            assert getattr(pnp, name).dtype == getattr(jnp, name).dtype, name
    assert repr(pnp.float32) == "<class 'pullback.numpy.float32'>"
    with pytest.raises(ValueError, match="'x'"):
        pnp.isdtype(pnp.float32, "x")


def test_text():
    assert pnp.array_repr(pnp.ones(2)) == "Array([1., 1.], dtype=float32)"
    with pnp.printoptions(precision=2):
        assert str(pnp.asarray([1 / 3])) == "[0.33]"
    shown = []
    pullback.jit(lambda x: shown.append(pnp.array_repr(x)))(1.0)
    assert "Tracer<f32[]>" in shown[0]


@pytest.mark.parametrize("engine", [pullback, jax], ids=lambda e: e.__name__)
def test_copy_order_and_ndmin_by_position(engine):
    if engine is jax and jax.__version_info__ < (0, 11):
        pytest.skip("jax warns from 0.11 on")
    with pytest.warns(DeprecationWarning, match="keyword"):
        assert engine.numpy.array([1, 2], None, True, "K", 2).shape == (1, 2)
    with pytest.raises(TypeError, match="at most 5"):
        engine.numpy.array([1, 2], None, True, "K", 2, 3)

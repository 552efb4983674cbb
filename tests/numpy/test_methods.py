"""Operators and methods of arrays against real jax."""

import copy
import enum
import operator
import pickle
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pullback
import pullback.numpy as pnp
from pullback.core.array import Array, ConcreteArray
from pullback.core.trace import Tracer
from tests.numpy.against_jax import close, ours, theirs, weak

X = np.float32([[1.5, -2, 0.25], [3, 0.5, -1]])
COUNT = np.int32([[7, -3, 2], [1, 0, 5]])
MASK = np.array([[True, False, True], [False, False, True]])
COMPLEX = (X + 1j * X[::-1]).astype(np.complex64)

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod,
              operator.pow, divmod]
COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
BITWISE = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]


class Number(enum.IntEnum):
    TWO = 2


class Convertible:
    def __init__(self, library):
        self.library = library

    def __jax_array__(self):
        return self.library.asarray([1.0, 2.0, 3.0])


def both(function, *args):
    """`function` on arrays of both libraries gives the same results."""
    close(function(*ours(args)), function(*theirs(args)), (function, args), 3e-5)


@pytest.mark.parametrize("operation", [*ARITHMETIC, *COMPARISONS, *BITWISE], ids=lambda o: o.__name__)
def test_operators(operation):
    if operation not in BITWISE:
        both(operation, np.abs(X), X)
        for other in (2, 2.5, np.float32(2), np.float64(0.5), np.int64(3)):
            both(operation, np.abs(X), other)
            both(operation, other, np.abs(X))
    if operation is not operator.pow:
        both(operation, COUNT, COUNT[:, ::-1].copy() % 4 + 1)
        both(operation, 5, np.abs(COUNT) + 1)
    both(operation, COUNT, 2)
    both(operation, COUNT, weak([1, 2, 3]))
    if operation in COMPARISONS or operation in BITWISE[:3]:
        both(operation, MASK, True)
        both(operation, MASK, MASK[:1])


@pytest.mark.parametrize("operation", [operator.neg, operator.pos, abs, operator.invert],
                         ids=lambda o: o.__name__)
def test_operators_of_one(operation):
    both(operation, COUNT)
    if operation is not operator.invert:
        both(operation, X)
        both(operation, COMPLEX)
    if operation is not operator.neg:
        both(operation, MASK)


@pytest.mark.parametrize("operation", [*ARITHMETIC, *COMPARISONS, operator.matmul], ids=lambda o: o.__name__)
def test_numpy_arrays_on_the_left_give_way(operation):
    result = operation(np.abs(X), ours(np.abs(X).T.copy() if operation is operator.matmul else np.abs(X)))
    assert all(isinstance(x, Array) for x in (result if isinstance(result, tuple) else [result]))
    assert all(x.dtype in (np.float32, np.bool_) for x in (result if isinstance(result, tuple) else [result]))
    if operation is not operator.matmul:
        result = operation(np.float64(2), ours(np.abs(X)))
        assert all(isinstance(x, Array) for x in (result if isinstance(result, tuple) else [result]))


def test_numpy_functions_take_arrays():
    assert isinstance(np.sin(ours(X)), np.ndarray) and isinstance(np.add(X, ours(X)), np.ndarray)
    total = np.zeros((2, 3))
    total += ours(X)
    assert isinstance(total, Array) and total.tolist() == X.tolist()


def test_matmul():
    both(operator.matmul, X, X.T.copy())
    both(operator.matmul, X[0], X[0])
    with pytest.raises(TypeError, match="matmul"):
        ours(X) @ ours(X)


def test_enumerations_and_convertible_objects():
    both(lambda x: x * Number.TWO, X)
    both(lambda x: x + Number.TWO, COUNT)
    close(ours(X) + Convertible(pnp), theirs(X) + Convertible(jnp), "__jax_array__")
    close(Convertible(pnp) * ours(X), Convertible(jnp) * theirs(X), "__jax_array__")


def test_other_objects_are_left_to_themselves():
    class Other:
        def __radd__(self, other):
            return "radd"

        def __eq__(self, other):
            return "eq"

        def __gt__(self, other):
            return "gt"

    x = ours(X)
    assert x + Other() == "radd" and (x == Other()) == "eq" and (x < Other()) == "gt"
    assert (x == None) is False and (x != None) is True and (x == "a") is False  # noqa: E711
    for other in (None, "a", {}):
        with pytest.raises(TypeError):
            x + other
        with pytest.raises(TypeError):
            operator.lt(x, other)


@pytest.mark.parametrize("call, name", [
    (lambda x: x + [1, 2, 3], "add"), (lambda x: [1, 2, 3] + x, "add"), (lambda x: x == [1, 2, 3], "equal"),
    (lambda x: x * (1, 2, 3), "multiply"), (lambda x: [1, 2] < x, "greater")])
def test_lists_are_refused(call, name):
    with pytest.raises(TypeError, match=f"^{name}: got a (list|tuple)"):
        call(ours(X))


def test_shapes_that_do_not_broadcast():
    for call in (lambda x: x + pnp.ones(4), lambda x: np.ones(4) - x, lambda x: x > pnp.ones(4)):
        with pytest.raises(TypeError, match=r"(add|subtract|greater): shapes .*\(2, 3\)"):
            call(ours(X))


def test_a_known_integer_exponent():
    for exponent in (0, 1, 2, 3, -1, np.int32(2)):
        both(lambda x, n=exponent: x ** n, X)
    both(lambda x: x ** 2, COUNT)
    both(lambda x: x ** 2, MASK)
    both(lambda x: 2 ** x, X)
    both(lambda x: x ** 2.0, COUNT)
    with pytest.raises(TypeError, match="negative"):
        ours(COUNT) ** -1


def test_rounding():
    both(round, X)
    both(lambda x: round(x, 1), X)
    both(lambda x: round(x, 0), X)


def test_arrays_contain_their_elements():
    assert 3.0 in ours(X) and 4.0 not in ours(X)


# -- methods ------------------------------------------------------------------------------------------

METHODS = {
    "all": [(), (0,)], "any": [(), (1,)], "argmax": [(), (0,)], "argmin": [(), (1,)],
    "clip": [(0, 1), (None, 2)],
    "conj": [()], "conjugate": [()], "copy": [()], "cumprod": [(), (0,)], "cumsum": [(), (1,)],
    "diagonal": [(), (1,)], "dot": [(X.T.copy(),)], "flatten": [()], "max": [(), (0,)], "mean": [(), (1,)],
    "min": [(), (0,)], "prod": [(), (1,)], "ptp": [(), (0,)], "ravel": [()], "repeat": [(2,), (2, 1)],
    "reshape": [(3, 2), ((3, 2),), (-1,), (6, 1, 1)], "round": [(), (1,)], "squeeze": [()], "std": [(), (0,)],
    "sum": [(), (0,), ((0, 1),)], "swapaxes": [(0, 1)], "take": [(np.int32([0, 2]), 1)], "trace": [(), (1,)],
    "transpose": [(), (1, 0), ((1, 0),), (None,)], "var": [(), (1,)], "sort": [(), (0,)], "argsort": [()],
    "nonzero": [()], "astype": [(np.int32,), (float,), (bool,), (jnp.bfloat16,)], "compress": [(MASK[0], 1)],
    "searchsorted": [], "argpartition": [], "choose": []}


@pytest.mark.parametrize("name", sorted(METHODS))
def test_methods(name):
    for args in METHODS[name]:
        both(lambda x, *rest, name=name: getattr(x, name)(*rest), X, *args)
    assert callable(getattr(Array, name))


@pytest.mark.parametrize("name", sorted(set(METHODS) - {"nonzero"}))
def test_methods_of_traced_values(name):
    x, stacked = ours(X), ours(np.stack([X, X]))
    for args in METHODS[name]:
        given = [ours(a) if isinstance(a, np.ndarray) and a.dtype == np.float32 else a for a in args]

        def call(x, name=name, given=given):
            return getattr(x, name)(*given)
        expected = np.asarray(call(x))
        results = pullback.jit(call)(x), pullback.vmap(call)(stacked)[1], pullback.jvp(call, (x,), (x,))[0], \
            pullback.linearize(call, x)[0], pullback.jit(pullback.vmap(call))(stacked)[0]
        for result in results:
            np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-6)


def test_no_slot_of_a_tracer_hides_a_method():
    def below(cls):
        return {cls}.union(*map(below, cls.__subclasses__()))
    for cls in below(Tracer):
        slots = {name for c in cls.__mro__ for name in c.__dict__.get("__slots__", ())}
        assert not [name for name in slots if callable(getattr(Array, name, None))], cls


def test_methods_with_other_arguments():
    both(lambda x: x.sum(axis=0, keepdims=True), X)
    both(lambda x: x.std(ddof=1), X)
    both(lambda x: x.max(initial=2.0), X)
    both(lambda x, m: x.sum(where=m), X, MASK)
    both(lambda x: x.reshape(3, -1, order="F"), X)
    both(lambda x: x.clip(min=0), X)
    both(lambda x, v: x.searchsorted(v), np.float32([1, 2, 3]), np.float32([0, 1.5, 3]))
    both(lambda x, a, b: x.choose([a, b]), np.int32([0, 1, 1]), COUNT[0], COUNT[1])
    both(lambda x: x.argsort(descending=True), X)
    assert sorted(np.asarray(ours(X[0]).argpartition(1)).tolist()) == [0, 1, 2]


@pytest.mark.parametrize("name", ["T", "mT", "real", "imag", "shape", "ndim", "size", "nbytes", "itemsize",
                                  "dtype"])
@pytest.mark.parametrize("x", [X, COMPLEX, COUNT], ids=["f32", "c64", "i32"])
def test_properties(name, x):
    both(lambda x: getattr(x, name), x)


def test_indexing():
    both(lambda x: x[0], X)
    both(lambda x: x[:, 1:], X)
    both(lambda x: x[..., None, 0], X)
    both(lambda x: x.at[0, 1].set(5), X)
    both(lambda x: x.at[1].add(1), X)
    both(lambda x: [row.sum() for row in x], X)
    both(lambda x: list(x), X)
    both(lambda x: list(x[0]), X)


def test_rows_are_of_the_kind_of_the_array():
    keys = list(pullback.random.split(pullback.random.key(0), 3))
    assert [key.shape for key in keys] == [()] * 3 and keys[0].dtype == pullback.random.key(0).dtype
    assert pullback.random.key_data(keys[2]).tolist() == pullback.random.key_data(
        pullback.random.split(pullback.random.key(0), 3))[2].tolist()
    weak = pullback.jit(lambda: pullback.lax.broadcast(2.0, (2,)))()
    assert [x.weak_type for x in weak] == [weak.weak_type] * 2
    placed = pullback.device_put(X, pullback.devices()[0])
    assert [row.tolist() for row in placed] == X.tolist()


@pytest.mark.parametrize("source, target", [
    (X, "int32"), (X, "uint32"), (X, "int8"), (X, "float16"), (COUNT, "float32"),
    (np.int8([[1, 2, -3, 4]]), "int32"),
    (np.int8([[1, 2, -3, 4]]), "int16"), (MASK, "uint8"), (MASK, "int8"), (np.uint8([[1, 0]]), "bool"),
    (COMPLEX, "float32"), (COMPLEX, "int32"), (np.float32([[1, 2, 3, 4]]), "complex64"), (X[0, 0], "int32"),
    (np.float16([1, 2]), jnp.bfloat16)])
def test_views(source, target):
    both(lambda x: x.view(target), source)


def test_view_errors():
    with pytest.raises(ValueError, match=r"view.*f32\[\]"):
        pnp.asarray(1.0).view("int8")
    with pytest.raises(ValueError, match=r"view.*i8\[3\].*multiple of 4"):
        pnp.ones(3, pnp.int8).view("int32")
    with pytest.raises(ValueError, match=r"view.*f32\[3\]"):
        pnp.ones(3).view("complex64")


def test_conversion_to_python():
    x = ours(X)
    assert x.item(0, 1) == -2 and x.tolist() == X.tolist() and x.tobytes() == X.tobytes()
    assert float(x[0, 0]) == 1.5 and int(ours(COUNT)[0, 0]) == 7 and f"{x[0, 0]:.2f}" == "1.50"
    assert x.__array_namespace__() is pnp


def test_methods_together_under_transformations():
    def compute(x):
        product = (x.T @ x).sum(axis=0) * x.mean() - 1
        return product.clip(0).reshape(-1, 1)[0], x.at[0].set(0).ravel(), round(x, 1)

    stacked = np.stack([X, 2 * X])
    close(pullback.jit(compute)(ours(X)), jax.jit(compute)(theirs(X)), "jit", 3e-5)
    close(pullback.vmap(compute)(ours(stacked)), jax.vmap(compute)(theirs(stacked)), "vmap", 3e-5)


def test_no_method_is_missing():
    """Every public method and operator of a traced array of jax is one of ours, but for these."""
    absent = {"addressable_data", "addressable_shards", "byteswap", "dimension_as_value", "flat", "format",
              "full_lower", "get_const", "get_referent", "global_shards", "memory_space", "parent",
              "to_concrete_value",
              "to_device", "traceback", "val", "item", "tolist", "device", "devices", "sharding", "committed",
              "delete", "is_deleted", "is_ready", "is_fully_addressable", "is_fully_replicated",
              "copy_to_host_async", "on_device_size_in_bytes",
              "unsafe_buffer_pointer"}
    names = []
    jax.jit(lambda x: names.extend(n for n in dir(x) if not n.startswith("_")))(1.0)
    assert {name for name in names if not hasattr(Array, name) and "qdd" not in name} <= absent


def test_results_are_arrays_even_of_numbers():
    for result in (pnp.add(1, 2), pnp.positive(1), pnp.real(1.5), pnp.floor(3), pnp.clip(1, 0, 2),
                   pnp.where(True, 1, 2),
                   pnp.conj(2), pnp.abs(True), pnp.round(2), pnp.nan_to_num(1), pnp.select([True], [1])):
        assert isinstance(result, ConcreteArray) and result.shape == ()


# -- what arrays have beside numbers --------------------------------------------------------------------


def test_bytes_and_copies():
    for dtype in ("float32", "int16", "bool", "complex64", "bfloat16", "int4"):
        x = np.asarray(jnp.arange(6).reshape(2, 3).astype(dtype))
        found, expected = pnp.asarray(x).byteswap(), jnp.asarray(x).byteswap()
        assert found.dtype == expected.dtype and found.shape == expected.shape
        assert np.asarray(found).tobytes() == np.asarray(expected).tobytes()
    x = pnp.asarray(X)
    assert (x.clone() == x).all() and x.clone() is not x
    assert (pullback.jit(lambda x: x.byteswap().byteswap())(x) == x).all()
    if sys.version_info >= (3, 12):
        assert bytes(pnp.array([1, 2], "uint8")) == b"\x01\x02" and memoryview(x).tolist() == X.tolist()
    with pytest.raises(AttributeError, match="use x.ravel"):
        x.flat  # noqa: B018


def test_places():
    x, y = pnp.asarray(X), jnp.asarray(X)
    assert x.platform() == y.platform() and x.on_device_size_in_bytes() == y.on_device_size_in_bytes()
    assert x.addressable_shards[0].index == y.addressable_shards[0].index and x.addressable_data(0) is x
    assert x.global_shards[0].replica_id == 0 and "Shard(" in repr(x.addressable_shards[0])
    moved = x.to_device(pullback.devices()[0])
    assert moved.committed and (moved == x).all() and moved.sharding.num_devices == 1
    for name in set(dir(jax.Array)) - {"_multi_slice", "_split", "__weakref__", "item"}:
        assert hasattr(x, name) or name == "flat", name


def test_saved_and_copied():
    for x in (pnp.asarray(X), pnp.asarray(COUNT, "int4"), pnp.asarray(X, "bfloat16"), pullback.random.key(1),
              pnp.asarray(1.5), pnp.zeros((0, 2))):
        for again in (pickle.loads(pickle.dumps(x)), copy.copy(x), copy.deepcopy({"x": x})["x"]):
            assert again.dtype == x.dtype and again.shape == x.shape and again.weak_type == x.weak_type
            data = pullback.random.key_data if x.aval.is_key else np.asarray
            assert np.array_equal(data(again), data(x))


def test_printing_options():
    x, y = pnp.asarray(X), jnp.asarray(X)
    for options in ({}, {"precision": 1, "linewidth": 40}, {"edgeitems": 1, "threshold": 3}, {"linewidth": 20}):
        with pnp.printoptions(**options):
            assert str(x) == str(y) and repr(x) == repr(y)
            assert repr(pnp.arange(40.0)) == repr(jnp.arange(40.0))
    assert pnp.get_printoptions()["precision"] == 8
    assert repr(pnp.arange(2000)) == repr(jnp.arange(2000)) and f"{pnp.float32(1.5):.3f}" == "1.500"


def test_information_about_the_namespace():
    ours, theirs = pnp.asarray(X).__array_namespace__().__array_namespace_info__(), jnp.__array_namespace_info__()
    assert ours.capabilities() == theirs.capabilities() and ours.default_dtypes() == theirs.default_dtypes()
    for kind in (None, "bool", "integral", "numeric", ("bool", "real floating")):
        assert ours.dtypes(kind=kind) == theirs.dtypes(kind=kind)
    assert ours.default_device() is None and ours.devices() == pullback.devices()
    with pytest.raises(ValueError, match="one of"):
        ours.dtypes(kind="other")

"""pullback.numpy's products against real jax: values, dtypes, weak types, derivatives, errors."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import pullback
from pullback.numpy import contract, einstein
from tests.numpy.against_jax import close, ours, same

rng = np.random.default_rng(0)


def draw(*shape, dtype=np.float32):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.integers(0, 2, shape).astype(dtype)
    if kind in "iu":
        return rng.integers(0, 50, shape).astype(dtype)
    values = rng.normal(size=shape)
    return np.asarray(values + 1j * rng.normal(size=shape) if kind == "c" else values).astype(dtype)


def fails(call, error, *parts):
    with pytest.raises(error) as caught:
        call()
    text = str(caught.value)
    for part in (*parts, "\n  fix: "):
        assert part in text, text
    return text


def a(*shape, dtype=np.float32):
    return ours(draw(*shape, dtype=dtype))


# -- products of vectors and matrices -----------------------------------------------------------------

MATMUL = [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
          ((2, 3), (5, 3, 4)),
          ((5, 2, 3), (5, 3, 4)), ((5, 2, 3), (3,)), ((3,), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)),
          ((5, 2, 3), (1, 3, 4)),
          ((6, 1, 2, 3), (5, 3, 4)), ((6, 1, 2, 3), (1, 5, 3, 4)), ((6, 5, 2, 3), (5, 3, 4)),
          ((1, 1, 2, 3), (1, 3, 4)),
          ((0, 3), (3, 2)), ((2, 0), (0, 3)), ((0, 2, 3), (3, 4)), ((2, 1, 2, 3), (2, 4, 3, 2))]


@pytest.mark.parametrize("xs, ys", MATMUL)
def test_matmul(xs, ys):
    same(contract.matmul, "matmul", draw(*xs), draw(*ys), grad=True)


@pytest.mark.parametrize("name, xs, ys, kwargs", [
    *[("dot", xs, ys, {}) for xs, ys in [
        ((), ()), ((), (2, 3)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (2, 3, 4)), ((5, 2, 3), (6, 3, 4)),
        ((2, 3), ())]],
    *[("inner", xs, ys, {}) for xs, ys in [((), (3,)), ((3,), (3,)), ((2, 3), (4, 3)), ((5, 2, 3), (3,))]],
    *[("vdot", xs, ys, {}) for xs, ys in [((3,), (3,)), ((2, 3), (3, 2)), ((), ()), ((6,), (2, 3))]],
    *[("outer", xs, ys, {}) for xs, ys in [((2,), (3,)), ((2, 2), (3, 1)), ((), (3,)), ((0,), (3,))]],
    *[("kron", xs, ys, {}) for xs, ys in [((2,), (3,)), ((2, 3), (4, 2)), ((2, 3), (4,)), ((2,), (3, 4)),
                                          ((), (2,)),
                                          ((2, 1, 3), (2, 2))]],
    *[("vecdot", xs, ys, kwargs) for xs, ys, kwargs in [
        ((3,), (3,), {}), ((4, 3), (3,), {}), ((5, 1, 3), (4, 3), {}), ((3, 4), (3, 4), dict(axis=0)),
        ((3, 1), (3, 4), dict(axis=0)), ((3, 2, 4), (3, 2, 4), dict(axis=1))]],
    *[("matvec", xs, ys, {}) for xs, ys in [((2, 3), (3,)), ((2, 3), (4, 3)), ((5, 2, 3), (3,)),
                                            ((5, 1, 2, 3), (4, 3))]],
    *[("vecmat", xs, ys, {}) for xs, ys in [((3,), (3, 2)), ((4, 3), (3, 2)), ((3,), (5, 3, 2)),
                                            ((4, 3), (5, 1, 3, 2))]],
    *[("tensordot", xs, ys, dict(axes=axes)) for xs, ys, axes in [
        ((2, 3, 4), (3, 4, 5), 2), ((2, 3), (3, 4), 1), ((2,), (3,), 0),
        ((2, 3, 4), (4, 3, 5), ((1, 2), (1, 0))),
        ((2, 3, 4), (3, 2), (1, 0)), ((2, 3), (3, 2), ((-1,), (-2,))), ((2, 3), (2, 3), [[0, 1], [0, 1]]),
        ((2, 3), (3, 2), ((), ()))]],
    *[("cross", xs, ys, kwargs) for xs, ys, kwargs in [
        ((3,), (3,), {}), ((2,), (2,), {}), ((2,), (3,), {}), ((3,), (2,), {}), ((4, 3), (3,), {}),
        ((4, 3), (4, 2), {}),
        ((5, 1, 3), (4, 3), {}), ((2, 4), (2, 4), dict(axis=0)), ((3, 4), (3, 4), dict(axisa=0, axisb=0)),
        ((3, 4), (4, 3), dict(axisa=0, axisc=0)), ((5, 1, 2), (4, 2), {})]],
])
@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_products(name, xs, ys, kwargs, dtype):
    same(getattr(contract, name), name, draw(*xs, dtype=dtype), draw(*ys, dtype=dtype), grad=True, **kwargs)


DTYPES = ["bool", "int8", "int32", "uint8", "bfloat16", "float16", "float32", "complex64"]


@pytest.mark.parametrize("x", DTYPES)
@pytest.mark.parametrize("y", DTYPES)
def test_dtypes_meet(x, y):
    xs, ys = draw(2, 3, dtype=jnp.dtype(x)), draw(3, 2, dtype=jnp.dtype(y))
    same(contract.matmul, "matmul", xs, ys, traced=False)
    same(contract.outer, "outer", xs, ys, traced=False)
    same(lambda a, b: einstein.einsum("ij,jk->k", a, b), lambda a, b: jnp.einsum("ij,jk->k", a, b), xs, ys,
         traced=False)
    if "bool" not in (x, y):
        same(contract.kron, "kron", xs, ys, traced=False)


@pytest.mark.parametrize("name", ["dot", "inner", "outer", "vdot", "kron"])
def test_scalars_are_weak(name):
    for args in [(2.0, 3.0), (2, 3), (2, 3.0), (draw(1, dtype=np.int32), 2),
                 (2.0, draw(1, dtype=jnp.bfloat16)), (2.0, draw(1))]:
        same(getattr(contract, name), name, *args)


@pytest.mark.parametrize("x, wanted", [
    ("int8", "int32"), ("int8", "float32"), ("bool", "int32"), ("bfloat16", "float32"),
    ("float32", "bfloat16"),
    ("float32", "complex64"), ("float16", "int32"), ("float32", "float32")])
@pytest.mark.parametrize("name", ["matmul", "dot", "vdot", "inner", "tensordot", "vecdot"])
def test_preferred_element_type(name, x, wanted):
    xs = draw(3, dtype=jnp.dtype(x))
    kwargs = dict(axes=1) if name == "tensordot" else {}
    same(getattr(contract, name), name, xs, xs, preferred_element_type=wanted, **kwargs)


def test_preferred_element_type_of_scalars_and_without_a_sum():
    x = np.int8(100)
    same(contract.dot, "dot", x, x, preferred_element_type="int32")
    same(contract.dot, "dot", 2.0, 3.0, preferred_element_type="float32")
    wide = np.full(2, 100, np.int8)
    same(lambda x: einstein.einsum("i,i->i", x, x, preferred_element_type="int32"),
         lambda x: jnp.einsum("i,i->i", x, x, preferred_element_type="int32"), wide)


def test_a_narrow_preferred_element_type_is_refused():
    fails(lambda: contract.matmul(a(2, 2, dtype=np.int32), a(2, 2, dtype=np.int32),
                                  preferred_element_type="int8"),
          TypeError, "matmul: preferred_element_type i8 is narrower")


@pytest.mark.parametrize("precision", ["highest", "default", ("high", "highest"), jax.lax.Precision.HIGHEST])
def test_precision(precision):
    mine = pullback.lax.Precision.HIGHEST if isinstance(precision, jax.lax.Precision) else precision
    x, y = draw(2, 3), draw(3, 4)
    close(contract.matmul(ours(x), ours(y), precision=mine), jnp.matmul(x, y, precision=precision), precision)
    program = str(pullback.make_jaxpr(lambda x, y: contract.matmul(x, y, precision=mine))(x, y))
    assert ("HIGHEST" in program) == ("highest" in str(precision).lower()), program


def test_an_unknown_precision_is_refused():
    fails(lambda: contract.matmul(a(2, 2), a(2, 2), precision="exact"), ValueError, "precision is 'exact'")


def test_a_matrix_product_is_one_operation():
    program = pullback.make_jaxpr(contract.matmul)(a(5, 2, 3), a(3, 4))
    assert [e.primitive.name for e in program.eqns] == ["dot_general"]


def test_broadcast_batches_are_not_repeated():
    program = pullback.make_jaxpr(contract.matmul)(a(6, 1, 2, 3), a(5, 3, 4))
    names = [e.primitive.name for e in program.eqns]
    assert "broadcast_in_dim" not in names and names.count("dot_general") == 1


def test_second_derivative_and_vmap_of_matmul():
    x, y = draw(4, 2, 3), draw(4, 3, 2)

    def quartic(library, product):
        def f(x, y):
            out = product(x, y)
            return library.sum(out * out)
        return f

    real = jax.vmap(jax.hessian(quartic(jnp, jnp.matmul)))(x, y)
    f = lambda x, y: pullback.numpy.reductions.sum(contract.matmul(x, y) ** 2)  # noqa: E731
    close(pullback.vmap(pullback.hessian(f))(ours(x), ours(y)), real, "hessian", 1e-4)


@pytest.mark.parametrize("call, error, parts", [
    (lambda: contract.matmul(a(3, 4), a(5, 2)), TypeError,
     ["matmul: contracted sizes differ: lhs f32[3,4] axis 1 has size 4, rhs f32[5,2] axis 0 has size 5"]),
    (lambda: contract.matmul(a(2, 3, 4), a(3, 4, 2)), ValueError,
     ["matmul: batch axes do not broadcast: lhs f32[2,3,4] axis 0 has size 2, rhs f32[3,4,2] axis 0 has size 3"]),
    (lambda: contract.matmul(2.0, a(3)), ValueError,
     ["matmul: lhs is f32[], a scalar; at least 1 axis is required"]),
    (lambda: contract.matmul(a(3), 2.0), ValueError, ["matmul: rhs is f32[], a scalar"]),
    (lambda: contract.matmul([[1.0]], a(1)), TypeError, ["matmul: got a list"]),
    (lambda: contract.dot(a(2, 3), a(2, 3)), TypeError, ["dot: contracted sizes differ", "axis 1 has size 3",
                                                         "axis 0 has"]),
    (lambda: contract.inner(a(2, 3), a(3, 2)), TypeError, ["inner: contracted sizes differ",
                                                           "last axes of both"]),
    (lambda: contract.vdot(a(2, 3), a(5)), TypeError, ["vdot: contracted sizes differ: lhs f32[6]"]),
    (lambda: contract.vecdot(a(3, 4), a(2, 4)), ValueError, ["vecdot: batch axes do not broadcast"]),
    (lambda: contract.vecdot(a(3, 4), a(3, 5)), TypeError, ["vecdot: contracted sizes differ"]),
    (lambda: contract.vecdot(a(3), 1.0), ValueError, ["vecdot: rhs is f32[], a scalar"]),
    (lambda: contract.vecdot(a(3), a(3), axis=1), ValueError, ["axis 1 is out of bounds"]),
    (lambda: contract.matvec(a(3), a(3)), ValueError,
     ["matvec: lhs is f32[3], a vector; at least 2 axes are required"]),
    (lambda: contract.matvec(a(2, 3), a(4)), TypeError, ["matvec: contracted sizes differ"]),
    (lambda: contract.vecmat(a(3), a(3)), ValueError, ["vecmat: rhs is f32[3], a vector"]),
    (lambda: contract.tensordot(a(2, 3), a(3, 4), 3), TypeError, ["tensordot: axes is 3; from 0 to 2 axes"]),
    (lambda: contract.tensordot(a(2, 3), a(3, 4), -1), TypeError, ["tensordot: axes is -1"]),
    (lambda: contract.tensordot(a(2, 3), a(4, 3), 1), TypeError, ["tensordot: contracted sizes differ"]),
    (lambda: contract.tensordot(a(2, 3), a(3, 4), ((0, 1), (0,))), TypeError, ["axes come in pairs"]),
    (lambda: contract.tensordot(a(2, 2), a(2, 2), ((0, 0), (0, 1))), TypeError, ["name one axis twice"]),
    (lambda: contract.tensordot(a(2, 3), a(3, 4), "a"), TypeError, ["axes is 'a'; an int, a pair"]),
    (lambda: contract.tensordot(a(2, 3), a(3, 4), ((5,), (0,))), ValueError, ["axis 5 is out of bounds"]),
    (lambda: contract.cross(a(4), a(4)), ValueError,
     ["cross: lhs f32[4] has vectors of size 4, 2 or 3 is required"]),
    (lambda: contract.cross(a(4, 3), a(5, 3)), ValueError,
     ["cross: shapes (4,), (5,) cannot be broadcast together"]),
    (lambda: contract.outer(a(2), a(2), out=a(2, 2)), TypeError, ["outer: out is"]),
    (lambda: contract.trace(a(3)), ValueError, ["axis 1 is out of bounds"]),
    (lambda: contract.trace(a(3, 3), axis2=0), ValueError, ["trace: axis1 and axis2 are both axis 0"]),
])
def test_errors(call, error, parts):
    fails(call, error, *parts)


# -- trace --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(3, 3), (2, 5), (5, 2), (2, 3, 4), (1, 1), (0, 3)])
@pytest.mark.parametrize("offset", [0, 1, -1, 2, -4, 7])
def test_trace(shape, offset):
    same(contract.trace, "trace", draw(*shape), offset, grad=True)
    if len(shape) == 3:
        same(contract.trace, "trace", draw(*shape), offset, axis1=2, axis2=0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_traces(dtype):
    same(contract.trace, "trace", draw(3, 3, dtype=jnp.dtype(dtype)))
    same(contract.trace, "trace", draw(3, 3, dtype=jnp.dtype(dtype)),
         dtype="float32" if dtype != "complex64" else None)


def test_trace_with_a_traced_offset():
    x = draw(3, 4)
    for offset in (0, 2, -1, 5):
        mine = pullback.jit(contract.trace)(ours(x), offset)
        close(mine, jnp.trace(x, offset), offset)


# -- einsum -------------------------------------------------------------------------------------------

EINSUM = [
    ("...i,...i->...", (3, 2), (3, 1)), ("...i,...i->...", (1, 2), (2, 1)), ("ij,ij->j", (3, 1), (1, 4)),
    ("ij,jk", (2, 3), (3, 4)), ("ij,jk->ik", (2, 3), (3, 4)), ("ij,jk->ki", (2, 3), (3, 4)),
    ("ij,kj->ik", (2, 3), (4, 3)),
    ("ij,jk->", (2, 3), (3, 4)), ("ij,ij->ij", (2, 3), (2, 3)), ("ij,ij->ji", (2, 3), (2, 3)),
    ("ij,ij->j", (2, 3), (2, 3)),
    ("ij,ij", (2, 3), (2, 3)), ("i,j->ij", (2,), (3,)), ("i,j->ji", (2,), (3,)), ("i,i", (3,), (3,)),
    ("i,i->i", (3,), (3,)),
    ("bij,bjk->bik", (5, 2, 3), (5, 3, 4)), ("bij,bjk->kbi", (5, 2, 3), (5, 3, 4)),
    ("bhqd,bkhd->bhqk", (2, 3, 4, 5), (2, 6, 3, 5)),
    ("ij,k->k", (2, 3), (4,)), ("ii", (3, 3)), ("ii->i", (3, 3)), ("iij->ij", (3, 3, 2)),
    ("iji->j", (3, 2, 3)),
    ("iii->i", (3, 3, 3)), ("iijj->ij", (2, 2, 3, 3)), ("ij->ji", (2, 3)), ("ji", (2, 3)), ("ij->", (2, 3)),
    ("ij->j", (2, 3)),
    ("ii,i->i", (3, 3), (3,)), ("ii,ij->j", (3, 3), (3, 2)), ("...ij,...jk", (5, 2, 3), (3, 4)),
    ("...ij,...jk->...ik", (2, 3), (5, 3, 4)),
    ("...i,...i->...", (1, 4), (3, 4)), ("...i,...i->...", (5, 1, 4), (3, 4)), ("i...->...", (5, 1, 4)),
    ("...->...", (2, 3)),
    ("...i->i...", (2, 3, 4)), ("...ij->ij", (4, 2, 3)), ("ij->ij...", (2, 3)), ("...,...", (2, 3), (3,)),
    ("i...j,j->i...", (2, 4, 5, 3), (3,)),
    (" i j , j k -> i k ", (2, 3), (3, 4)), ("ij,ij->ij", (1, 3), (2, 3)), ("i,i", (1,), (3,)),
    ("ij,jk->ik", (2, 1), (3, 4)),
    ("αβ,βγ->αγ", (2, 3), (3, 4)), ("i1,i", (2, 3), (2,)), (",i->i", (), (3,)), (",", (), ()), ("", ()),
    ("->", ()),
    ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)), ("ij,jk,kl,lm->im", (2, 3), (3, 4), (4, 5), (5, 2)),
    ("i,i,i->i", (3,), (3,), (3,)),
    ("i,j,k->kji", (2,), (3,), (4,)), ("ij,i,j", (2, 3), (2,), (3,)),
    ("aij,ajk,ak->ai", (2, 3, 4), (2, 4, 5), (2, 5)),
    ("ijk,jil,kl->", (2, 3, 4), (3, 2, 5), (4, 5)), ("i,i,i,i", (3,), (3,), (3,), (3,)),
    ("i,j,k->i", (2,), (3,), (4,)),
]


@pytest.mark.parametrize("subscripts, shapes", [(subscripts, shapes) for subscripts, *shapes in EINSUM])
def test_einsum(subscripts, shapes):
    xs = [draw(*shape) for shape in shapes]
    same(lambda *xs: einstein.einsum(subscripts, *xs), lambda *xs: jnp.einsum(subscripts, *xs), *xs,
         grad=True)


@pytest.mark.parametrize("subscripts, shapes", [(subscripts, shapes) for subscripts,
                                                *shapes in EINSUM if len(shapes) > 2])
@pytest.mark.parametrize("optimize", [False, True, "greedy", "optimal"])
def test_the_order_does_not_change_the_sum(subscripts, shapes, optimize):
    xs = [draw(*shape) for shape in shapes]
    mine = einstein.einsum(subscripts, *map(ours, xs), optimize=optimize)
    close(mine, jnp.einsum(subscripts, *xs), (subscripts, optimize))


def test_einsum_with_lists_of_labels():
    x, y, z = draw(2, 3), draw(3, 4), draw(5, 2, 3)
    for build in [lambda a, b, c: (a, [0, 1], b, [1, 2], [0, 2]), lambda a, b, c: (a, [0, 1], b, [1, 2]),
                  lambda a, b, c: (c, [..., 0, 1], b, [1, 2], [..., 0, 2]), lambda a, b, c: (a, (1, 0)),
                  lambda a, b, c: (a, [9, 4], b, [4, 7], c, [3, 9, 4])]:
        same(lambda *xs, build=build: einstein.einsum(*build(*xs)), lambda *xs,
             build=build: jnp.einsum(*build(*xs)), x, y, z)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("subscripts", ["ij->i", "ii->i", "ii", "ij->ji", "ij,ij->j", "ij,ij->ij",
                                        "ij,jk,kl->il"])
def test_dtypes_of_einsum(subscripts, dtype):
    xs = [draw(3, 3, dtype=jnp.dtype(dtype)) for _ in range(subscripts.count(",") + 1)]
    same(lambda *xs: einstein.einsum(subscripts, *xs), lambda *xs: jnp.einsum(subscripts, *xs), *xs)


@pytest.mark.parametrize("subscripts, x, wanted", [
    ("ij->i", "bfloat16", "float32"), ("ij->i", "int8", "int32"), ("ij->ji", "int8", "int32"),
    ("ij,jk", "bfloat16", "float32"),
    ("ij,i->i", "int8", "int32"), ("ij,jk,kl->il", "bfloat16", "float32"),
    ("ij,ij->ij", "float32", "bfloat16")])
def test_preferred_element_type_of_einsum(subscripts, x, wanted):
    xs = [draw(*[3] * len(term), dtype=jnp.dtype(x)) for term in subscripts.split("->")[0].split(",")]
    same(lambda *xs: einstein.einsum(subscripts, *xs, preferred_element_type=wanted),
         lambda *xs: jnp.einsum(subscripts, *xs, preferred_element_type=wanted), *xs)


def test_weak_types_of_einsum():
    for subscripts, args in [("ij,->ij", (draw(2, 3), 2.0)), (",", (2.0, 3.0)), (",,", (2.0, 3, 4)),
                             (",i", (2, draw(3, dtype=np.int32)))]:
        same(lambda *xs, s=subscripts: einstein.einsum(s, *xs), lambda *xs, s=subscripts: jnp.einsum(s, *xs),
             *args)


def test_einsum_is_few_operations():
    def names(subscripts, *shapes):
        program = pullback.make_jaxpr(lambda *xs: einstein.einsum(subscripts,
                                                                  *xs))(*[a(*shape) for shape in shapes])
        return [e.primitive.name for e in program.eqns]

    assert names("ij,jk->ik", (2, 3), (3, 4)) == ["dot_general"]
    assert names("ij,jk->ki", (2, 3), (3, 4)) == ["dot_general"]
    assert names("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)) == ["dot_general"]
    assert names("i,i->i", (3,), (3,)) == ["mul"]
    assert names("ij->ji", (2, 3)) == ["transpose"]
    assert "gather" not in names("ii->i", (3, 3)) and "select_n" not in names("ii->i", (3, 3))


def test_einsum_with_another_dot_general():
    seen = []

    def dot(x, y, dims, precision=None, preferred_element_type=None):
        seen.append((dims, precision, preferred_element_type))
        return pullback.lax.dot_general(x, y, dims, precision, preferred_element_type)

    x, y = draw(2, 3), draw(3, 4)
    out = einstein.einsum("ij,jk->ik", ours(x), ours(y), precision="highest", _dot_general=dot)
    close(out, jnp.einsum("ij,jk->ik", x, y), "dot")
    assert seen == [((((1,), (0,)), ((), ())), "highest", np.dtype(np.float32))]
    einstein.einsum("ij,ij->ij", ours(x), ours(x), _dot_general=dot)
    assert seen[1][0] == (((), ()), ((0, 1), (0, 1)))


@pytest.mark.parametrize("optimize", ["auto", "greedy", True])
def test_einsum_path(optimize):
    xs = [draw(2, 3), draw(3, 4), draw(4, 5)]
    for args in [("ij,jk,kl->il", *xs), ("ij,jk,kl", *xs), (xs[0], [0, 1], xs[1], [1, 2], xs[2], [2, 3])]:
        path, report = einstein.einsum_path(*args, optimize=optimize)
        real, real_report = jnp.einsum_path(*args, optimize=optimize)
        assert path == real and report.opt_cost == real_report.opt_cost
        close(einstein.einsum(*[ours(x) for x in args], optimize=path), jnp.einsum(*args), "path")


@pytest.mark.parametrize("call, error, parts", [
    (lambda: einstein.einsum("ij,jk", a(2, 3), a(4, 4)), ValueError,
     ["einsum: label 'j' has size 3 in operand 0 of shape (2, 3), and size 4 in operand 1 of shape (4, 4)"]),
    (lambda: einstein.einsum("ii", a(2, 3)), ValueError, ["label 'i' has size 2 in operand 0",
                                                          "size 3 in operand 0"]),
    (lambda: einstein.einsum("ii", a(1, 3)), ValueError, ["label 'i' has size 1"]),
    (lambda: einstein.einsum("...i,...i", a(2, 3), a(4, 3)), ValueError, ["axis -1 of '...' has size 2"]),
    (lambda: einstein.einsum("ij,jk->il", a(2, 3), a(3, 4)), ValueError,
     ["label 'l' of the result is in no operand"]),
    (lambda: einstein.einsum("i->ii", a(2)), ValueError, ["label 'i' stands twice in the result"]),
    (lambda: einstein.einsum("ij", a(2)), ValueError,
     ["operand 0 of shape (2,) has 1 axis, its labels 'ij' are for 2"]),
    (lambda: einstein.einsum("i", a(2, 2)), ValueError, ["has 2 axes, its labels 'i' are for 1"]),
    (lambda: einstein.einsum("ij...", a(2)), ValueError, ["its labels 'ij...' are for 2"]),
    (lambda: einstein.einsum("ij,jk", a(2, 3)), ValueError, ["are for 2 operands, got 1"]),
    (lambda: einstein.einsum("i"), ValueError, ["are for 1 operand, got 0"]),
    (lambda: einstein.einsum("i..,j", a(2, 3), a(3)), ValueError, ["dots that are no ellipsis"]),
    (lambda: einstein.einsum("...i...", a(2, 3)), ValueError, ["two ellipses"]),
    (lambda: einstein.einsum("ij->j->i", a(2, 3)), ValueError, ["a second '->'"]),
    (lambda: einstein.einsum("ij", [[1.0]]), TypeError, ["einsum: got a list"]),
    (lambda: einstein.einsum(a(2), "i"), TypeError, ["labels of an operand are 'i', a list is required"]),
    (lambda: einstein.einsum("i,i,i", a(2), a(2), a(2), optimize="best"), ValueError, ["optimize is 'best'"]),
    (lambda: einstein.einsum("i", a(2), out=a(2)), TypeError, ["out is f32[2], None is required"]),
])
def test_errors_of_einsum(call, error, parts):
    fails(call, error, *parts)

"""Meshes and shardings on one device, beside real jax's."""

import doctest

import jax
import numpy as np
import pytest

import pullback
from pullback.runtime import sharding

jnp = pullback.numpy
P = pullback.P
X = np.arange(6, dtype=np.float32).reshape(2, 3)


def mesh(engine, names="x"):
    return engine.sharding.Mesh(np.array(engine.devices()[:1]).reshape((1,) * len(names)), tuple(names))


def both(expression):
    """What an expression of `e` (the engine), `m` (a mesh with axis x) and `s` (a sharding) gives in each library."""
    results = []
    for engine in (pullback, jax):
        m = mesh(engine)
        s = engine.sharding.NamedSharding(m, engine.sharding.PartitionSpec("x"))
        results.append(eval(expression, {"e": engine, "m": m, "s": s, "P": engine.sharding.PartitionSpec, "np": np}))
    return results


@pytest.mark.parametrize("expression", """
len(P('x', 'y'))
tuple(P('x', None, ('x', 'y')))
P('x', 'y')[:1]
P(('x',)) == P('x')
P() == P(None)
hash(P('x')) == hash(P('x'))
m.shape
m.axis_names
m.axis_sizes
m.size
m.shape_tuple
m.empty
m.device_ids.tolist()
m.is_multi_process
len(m.local_devices)
s.is_fully_replicated
s.is_fully_addressable
s.num_devices
s.shard_shape((4, 2))
list(s.devices_indices_map((4, 2)).values())
s.is_equivalent_to(e.sharding.NamedSharding(m, P()), 2)
s == e.sharding.NamedSharding(m, P('x'))
s == e.sharding.NamedSharding(m, P())
tuple(s.spec)
s.mesh == m
e.device_put(np.ones((2, 3)), s).sharding == s
e.device_put({'a': np.ones(2), 'b': np.ones(2)}, {'a': s, 'b': None})['a'].sharding == s
e.jit(lambda x: x + 1, in_shardings=s, out_shardings=s)(np.ones(2)).tolist()
e.jit(lambda x: e.lax.with_sharding_constraint(x, s))(np.ones(2)).tolist()
e.lax.with_sharding_constraint(np.ones(2), s).sharding == s
e.numpy.zeros(3, device=s).sharding == s
e.make_array_from_callback((2, 3), s, lambda i: np.arange(6.0, dtype='f4').reshape(2, 3)[i]).tolist()
e.make_array_from_single_device_arrays((2,), s, [e.numpy.ones(2)]).sharding == s
e.numpy.ones(2).addressable_shards[0].index
e.numpy.ones(2).addressable_data(0).tolist()
""".strip().splitlines())
def test_same_as_jax(expression):
    ours, theirs = both(expression)
    assert ours == theirs, (ours, theirs)


def test_a_mesh_in_force():
    m = mesh(pullback)
    for context in (m, pullback.set_mesh(m)):
        with context:
            assert pullback.device_put(X, P("x")).sharding == pullback.NamedSharding(m, P("x"))
            assert pullback.lax.with_sharding_constraint(jnp.asarray(X), P("x")).shape == (2, 3)
    assert pullback.get_mesh().empty
    assert pullback.make_mesh((1, 1), ("x", "y")).axis_types == (pullback.sharding.AxisType.Explicit,) * 2
    assert pullback.sharding.reshard(jnp.ones(2), pullback.NamedSharding(m, P())).committed


@pytest.mark.parametrize("words, call", [
    ("2 axes and there are 1 names", lambda: pullback.sharding.Mesh(np.array([pullback.devices()[:1]]), ("x",))),
    ("ask for 4096 devices", lambda: pullback.make_mesh((4096,), ("x",))),
    ("got 1 sizes and 2 names", lambda: pullback.make_mesh((1,), ("x", "y"))),
    ("names the axis 'q', the mesh has", lambda: pullback.NamedSharding(mesh(pullback), P("q"))),
    ("names the axis 'x' twice", lambda: pullback.NamedSharding(mesh(pullback), P("x", "x"))),
    ("no mesh is set", lambda: pullback.device_put(X, P("x"))),
    ("is for 3 axes or more",
     lambda: pullback.device_put(X, pullback.NamedSharding(mesh(pullback), P(None, None, "x")))),
    ("over 2 devices, one over a single", lambda: pullback.device_put(X, TWO)),
    ("over 2 devices, one over a single", lambda: pullback.jit(lambda x: x, in_shardings=TWO)),
    ("over 2 devices, one over a single", lambda: jnp.reshape(X, (6,), out_sharding=TWO)),
    ("unreduced or reduced", lambda: P("x", unreduced={"x"})),
    ("the array has shape|has shape", lambda: pullback.make_array_from_single_device_arrays(
        (3,), pullback.sharding.SingleDeviceSharding(pullback.devices()[0]), [jnp.ones(2)])),
    ("got 2 arrays", lambda: pullback.make_array_from_single_device_arrays((2,), TWO, [jnp.ones(2)] * 2)),
])
def test_refused(words, call, monkeypatch):
    monkeypatch.setattr(sharding.pjrt, "devices", lambda backend=None: [*DEVICES, OTHER])
    with pytest.raises(ValueError, match=words):
        call()


class Other:
    platform, id = "cpu", 1


DEVICES, OTHER = pullback.devices(), Other()
TWO = pullback.NamedSharding(pullback.sharding.Mesh(np.array([DEVICES[0], OTHER]), "x"), P("x"))


def test_wrong_types():
    with pytest.raises(TypeError, match="a Mesh and a PartitionSpec"):
        pullback.NamedSharding(mesh(pullback), "x")
    with pytest.raises(TypeError, match="a device, a sharding or a PartitionSpec"):
        pullback.jit(lambda x: x, in_shardings=3)
    with pytest.raises(AttributeError, match="ManualAxisType is not supported"):
        pullback.sharding.ManualAxisType  # noqa: B018


def test_examples_in_docstrings():
    failed, attempted = doctest.testmod(sharding, extraglobs={"jax": pullback})
    assert attempted and not failed

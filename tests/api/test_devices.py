"""pmap and shard_map on the one device, as real jax's; device_get of traced values; meshes without devices."""

import jax as real
import jax.numpy as real_jnp
import numpy as np
import pytest

import pullback
import pullback.numpy as jnp

BOTH = [(pullback, jnp), (real, real_jnp)]


def same(run):
    ours, theirs = (run(engine, numpy) for engine, numpy in BOTH)
    for one, two in zip(pullback.tree.leaves(ours), real.tree.leaves(theirs), strict=True):
        assert one.dtype == two.dtype
        np.testing.assert_allclose(np.asarray(one), np.asarray(two), rtol=1e-6)


def test_pmap():
    x = np.arange(6, dtype=np.float32).reshape(1, 6)
    same(lambda engine, numpy: engine.pmap(lambda x: x + engine.lax.axis_index("i"), axis_name="i")(x))
    same(lambda engine, numpy: engine.pmap(lambda x: engine.lax.pmean(x, "i") / engine.lax.psum(1, "i"), "i")(x))
    same(lambda engine, numpy: engine.pmap(lambda x, n: x * n, static_broadcasted_argnums=1)(x, 3))
    same(lambda engine, numpy: engine.pmap(lambda x, y: x + y["a"], in_axes=(0, None))(x, {"a": numpy.ones(6)}))
    same(lambda engine, numpy: engine.pmap(lambda x: x * 2, in_axes=1, out_axes=1)(x.T))
    same(lambda engine, numpy: engine.grad(lambda x: engine.pmap(numpy.sin)(x).sum())(x))
    same(lambda engine, numpy: engine.pmap(lambda k: engine.random.normal(k, (2,)))(
        engine.random.split(engine.random.key(0), 1)))
    assert "stablehlo" in pullback.pmap(lambda x: x + 1).lower(x).as_text()


def test_pmap_over_more_devices_than_there_are():
    with pytest.raises(ValueError, match="over an axis of size 2; there is 1 device(.|\n)*jit\\(vmap"):
        pullback.pmap(lambda x: x)(jnp.ones((2, 3)))
    with pytest.raises(ValueError, match="devices has 2 entries"):
        pullback.pmap(lambda x: x, devices=pullback.devices() * 2)


def test_shard_map():
    def run(engine, numpy):
        mesh = engine.make_mesh((1, 1), ("x", "y"), (engine.sharding.AxisType.Auto,) * 2)
        spec = engine.P("x", "y")
        f = engine.shard_map(lambda a: engine.lax.psum(a, ("x", "y")), mesh=mesh,
                             in_specs=spec, out_specs=engine.P())
        return f(numpy.arange(4.0).reshape(2, 2)), engine.grad(lambda a: f(a).sum())(numpy.ones((2, 2)))
    same(run)


def test_shard_map_says_what_is_wrong():
    mesh, x = pullback.make_mesh((1,), ("x",)), jnp.ones(4)
    spec = pullback.P("x")
    assert pullback.shard_map(mesh=mesh, in_specs=spec, out_specs=spec)(lambda a: a + 1)(x).shape == (4,)
    with pytest.raises(ValueError, match="there is no mesh"):
        pullback.shard_map(lambda a: a, out_specs=spec)(x)
    with pytest.raises(ValueError, match="names the axis 'z'; the mesh has \\['x'\\]"):
        pullback.shard_map(lambda a: a, mesh=mesh, in_specs=pullback.P("z"), out_specs=spec)(x)
    with pytest.raises(ValueError, match="at most one entry for each axis"):
        pullback.shard_map(lambda a: a.sum(), mesh=mesh, in_specs=spec, out_specs=spec)(x)
    with pytest.raises(TypeError, match="a PartitionSpec is required"):
        pullback.shard_map(lambda a: a, mesh=mesh, in_specs="x", out_specs=spec)(x)


def test_device_get_leaves_traced_values():
    same(lambda engine, numpy: engine.grad(lambda x: engine.device_get(x) * 2.0)(1.0))
    same(lambda engine, numpy: engine.jit(lambda x: engine.device_get({"a": x})["a"] * 2.0)(1.0))
    same(lambda engine, numpy: engine.vmap(lambda x: engine.device_get(x) * 2.0)(numpy.ones(2)))
    assert isinstance(pullback.device_get(jnp.ones(2)), np.ndarray)


def test_meshes_without_devices():
    empty = pullback.sharding.get_abstract_mesh()
    assert empty.empty and empty.axis_names == () and empty.size == 0 and dict(empty.shape) == {}
    mesh = pullback.make_mesh((1,), ("x",))
    with pullback.set_mesh(mesh):
        assert pullback.sharding.get_abstract_mesh() == mesh.abstract_mesh
    abstract = pullback.sharding.AbstractMesh((1, 1), ("x", "y"))
    assert abstract.are_all_axes_explicit and abstract.explicit_axes == ("x", "y") and not abstract.auto_axes
    assert abstract == abstract.abstract_mesh and hash(abstract) == hash(pullback.sharding.AbstractMesh((1, 1), "xy"))
    assert "'x': 1" in repr(abstract)
    with pytest.raises(ValueError, match="equal numbers are required"):
        pullback.sharding.AbstractMesh((1,), ("x", "y"))
    sharding = pullback.typeof(jnp.ones((2, 3))).sharding
    assert sharding.mesh.empty and sharding.spec == pullback.P(None, None) and sharding.is_fully_replicated
    assert pullback.random.normal(pullback.random.key(0), (2, 3), out_sharding=sharding).shape == (2, 3)

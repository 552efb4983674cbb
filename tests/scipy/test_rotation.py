"""Rotations against SciPy and real jax."""

from __future__ import annotations

import doctest
import inspect
import warnings

import jax
import numpy as np
import pytest
from jax.scipy.spatial.transform import Rotation as TheirRotation
from jax.scipy.spatial.transform import Slerp as TheirSlerp
from scipy.spatial.transform import Rotation as SciPyRotation
from scipy.spatial.transform import Slerp as SciPySlerp

import pullback
from pullback.scipy.spatial import transform
from pullback.scipy.spatial.transform import Rotation, Slerp

jnp = pullback.numpy
RNG = np.random.default_rng(5)
QUATS = RNG.normal(size=(5, 4))
VECTORS = RNG.normal(size=(5, 3))


@pytest.fixture(autouse=True)
def wide():
    with pullback.enable_x64(True), jax.enable_x64(True):
        yield


def same(f, jax_too=True):
    """f(Rotation class) gives what SciPy gives, and real jax where it can."""
    found = pullback.tree.leaves(f(Rotation))
    for cls in (SciPyRotation, *([TheirRotation] if jax_too else [])):
        expected = jax.tree.leaves(f(cls))
        assert len(found) == len(expected)
        for a, b in zip(found, expected, strict=True):
            assert np.shape(a) == np.shape(b)
            np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-9, err_msg=cls.__module__)


def test_representations():
    def every(cls, r):
        return [r.as_matrix(), r.as_quat(canonical=True), r.as_rotvec(), r.as_rotvec(True), r.as_mrp(), r.magnitude(),
                r.inv().as_matrix(), r.as_quat(canonical=True, scalar_first=True), *[
                    r.as_euler(seq, True) for seq in ("xyz", "ZYX", "zxz", "XYX")]]
    same(lambda cls: [every(cls, cls.from_quat(q)) for q in (QUATS[0], QUATS)])


def test_makers():
    same(lambda cls: [cls.from_rotvec(60 * VECTORS).as_quat(), cls.from_mrp(VECTORS).as_quat(),
                      cls.from_matrix(SciPyRotation.from_quat(QUATS).as_matrix()).as_matrix()])
    same(lambda cls: [cls.from_rotvec(VECTORS[0], True).as_matrix(), cls.from_rotvec(1e-5 * VECTORS).as_matrix(),
                      cls.from_matrix(np.diag([-1.0, -1.0, 1.0])).as_quat(canonical=True)], jax_too=False)
    same(lambda cls: [cls.from_euler(seq, angles, degrees).as_matrix() for seq, angles, degrees in (
        ("xyz", VECTORS, False), ("ZYX", VECTORS[0], False), ("zxz", 50 * VECTORS, True), ("z", np.array(0.3), False),
        ("XY", VECTORS[:, :2], False), ("y", VECTORS[:, :1], False))], jax_too=False)
    assert Rotation.identity().as_quat().tolist() == [0, 0, 0, 1] and len(Rotation.identity(3)) == 3
    assert Rotation.identity(dtype=np.float32).quat.dtype == np.float32
    many = Rotation.random(pullback.random.key(0), 1000)
    np.testing.assert_allclose(jnp.linalg.norm(many.quat, axis=1), 1)
    assert np.abs(np.asarray(many.as_matrix()).mean(0)).max() < 0.06 and Rotation.random(pullback.random.key(0)).single


def test_composition_and_use():
    def run(cls):
        r, s = cls.from_quat(QUATS), cls.from_quat(QUATS[::-1].copy())
        return [(r * s).as_matrix(), r.apply(VECTORS), r.apply(VECTORS, inverse=True), r[1].apply(VECTORS[0]),
                r[1:3].as_matrix(), (r * s[0]).as_matrix(), r.apply(VECTORS[0]), s[0].apply(VECTORS)]
    same(run, jax_too=False)
    same(lambda cls: [cls.concatenate([cls.from_quat(QUATS), cls.from_quat(QUATS[:1])]).as_matrix(),
                      cls.from_quat(QUATS).mean().as_matrix(),
                      cls.from_quat(QUATS).mean(np.arange(1.0, 6)).as_matrix()],
         jax_too=False)
    with pytest.raises(TypeError, match="no len"):
        len(Rotation.identity())
    with pytest.raises(TypeError, match="not subscriptable"):
        Rotation.identity()[0]


def test_gimbal_lock_keeps_the_rotation():
    for seq, angles in (("xyz", [0.3, np.pi / 2, 0.2]), ("XYZ", [0.3, -np.pi / 2, 0.2]), ("zxz", [0.4, 0.0, 0.5]),
                        ("ZXZ", [0.4, np.pi, 0.5])):
        r = Rotation.from_euler(seq, np.array(angles))
        again = Rotation.from_euler(seq, r.as_euler(seq))
        np.testing.assert_allclose(again.as_matrix(), r.as_matrix(), atol=1e-7)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that there is a lock
            reference = SciPyRotation.from_euler(seq, angles).as_euler(seq)
        np.testing.assert_allclose(r.as_euler(seq), reference, atol=1e-7)


def test_slerp():
    times = np.array([0.0, 1.0, 3.0])
    at = np.array([0.0, 0.3, 1.0, 2.2, 3.0])
    ours = Slerp.init(times, Rotation.from_quat(QUATS[:3]))
    reference = SciPySlerp(times, SciPyRotation.from_quat(QUATS[:3]))
    np.testing.assert_allclose(ours(at).as_matrix(), reference(at).as_matrix(), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(ours(0.3).as_matrix(), reference(0.3).as_matrix(), rtol=1e-9, atol=1e-9)
    for fields in (ours._fields, TheirSlerp._fields):
        assert fields == ("times", "timedelta", "rotations", "rotvecs")
    for bad in (Rotation.from_quat(QUATS[0]), Rotation.from_quat(QUATS)):
        with pytest.raises(ValueError):
            Slerp.init(times, bad)


def test_transformations_and_derivatives_at_zero():
    r = pullback.jit(lambda q: Rotation.from_quat(q).inv())(QUATS)
    assert isinstance(r, Rotation)
    # d/dv of exp([v]) at zero is the generator of turns, where real jax gives NaN.
    turns = pullback.jacobian(lambda v: Rotation.from_rotvec(v).as_matrix())(jnp.zeros(3))
    np.testing.assert_allclose(turns[..., 2], [[0, -1, 0], [1, 0, 0], [0, 0, 0]], atol=1e-12)
    back = pullback.jacobian(lambda q: Rotation.from_quat(q).as_rotvec())(jnp.array([0.0, 0, 0, 1]))
    np.testing.assert_allclose(back, np.eye(4)[:3] * 2, atol=1e-12)
    found = pullback.grad(lambda q: Rotation.from_quat(q).as_euler("xyz")[0])(QUATS[0])
    theirs = jax.grad(lambda q: TheirRotation.from_quat(q).as_euler("xyz")[0])(jax.numpy.asarray(QUATS[0]))
    np.testing.assert_allclose(found, theirs, rtol=1e-8)
    np.testing.assert_allclose(pullback.vmap(lambda q, v: Rotation.from_quat(q).apply(v))(QUATS, VECTORS),
                               SciPyRotation.from_quat(QUATS).apply(VECTORS), rtol=1e-9)


def test_signatures_and_messages():
    for name in dir(TheirRotation):
        if not name.startswith("_") and callable(getattr(TheirRotation, name)) and name not in ("count", "index"):
            ours, theirs = (inspect.signature(getattr(cls, name)).parameters for cls in (Rotation, TheirRotation))
            assert [(p.name, p.default) for p in ours.values()] == [(p.name, p.default) for p in theirs.values()], name
    for use, message in ((lambda: Rotation.from_euler("xYz", VECTORS), "axes from `seq`"),
                         (lambda: Rotation.from_euler("xxz", VECTORS), "consecutive axes"),
                         (lambda: Rotation.from_euler("xyz", VECTORS[:, :2]), r"\(3\) or \(n, 3\)"),
                         (lambda: Rotation.identity().as_euler("xy"), "Expected 3 axes"),
                         (lambda: Rotation.from_quat(VECTORS), "quat has shape"),
                         (lambda: Rotation.from_matrix(QUATS), "matrix has shape")):
        with pytest.raises(ValueError, match=message):
            use()


def test_examples():
    with pullback.enable_x64(False):
        assert doctest.testmod(transform, extraglobs={"jnp": jnp}).failed == 0

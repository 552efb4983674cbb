"""Rotations of space: jax.scipy.spatial.transform's interface. A rotation is a unit quaternion (x, y, z, w)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from pullback import numpy as jnp
from pullback import random
from pullback.core import errors

__all__ = ["Rotation", "Slerp"]


def _floats(x: Any, last: Sequence[int], what: str) -> Any:
    """An array of floats whose last axes are `last`."""
    x = jnp.asarray(x)
    if x.shape[x.ndim - len(last):] != tuple(last) or x.ndim > len(last) + 1:
        shape = ", ".join(map(str, last))
        raise errors.value_error(f"{what} has shape {x.shape}, ({shape}) or (n, {shape}) is required", op="Rotation")
    return x.astype(jnp.result_type(x, float))


def _norm(v: Any) -> Any:
    """The length of vectors along the last axis; its derivative at zero is zero."""
    square = jnp.sum(v * v, axis=-1, keepdims=True)
    return jnp.where(square > 0, jnp.sqrt(jnp.where(square > 0, square, 1)), 0)


def _unit(q: Any) -> Any:
    return q / jnp.sqrt(jnp.sum(q * q, axis=-1, keepdims=True))


def _product(p: Any, q: Any) -> Any:
    """The quaternion of a rotation by q, then by p."""
    u, a, v, b = p[..., :3], p[..., 3:], q[..., :3], q[..., 3:]
    return jnp.concatenate([a * v + b * u + jnp.cross(u, v), a * b - jnp.sum(u * v, axis=-1, keepdims=True)], axis=-1)


def _scale(angle: Any, over: bool) -> Any:
    """sin(angle / 2) / angle, or with `over` its inverse; by series where the angle is small."""
    small = jnp.abs(angle) < 1e-3
    a2 = angle * angle
    series = 2 + a2 / 12 + 7 * a2 * a2 / 2880 if over else 0.5 - a2 / 48 + a2 * a2 / 3840
    safe = jnp.where(small, 1, angle)
    exact = safe / jnp.sin(safe / 2) if over else jnp.sin(safe / 2) / safe
    return jnp.where(small, series, exact)


def _axes(seq: str, most: int = 3, least: int = 1) -> tuple[list[int], bool]:
    """The numbers of the axes that a sequence names, and whether they turn with the body."""
    if not seq or not (set(seq) <= set("xyz") or set(seq) <= set("XYZ")):
        raise errors.value_error(f"Expected axes from `seq` to be from ['x', 'y', 'z'] or ['X', 'Y', 'Z'], got {seq}",
                                 op="Rotation", fix="lower case for fixed axes, upper case for axes of the body")
    if not least <= len(seq) <= most:
        raise errors.value_error(f"Expected {most if least == most else f'{least} to {most}'} axes, got {seq}.",
                                 op="Rotation")
    if any(a == b for a, b in zip(seq, seq[1:], strict=False)):
        raise errors.value_error(f"Expected consecutive axes to be different, got {seq}", op="Rotation")
    return ["xyz".index(a) for a in seq.lower()], seq.isupper()


class Rotation(NamedTuple):
    """One rotation or several, made by the `from_` methods; a pytree whose leaf is the array of quaternions.

    Attributes:
      quat: unit quaternions (x, y, z, w): float[4], or float[n, 4].

    Example:
      >>> r = Rotation.from_euler("z", 90.0, degrees=True)
      >>> print(jnp.round(r.apply(jnp.array([1.0, 0.0, 0.0])), 3))
      [0. 1. 0.]
    """

    quat: Any

    @classmethod
    def concatenate(cls, rotations: Sequence[Rotation]) -> Rotation:
        """Several rotations, or arrays of them, as one array of rotations."""
        return cls(jnp.concatenate([jnp.reshape(r.quat, (-1, 4)) for r in rotations]))

    @classmethod
    def from_euler(cls, seq: str, angles: Any, degrees: bool = False) -> Rotation:
        """Rotations about one to three axes, one after the other.

        Args:
          seq: the axes, 'xyz' (fixed) or 'XYZ' (turning with the body).
          angles: [k] or [n, k] for k axes; for one axis also []. In radians.
          degrees: the angles are in degrees.

        Raises:
          ValueError: other axes, two equal ones in a row, or another number of angles.
        """
        axes, turning = _axes(seq)
        angles = jnp.asarray(angles)
        angles = angles.astype(jnp.result_type(angles, float))
        if len(axes) == 1 and not angles.ndim:
            angles = angles[None]
        angles = _floats(angles, (len(axes),), "angles")
        if degrees:
            angles = jnp.deg2rad(angles)
        result: Any = None
        for k, axis in enumerate(axes):
            half = angles[..., k] / 2
            parts = [jnp.zeros_like(half)] * 3
            parts[axis] = jnp.sin(half)
            q = jnp.stack([*parts, jnp.cos(half)], axis=-1)
            result = q if result is None else _product(result, q) if turning else _product(q, result)
        return cls(result)

    @classmethod
    def from_matrix(cls, matrix: Any) -> Rotation:
        """From rotation matrices [3, 3] or [n, 3, 3].

        Source: F. Markley, Unit quaternion from rotation matrix (2008): of four formulas the best conditioned.
        """
        m = _floats(matrix, (3, 3), "matrix")
        trace = m[..., 0, 0] + m[..., 1, 1] + m[..., 2, 2]
        rows = []
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            parts: list[Any] = [None] * 3
            parts[i] = 1 - trace + 2 * m[..., i, i]
            parts[j] = m[..., j, i] + m[..., i, j]
            parts[k] = m[..., k, i] + m[..., i, k]
            rows.append(jnp.stack([*parts, m[..., k, j] - m[..., j, k]], axis=-1))
        rows.append(jnp.stack([m[..., 2, 1] - m[..., 1, 2], m[..., 0, 2] - m[..., 2, 0], m[..., 1, 0] - m[..., 0, 1],
                               1 + trace], axis=-1))
        sizes = jnp.stack([m[..., 0, 0], m[..., 1, 1], m[..., 2, 2], trace], axis=-1)
        best = jnp.argmax(sizes, axis=-1)[..., None, None]
        return cls(_unit(jnp.take_along_axis(jnp.stack(rows, axis=-2), best, axis=-2)[..., 0, :]))

    @classmethod
    def from_mrp(cls, mrp: Any) -> Rotation:
        """From modified Rodrigues parameters, axis times tan(angle / 4): [3] or [n, 3]."""
        p = _floats(mrp, (3,), "mrp")
        square = jnp.sum(p * p, axis=-1, keepdims=True)
        return cls(jnp.concatenate([2 * p, 1 - square], axis=-1) / (1 + square))

    @classmethod
    def from_quat(cls, quat: Any) -> Rotation:
        """From quaternions (x, y, z, w) of any length but zero: [4] or [n, 4]. A zero one gives NaN."""
        return cls(_unit(_floats(quat, (4,), "quat")))

    @classmethod
    def from_rotvec(cls, rotvec: Any, degrees: bool = False) -> Rotation:
        """From rotation vectors, axis times angle: [3] or [n, 3]."""
        v = _floats(rotvec, (3,), "rotvec")
        if degrees:
            v = jnp.deg2rad(v)
        angle = _norm(v)
        return cls(jnp.concatenate([_scale(angle, False) * v, jnp.cos(angle / 2)], axis=-1))

    @classmethod
    def identity(cls, num: int | None = None, dtype: Any = float) -> Rotation:
        """The rotation that changes nothing; `num` of them."""
        one = jnp.array([0, 0, 0, 1], dtype)
        return cls(one if num is None else jnp.tile(one, (num, 1)))

    @classmethod
    def random(cls, random_key: Any, num: int | None = None) -> Rotation:
        """Uniformly distributed rotations, one or `num`, from a key of jax.random."""
        return cls(_unit(random.normal(random_key, (4,) if num is None else (num, 4))))

    @property
    def single(self) -> bool:
        """Whether this is one rotation and not an array of them."""
        return self.quat.ndim == 1  # type: ignore[no-any-return]

    def __len__(self) -> int:
        if self.single:
            raise errors.make(TypeError, "Single rotation has no len().", op="")
        return int(self.quat.shape[0])

    def __getitem__(self, indexer: Any) -> Rotation:  # type: ignore[override]
        if self.single:
            raise errors.make(TypeError, "Single rotation is not subscriptable.", op="")
        return Rotation(self.quat[indexer])

    def __mul__(self, other: Rotation) -> Rotation:  # type: ignore[override]
        """`self * other`: first `other`, then `self`. Of two arrays, pair by pair."""
        if not isinstance(other, Rotation):
            return NotImplemented
        return Rotation(_unit(_product(self.quat, other.quat)))

    def apply(self, vectors: Any, inverse: bool = False) -> Any:
        """The rotated vectors.

        Args:
          vectors: [3] or [n, 3].
          inverse: rotate back.

        Returns:
          [3], or [n, 3] where there are several vectors or rotations (as many of one as of the other, or one).
        """
        matrix = self.as_matrix()
        vectors = _floats(vectors, (3,), "vectors")
        return jnp.einsum("...kj,...k->...j" if inverse else "...jk,...k->...j", matrix, vectors)

    def as_euler(self, seq: str, degrees: bool = False) -> Any:
        """The angles about three axes that make the rotation: float[3] or [n, 3].

        Args:
          seq: three axes, as of `from_euler`.
          degrees: give degrees, not radians.

        Where the first and the third axis coincide (gimbal lock) the third angle is zero; there it is not smooth.

        Source: E. Bernardes and S. Viollet, Quaternion to Euler angles conversion (2022).
        """
        (i, j, k), turning = _axes(seq, 3, 3)
        if turning:
            i, k = k, i
        symmetric = i == k
        if symmetric:
            k = 3 - i - j
        sign = (i - j) * (j - k) * (k - i) // 2
        q = self.quat
        a, b, c, d = q[..., 3], q[..., i], q[..., j], q[..., k] * sign
        if not symmetric:
            a, b, c, d = a - c, b + d, c + a, d - b
        second = 2 * jnp.arctan2(jnp.hypot(c, d), jnp.hypot(a, b))
        low, high = second < 1e-7, second > jnp.pi - 1e-7
        plus, minus = jnp.arctan2(b, a), jnp.arctan2(d, c)
        # In gimbal lock only the sum (or the difference) of the outer angles counts: the last one becomes zero.
        locked, alone = low | high, jnp.where(low, 2 * plus, (2 if turning else -2) * minus)
        first, third = jnp.where(locked, 0 if turning else alone, plus - minus), \
            jnp.where(locked, alone if turning else 0, plus + minus)
        if not symmetric:
            third, second = third * sign, second - jnp.pi / 2
        angles = jnp.stack([third, second, first] if turning else [first, second, third], axis=-1)
        angles = jnp.where(angles < -jnp.pi, angles + 2 * jnp.pi, jnp.where(angles > jnp.pi, angles - 2 * jnp.pi,
                                                                            angles))
        return jnp.rad2deg(angles) if degrees else angles

    def as_matrix(self) -> Any:
        """Rotation matrices: float[3, 3] or [n, 3, 3]."""
        x, y, z, w = (self.quat[..., i] for i in range(4))
        rows = [[x * x - y * y - z * z + w * w, 2 * (x * y - z * w), 2 * (x * z + y * w)],
                [2 * (x * y + z * w), y * y - x * x - z * z + w * w, 2 * (y * z - x * w)],
                [2 * (x * z - y * w), 2 * (y * z + x * w), z * z - x * x - y * y + w * w]]
        return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)

    def as_mrp(self) -> Any:
        """Modified Rodrigues parameters, of the turn by at most half a circle: float[3] or [n, 3]."""
        q = self.as_quat(canonical=True)
        return q[..., :3] / (1 + q[..., 3:])

    def as_quat(self, canonical: bool = False, scalar_first: bool = False) -> Any:
        """The quaternions: float[4] or [n, 4].

        Args:
          canonical: of the two that stand for the rotation, the one whose last non-zero of (x, y, z), then w, is
            positive: w > 0, or where w is 0 the first of x, y, z that is not.
          scalar_first: (w, x, y, z) in place of (x, y, z, w).
        """
        q = self.quat
        if canonical:
            x, y, z, w = (q[..., i:i + 1] for i in range(4))
            negative = (w < 0) | (w == 0) & ((x < 0) | (x == 0) & ((y < 0) | (y == 0) & (z < 0)))
            q = jnp.where(negative, -q, q)
        return jnp.concatenate([q[..., 3:], q[..., :3]], axis=-1) if scalar_first else q

    def as_rotvec(self, degrees: bool = False) -> Any:
        """Rotation vectors, axis times angle (at most half a circle): float[3] or [n, 3]."""
        q = self.as_quat(canonical=True)
        v = q[..., :3]
        angle = 2 * jnp.arctan2(_norm(v), q[..., 3:])
        result = _scale(angle, True) * v
        return jnp.rad2deg(result) if degrees else result

    def inv(self) -> Rotation:
        """The rotation back."""
        return Rotation(self.quat * jnp.array([-1, -1, -1, 1], self.quat.dtype))

    def magnitude(self) -> Any:
        """The angle of the rotation, from 0 to pi: float[] or [n]."""
        return 2 * jnp.arctan2(_norm(self.quat[..., :3])[..., 0], jnp.abs(self.quat[..., 3]))

    def mean(self, weights: Any = None) -> Rotation:
        """The rotation nearest to all of them, in the chordal distance, weighed by `weights`: [n].

        Source: F. Markley et al., Averaging quaternions (2007): the largest eigenvector of the sum of q q^T.
        """
        q = jnp.reshape(self.quat, (-1, 4))
        w = jnp.ones(q.shape[0], q.dtype) if weights is None else _floats(weights, (q.shape[0],), "weights")
        return Rotation(jnp.linalg.eigh((q.T * w) @ q)[1][:, -1])


class Slerp(NamedTuple):
    """Interpolation between rotations at given times, at constant angular velocity; made by `Slerp.init`.

    Attributes:
      times, timedelta: float[n]; float[n - 1], the differences.
      rotations: at the start of each interval.
      rotvecs: float[n - 1, 3], the turn over each interval.
    """

    times: Any
    timedelta: Any
    rotations: Rotation
    rotvecs: Any

    @classmethod
    def init(cls, times: Any, rotations: Rotation) -> Slerp:
        """The interpolation.

        Args:
          times: float[n], ascending, n at least 2.
          rotations: n rotations.

        Raises:
          ValueError: a single rotation, or another number of times.

        Example:
          >>> s = Slerp.init(jnp.array([0.0, 2.0]), Rotation.from_euler("z", jnp.array([[0.0], [1.0]])))
          >>> print(jnp.round(s(0.5).as_rotvec(), 3))
          [0.   0.   0.25]
        """
        if rotations.single or len(rotations) < 2:
            raise errors.value_error("`rotations` must be a sequence of at least 2 rotations.", op="Slerp")
        times = jnp.asarray(times)
        times = times.astype(jnp.result_type(times, float))
        if times.shape != (len(rotations),):
            raise errors.value_error(f"times has shape {times.shape}, ({len(rotations)},) is required: one time for "
                                     "each rotation", op="Slerp")
        first = rotations[:-1]
        return cls(times, jnp.diff(times), first, (first.inv() * rotations[1:]).as_rotvec())

    def __call__(self, times: Any) -> Rotation:
        """The rotations at `times`: [] or [m]. Outside the given times the nearest interval goes on."""
        times = jnp.asarray(times)
        at = jnp.clip(jnp.searchsorted(self.times, times, side="right") - 1, 0, len(self.timedelta) - 1)
        part = (times - self.times[at]) / self.timedelta[at]
        return self.rotations[at] * Rotation.from_rotvec(self.rotvecs[at] * part[..., None])


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.scipy.spatial.transform.{name}")

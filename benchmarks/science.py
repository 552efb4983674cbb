"""Cases from outside of neural networks. Each function is written once, for any namespace of NumPy's interface.

Its value in NumPy's float64 is what the compiled one must equal before a time counts, and its own compiled time is what
the time of the derivative is divided by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.cases import CASES, Case, normal_array


def science(name: str, derive: Callable[[Any, Callable[..., Any]], Callable[..., Any]], *arguments: np.ndarray,
            quick: bool = False) -> Callable[[Any], Any]:
    """Registers `function(xp, *arguments)`; `derive(jax, f)` makes the derivative that is timed."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def bound(*args: Any) -> Any:
            import jax.numpy as jnp
            return function(jnp, *args)

        def build() -> tuple[Callable[..., Any], tuple[Any, ...]]:
            import jax
            import jax.numpy as jnp
            return derive(jax, bound), tuple(jnp.asarray(a) for a in arguments)

        def reference() -> np.ndarray:
            return np.asarray(function(np, *[a.astype(np.float64) if a.dtype.kind == "f" else a for a in arguments]))

        CASES[name] = Case(build, quick, False, bound, reference)
        return function
    return register


def gradient(jax: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    return jax.grad(f)


def logsumexp(xp: Any, x: Any, axis: int) -> Any:
    top = xp.max(x, axis=axis, keepdims=True)
    return xp.log(xp.sum(xp.exp(x - top), axis=axis)) + xp.squeeze(top, axis)


@science("gaussian mixture, log likelihood", lambda jax, f: jax.grad(f, (0, 1, 2)),
         normal_array(25), normal_array(25, 10), normal_array(25, 10, 10) / 3, normal_array(1000, 10))
def gaussian_mixture(xp: Any, weights: Any, means: Any, factors: Any, x: Any) -> Any:
    difference = x[:, None, :] - means
    scaled = xp.einsum("kij,nkj->nki", factors, difference)
    terms = weights + xp.sum(factors[:, np.arange(10), np.arange(10)], axis=1) - 0.5 * xp.sum(scaled ** 2, axis=-1)
    return xp.sum(logsumexp(xp, terms, 1)) - 1000 * logsumexp(xp, weights, 0)


def _projected(xp: Any, camera: Any, point: Any) -> Any:
    """A point seen by a camera: rotation vector, centre, focal length, two coefficients of distortion."""
    rotation, centre, focal, k1, k2 = camera[:3], camera[3:6], camera[6], camera[7], camera[8]
    angle = xp.sqrt(xp.sum(rotation ** 2) + 1e-12)
    axis, moved = rotation / angle, point - centre
    turned = moved * xp.cos(angle) + xp.cross(axis, moved) * xp.sin(angle) + axis * xp.dot(axis, moved) * (
        1 - xp.cos(angle))
    flat = turned[:2] / (turned[2] + 5)
    size = xp.sum(flat ** 2)
    return flat * (1 + k1 * size + k2 * size ** 2) * focal


def _bundle(jax: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    def jacobians(cameras: Any, points: Any) -> Any:
        import jax.numpy as jnp
        return jax.vmap(jax.jacfwd(lambda c, p: _projected(jnp, c, p), (0, 1)))(cameras, points)
    return jacobians


@science("bundle adjustment, Jacobians of 2,000 observations", _bundle, normal_array(2000, 9) / 3,
         normal_array(2000, 3, seed=1))
def bundle_adjustment(xp: Any, cameras: Any, points: Any) -> Any:
    if xp is np:
        return np.stack([_projected(np, c, p) for c, p in zip(cameras, points)])
    import jax
    return jax.vmap(lambda c, p: _projected(xp, c, p))(cameras, points)


@science("hand: positions of 20 joints, Jacobian", lambda jax, f: jax.jacfwd(f), normal_array(60) / 5,
         normal_array(20, 3, seed=1))
def hand(xp: Any, angles: Any, bones: Any) -> Any:
    place, turn, out = xp.zeros(3), xp.eye(3), []
    for i in range(20):
        a, b, c = angles[3 * i], angles[3 * i + 1], angles[3 * i + 2]
        one, nil = xp.ones_like(a), xp.zeros_like(a)
        x = xp.stack([one, nil, nil, nil, xp.cos(a), -xp.sin(a), nil, xp.sin(a), xp.cos(a)]).reshape(3, 3)
        y = xp.stack([xp.cos(b), nil, xp.sin(b), nil, one, nil, -xp.sin(b), nil, xp.cos(b)]).reshape(3, 3)
        z = xp.stack([xp.cos(c), -xp.sin(c), nil, xp.sin(c), xp.cos(c), nil, nil, nil, one]).reshape(3, 3)
        turn = turn @ x @ y @ z
        place = place + turn @ bones[i]
        out.append(place)
    return xp.stack(out)


def _diagonal(jax: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    def diagonal(centres: Any, points: Any) -> Any:
        import jax.numpy as jnp
        slope = jax.grad(f)
        return jax.jvp(lambda c: slope(c, points), (centres,), (jnp.ones_like(centres),))[1]
    return diagonal


@science("k-means, diagonal of the Hessian", _diagonal, normal_array(10, 8), normal_array(5000, 8, seed=1))
def k_means(xp: Any, centres: Any, points: Any) -> Any:
    distance = xp.sum(points ** 2, 1)[:, None] - 2 * points @ centres.T + xp.sum(centres ** 2, 1)
    return xp.sum(xp.min(distance, axis=1))


@science("n bodies, 200 of them, gradient", gradient, normal_array(200, 3), quick=True)
def n_bodies(xp: Any, x: Any) -> Any:
    difference = x[:, None] - x
    return -0.5 * xp.sum(1 / xp.sqrt(xp.sum(difference ** 2, -1) + 0.01))


def _greeks(jax: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    import jax.numpy as jnp
    return jax.vmap(jax.grad(lambda *a: _call_price(jnp, *a), (0, 1, 2, 3)))


def _call_price(xp: Any, spot: Any, strike: Any, years: Any, volatility: Any) -> Any:
    def normal_below(z: Any) -> Any:  # Abramowitz and Stegun 7.1.26
        t = 1 / (1 + 0.3275911 * xp.abs(z) / 2 ** 0.5)
        tail = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
        tail = 0.5 * tail * xp.exp(-z * z / 2)
        return xp.where(z < 0, tail, 1 - tail)
    spread = volatility * xp.sqrt(years)
    d = (xp.log(spot / strike) + (0.02 + volatility ** 2 / 2) * years) / spread
    return spot * normal_below(d) - strike * xp.exp(-0.02 * years) * normal_below(d - spread)


_RNG = np.random.default_rng(0)


@science("black-scholes, Greeks of 100,000 options", _greeks,
         *[_RNG.uniform(low, high, 100_000).astype(np.float32) for low, high in (
             (80, 120), (80, 120), (0.1, 2), (0.1, 0.5))], quick=True)
def black_scholes(xp: Any, spot: Any, strike: Any, years: Any, volatility: Any) -> Any:
    return _call_price(xp, spot, strike, years, volatility)


@science("logistic regression, Hessian", lambda jax, f: jax.hessian(f), normal_array(50),
         normal_array(2000, 50, seed=1), (normal_array(2000, seed=2) > 0).astype(np.float32))
def logistic_regression(xp: Any, w: Any, x: Any, y: Any) -> Any:
    z = x @ w
    return xp.mean(xp.logaddexp(0.0, z) - y * z) + 0.01 * xp.sum(w ** 2)


@science("log-sum-exp of 1 million, gradient", gradient, normal_array(1000, 1000))
def log_sum_exp(xp: Any, x: Any) -> Any:
    return xp.sum(logsumexp(xp, x, 1))


def _per_example(jax: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    import jax.numpy as jnp
    return jax.vmap(jax.grad(lambda w, v, x: _network(jnp, w, v, x), (0, 1)), (None, None, 0))


def _network(xp: Any, w: Any, v: Any, x: Any) -> Any:
    return xp.sum((xp.tanh(x @ w) @ v) ** 2)


@science("gradients of each of 256 examples", _per_example, normal_array(32, 64) / 6, normal_array(64, 10, seed=1) / 8,
         normal_array(256, 32, seed=2), quick=True)
def per_example(xp: Any, w: Any, v: Any, x: Any) -> Any:
    return xp.sum((xp.tanh(x @ w) @ v) ** 2, axis=1)


def _scanned(jax: Any, f: Callable[..., Any]) -> Callable[..., Any]:
    import jax.numpy as jnp

    def loss(rates: Any, y: Any) -> Any:
        def step(y: Any, _: Any) -> Any:
            return _lotka_step(jnp, rates, y), None
        return jnp.sum(jax.lax.scan(step, y, None, length=1000)[0] ** 2)
    return jax.value_and_grad(loss)


def _lotka_step(xp: Any, rates: Any, y: Any) -> Any:
    def slope(y: Any) -> Any:
        growth = rates[:, 0] - rates[:, 1] * y[::-1]
        return y * growth * xp.asarray([1.0, -1.0], dtype=y.dtype)
    k1 = slope(y)
    k2 = slope(y + 0.005 * k1)
    k3 = slope(y + 0.005 * k2)
    k4 = slope(y + 0.01 * k3)
    return y + 0.01 / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@science("differential equation, 1,000 steps by scan, gradient", _scanned,
         np.array([[1.0, 0.5], [0.8, 0.3]], np.float32), np.array([1.0, 2.0], np.float32), quick=True)
def differential_equation(xp: Any, rates: Any, y: Any) -> Any:
    if xp is np:
        for _ in range(1000):
            y = _lotka_step(np, rates, y)
        return np.sum(y ** 2)
    import jax
    return xp.sum(jax.lax.scan(lambda y, _: (_lotka_step(xp, rates, y), None), y, None, length=1000)[0] ** 2)


@science("waves: 1 million sines and cosines, gradient", gradient, normal_array(1_000_000), quick=True)
def waves(xp: Any, x: Any) -> Any:
    return xp.mean(xp.sin(x) * xp.cos(2 * x) + xp.arctan(x))


@science("cumulative products and extremes, gradient", gradient, normal_array(256, 256) / 50 + 1)
def products_and_extremes(xp: Any, x: Any) -> Any:
    return xp.sum(xp.cumprod(x, axis=1)[:, -1]) + xp.sum(xp.max(x, axis=0)) + xp.sum(xp.sort(x, axis=1)[:, 10])


@science("rosenbrock of 10 numbers, gradient", gradient, normal_array(10), quick=True)
def rosenbrock(xp: Any, x: Any) -> Any:
    return xp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


@science("adam: a step for three small arrays", lambda jax, f: jax.value_and_grad(f, (0, 1, 2)),
         normal_array(16, 16), normal_array(16), normal_array(16), quick=True)
def adam(xp: Any, w: Any, b: Any, v: Any) -> Any:
    total: Any = 0.0
    for p in (w, b, v):
        moment, square = 0.1 * p, 0.01 * p * p
        total = total + xp.sum(p - 1e-3 * (moment / 0.1) / (xp.sqrt(square / 0.01) + 1e-8))
    return total


@science("kalman filter: a step, gradient", lambda jax, f: jax.grad(f, (0, 1)), normal_array(2),
         np.array([[2.0, 0.3], [0.3, 1.0]], np.float32), normal_array(1), quick=True)
def kalman(xp: Any, x: Any, spread: Any, seen: Any) -> Any:
    move, look = xp.asarray([[1.0, 0.1], [0.0, 1.0]]), xp.asarray([[1.0, 0.0]])
    x = move @ x
    spread = move @ spread @ move.T + 0.01 * xp.eye(2)
    gain = spread @ look.T / (look @ spread @ look.T + 0.1)
    x = x + (gain * (seen - look @ x)).ravel()
    return xp.sum(x ** 2) + xp.sum(spread - gain @ look @ spread)

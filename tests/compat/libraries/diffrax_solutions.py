"""Differential equations and their gradients, root finding, least squares, linear solves."""

import diffrax as dfx
import jax
import jax.numpy as jnp
import lineax as lx
import optimistix as optx


def field(t, y, a):
    return jnp.stack([a[0] * y[0] - a[1] * y[0] * y[1], -y[1] * a[2] + a[3] * y[0] * y[1]])


a, start = jnp.array([1.5, 1.0, 3.0, 1.0]), jnp.array([1.0, 1.0])


def solve(a, solver, adjoint):
    return dfx.diffeqsolve(dfx.ODETerm(field), solver, 0.0, 2.0, 0.1, start, args=a, adjoint=adjoint,
                           stepsize_controller=dfx.PIDController(rtol=1e-5, atol=1e-5),
                           saveat=dfx.SaveAt(ts=jnp.linspace(0, 2, 3))).ys


print(jax.grad(lambda a: solve(a, dfx.Tsit5(), dfx.RecursiveCheckpointAdjoint()).sum())(a))
print(jax.jit(jax.grad(lambda a: solve(a, dfx.Tsit5(), dfx.BacksolveAdjoint())[-1].sum()))(a))
print(solve(a, dfx.Kvaerno3(), dfx.DirectAdjoint())[-1])
noise = dfx.VirtualBrownianTree(0.0, 1.0, tol=1e-2, shape=(2,), key=jax.random.key(0))
terms = dfx.MultiTerm(dfx.ODETerm(lambda t, y, a: -y), dfx.ControlTerm(lambda t, y, a: jnp.eye(2) * 0.1, noise))
print(dfx.diffeqsolve(terms, dfx.Heun(), 0.0, 1.0, 0.1, start).ys)
newton = optx.Newton(1e-6, 1e-6)
print(jax.grad(lambda c: optx.root_find(lambda y, c: y ** 3 - c, newton, jnp.float32(1.0), c).value)(8.0))
valley = optx.least_squares(lambda y, _: jnp.stack([10 * (y[1] - y[0] ** 2), 1 - y[0]]),
                            optx.LevenbergMarquardt(1e-6, 1e-6), jnp.array([-1.0, 1.0])).value
print(valley)
matrix, right = jnp.array([[4.0, 1.0], [1.0, 3.0]]), jnp.array([1.0, 2.0])
for solver in (lx.LU(), lx.QR(), lx.SVD(), lx.GMRES(1e-5, 1e-5)):
    print(lx.linear_solve(lx.MatrixLinearOperator(matrix), right, solver).value)
print(jax.grad(lambda m: lx.linear_solve(lx.MatrixLinearOperator(m), right).value.sum())(matrix))

"""Finding the operation that makes a NaN, eagerly and under jit; then removing its cause."""

import jax
import jax.numpy as jnp


def unsafe(x):
    return jnp.sum(jnp.log(x) * x)


def safe(x):
    positive = x > 0
    return jnp.sum(jnp.where(positive, jnp.log(jnp.where(positive, x, 1.0)) * x, 0.0))


x = jnp.array([1.0, 0.0, 2.0])
print("without the check:", unsafe(x))
for run in (unsafe, jax.jit(unsafe)):
    with jax.debug_nans(True):
        try:
            run(x)
        except FloatingPointError as error:
            print("caught:", str(error).splitlines()[0])
        else:
            raise AssertionError("a NaN went unnoticed")
with jax.debug_nans(True):
    value, gradient = jax.value_and_grad(safe)(x)
assert jnp.isfinite(value) and jnp.all(jnp.isfinite(gradient))
print("with the cause removed:", value, gradient)

import jax
import jax.numpy as jnp

def objective(x):
    frozen_branch = 10. * jax.lax.stop_gradient(x)
    return jnp.sum(x * x + frozen_branch)

x = jnp.array([2., -3.])
value = objective(x)
gradient = jax.grad(objective)(x)
assert value == 3.  # 4+9 + 20-30
assert jnp.allclose(gradient, jnp.array([4., -6.]))
assert jnp.array_equal(jax.lax.stop_gradient(x), x)
print(float(value), gradient)

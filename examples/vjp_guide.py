import jax
import jax.numpy as jnp
def model(x):
    return jnp.array([x[0] ** 2 + x[1], x[0] * x[1]])
x = jnp.array([2., 3.])
output, pullback = jax.vjp(model, x)
cotangent = jnp.array([2., -1.])
(input_cotangent,) = pullback(cotangent)
jacobian = jnp.array([[4., 1.], [3., 2.]])
assert jnp.allclose(output, jnp.array([7., 6.]))
assert jnp.allclose(input_cotangent, cotangent @ jacobian)
assert jnp.allclose(input_cotangent, jnp.array([5., 0.]))
print(output, input_cotangent)

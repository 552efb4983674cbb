"""A primitive of one's own, with a rule for every transformation: multiply-add, and a program turned around."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal, Primitive
from jax.extend.mlir.dialects import stablehlo
from jax.interpreters import ad, batching, mlir

multiply_add_p = Primitive("multiply_add")


def multiply_add(x, y, z):
    """x * y + z, as one operation."""
    return multiply_add_p.bind(x, y, z)


def multiply_add_impl(x, y, z):
    return np.add(np.multiply(x, y), z)


def multiply_add_abstract_eval(xs, ys, zs):
    assert xs.shape == ys.shape == zs.shape
    return jax.core.ShapedArray(xs.shape, xs.dtype)


def multiply_add_lowering(ctx, x, y, z):
    return [stablehlo.AddOp(stablehlo.MulOp(x, y), z).result]


def multiply_add_value_and_jvp(primals, tangents):
    x, y, z = primals
    x_dot, y_dot, z_dot = (ad.instantiate_zeros(t) for t in tangents)
    return multiply_add(x, y, z), multiply_add(x_dot, y, multiply_add(x, y_dot, z_dot))


def multiply_add_transpose(ct, x, y, z):
    """Linear in z, and in x or y, whichever are undefined here; not in both x and y."""
    def times(given, wanted):
        if not ad.is_undefined_primal(wanted):
            return None
        return ad.Zero(wanted.aval) if type(ct) is ad.Zero else multiply_add(ct, given, jnp.zeros_like(given))

    assert not (ad.is_undefined_primal(x) and ad.is_undefined_primal(y))
    return times(y, x), times(x, y), ct if ad.is_undefined_primal(z) else None


def multiply_add_batch(args, axes):
    size = next(x.shape[axis] for x, axis in zip(args, axes) if axis is not None)
    return multiply_add(*[batching.bdim_at_front(x, axis, size) for x, axis in zip(args, axes)]), 0


multiply_add_p.def_impl(multiply_add_impl)
multiply_add_p.def_abstract_eval(multiply_add_abstract_eval)
mlir.register_lowering(multiply_add_p, multiply_add_lowering, platform="cpu")
ad.primitive_jvps[multiply_add_p] = multiply_add_value_and_jvp
ad.primitive_transposes[multiply_add_p] = multiply_add_transpose
batching.primitive_batchers[multiply_add_p] = multiply_add_batch


def square_add(a, b):
    return multiply_add(a, a, b)


print("eager", square_add(2.0, 10.0))
print("jit", jax.jit(square_add)(2.0, 10.0))
print("jvp", *jax.jvp(square_add, (2.0, 10.0), (1.0, 1.0)))
print("jit of jvp", *jax.jit(lambda p, t: jax.jvp(square_add, p, t))((2.0, 10.0), (1.0, 1.0)))
print("grad", jax.grad(square_add)(2.0, 10.0))
print("jit of grad", jax.jit(jax.grad(square_add))(2.0, 10.0))
print("second derivative", jax.grad(jax.grad(square_add))(2.0, 10.0))
print("vmap", jax.vmap(square_add)(np.array([2.0, 3.0], np.float32), np.array([10.0, 20.0], np.float32)))
print("jit of vmap of grad", jax.jit(jax.vmap(jax.grad(square_add)))(jnp.array([2.0, 3.0]), jnp.array([10.0, 20.0])))

# A program read equation by equation: the inverse of a chain of invertible functions.
INVERSES = {jax.lax.exp_p: jnp.log, jax.lax.tanh_p: jnp.arctanh, jax.lax.log_p: jnp.exp}


def inverse(fun):
    def inverted(y):
        closed = jax.make_jaxpr(fun)(y)
        values = {closed.jaxpr.outvars[0]: y}
        for eqn in closed.jaxpr.eqns[::-1]:
            (invar,), (outvar,) = eqn.invars, eqn.outvars
            assert not isinstance(invar, Literal)
            values[invar] = INVERSES[eqn.primitive](values[outvar])
        return values[closed.jaxpr.invars[0]]
    return inverted


print("inverse", inverse(lambda x: jnp.exp(jnp.tanh(x)))(2.0), jnp.arctanh(jnp.log(2.0)))

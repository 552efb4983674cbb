"""Layers of networks as pairs of functions (jax.example_libraries.stax).

A layer is (init_fun, apply_fun): init_fun(key, input shape) -> (output shape, parameters), where -1 stands for a size
that does not matter; apply_fun(parameters, inputs, rng=key) -> outputs.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import pullback.numpy as jnp
from pullback import lax, nn, random
from pullback.api.inspect import eval_shape
from pullback.api.stages import ShapeDtypeStruct
from pullback.core import errors
from pullback.nn import (
    elu,
    gelu,
    leaky_relu,
    log_softmax,
    relu,
    selu,
    sigmoid,
    softmax,
    softplus,
    standardize,
)
from pullback.nn.initializers import glorot_normal, normal, ones, zeros

__all__ = ["AvgPool", "BatchNorm", "Conv", "Conv1DTranspose", "ConvTranspose", "Dense", "Dropout", "Elu", "Exp",
           "FanInConcat", "FanInSum", "FanOut", "Flatten", "Gelu", "GeneralConv", "GeneralConvTranspose", "Identity",
           "LeakyRelu", "LogSoftmax", "MaxPool", "Relu", "Selu", "Sigmoid", "Softmax", "Softplus", "SumPool", "Tanh",
           "elementwise", "elu", "gelu", "glorot", "glorot_normal", "leaky_relu", "log_softmax", "logsoftmax", "normal",
           "ones", "parallel", "randn", "relu", "selu", "serial", "shape_dependent", "sigmoid", "softmax", "softplus",
           "standardize", "zeros"]

Layer = tuple[Callable[[Any, Any], Any], Callable[..., Any]]

logsoftmax, glorot, randn = log_softmax, glorot_normal, normal


def _shape(apply: Callable[..., Any], *given: Any) -> tuple[int, ...]:
    """The shape of what a function of arrays returns; a size of -1, which stands for any, stays -1."""
    def sized(n: int) -> Any:
        return eval_shape(apply, *[ShapeDtypeStruct([n if k == -1 else k for k in s], "float32") for s in given]).shape
    return tuple([-1 if a != b else a for a, b in zip(sized(64), sized(128), strict=True)])


def Dense(out_dim: int, W_init: Any = glorot_normal(), b_init: Any = normal()) -> Layer:  # noqa: B008
    """A product with a matrix, and a bias."""
    def init_fun(rng: Any, input_shape: Sequence[int]) -> Any:
        first, second = random.split(rng)
        return (*input_shape[:-1], out_dim), (W_init(first, (input_shape[-1], out_dim)), b_init(second, (out_dim,)))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        weights, bias = params
        return jnp.dot(inputs, weights) + bias
    return init_fun, apply_fun


def _convolution(op: Callable[..., Any], dimension_numbers: tuple[str, str, str], out_chan: int,
                 filter_shape: Sequence[int], strides: Any, padding: Any, W_init: Any, b_init: Any) -> Layer:
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    steps = tuple(strides) if strides else (1,) * len(filter_shape)
    draw = W_init or glorot_normal(rhs_spec.index("I"), rhs_spec.index("O"))

    def init_fun(rng: Any, input_shape: Sequence[int]) -> Any:
        sizes = iter(filter_shape)
        kernel = [out_chan if c == "O" else input_shape[lhs_spec.index("C")] if c == "I" else next(sizes)
                  for c in rhs_spec]
        bias = tuple([out_chan if c == "C" else 1 for c in out_spec])
        first, second = random.split(rng)
        shape = _shape(functools.partial(op, window_strides=steps, padding=padding), input_shape, kernel)
        return shape, (draw(first, tuple(kernel)), b_init(second, bias))

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        weights, bias = params
        return op(inputs, weights, window_strides=steps, padding=padding) + bias
    return init_fun, apply_fun


def GeneralConv(dimension_numbers: Any, out_chan: int, filter_shape: Sequence[int], strides: Any = None,
                padding: Any = "VALID", W_init: Any = None, b_init: Any = normal(1e-6)) -> Layer:  # noqa: B008
    """A convolution and a bias; `dimension_numbers` as ("NHWC", "HWIO", "NHWC")."""
    op = functools.partial(lax.conv_general_dilated, dimension_numbers=dimension_numbers)
    return _convolution(op, dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init)


def GeneralConvTranspose(dimension_numbers: Any, out_chan: int, filter_shape: Sequence[int], strides: Any = None,
                         padding: Any = "VALID", W_init: Any = None, b_init: Any = normal(1e-6)) -> Layer:  # noqa: B008
    """A transposed convolution and a bias."""
    def op(x: Any, w: Any, window_strides: Any, padding: Any) -> Any:
        return lax.conv_transpose(x, w, window_strides, padding, dimension_numbers=dimension_numbers)
    return _convolution(op, dimension_numbers, out_chan, filter_shape, strides, padding, W_init, b_init)


Conv = functools.partial(GeneralConv, ("NHWC", "HWIO", "NHWC"))
ConvTranspose = functools.partial(GeneralConvTranspose, ("NHWC", "HWIO", "NHWC"))
Conv1DTranspose = functools.partial(GeneralConvTranspose, ("NHC", "HIO", "NHC"))


def BatchNorm(axis: Any = (0, 1, 2), epsilon: float = 1e-5, center: bool = True, scale: bool = True,
              beta_init: Any = zeros, gamma_init: Any = ones) -> Layer:
    """Mean 0 and variance 1 along axes, then a factor and a bias for each element along the others."""
    axes = (axis,) if isinstance(axis, int) else tuple(axis)

    def init_fun(rng: Any, input_shape: Sequence[int]) -> Any:
        shape = tuple([n for i, n in enumerate(input_shape) if i not in axes])
        first, second = random.split(rng)
        beta, gamma = beta_init(first, shape) if center else (), gamma_init(second, shape) if scale else ()
        return input_shape, (beta, gamma)

    def apply_fun(params: Any, x: Any, **kwargs: Any) -> Any:
        beta, gamma = params
        place = tuple([None if i in axes else slice(None) for i in range(jnp.ndim(x))])
        z = nn.standardize(x, axes, epsilon=epsilon)
        z = gamma[place] * z if scale else z
        return z + beta[place] if center else z
    return init_fun, apply_fun


def elementwise(fun: Callable[..., Any], **fun_kwargs: Any) -> Layer:
    """A function of each element."""
    return lambda rng, input_shape: (input_shape, ()), lambda params, inputs, **kwargs: fun(inputs, **fun_kwargs)


Tanh = elementwise(jnp.tanh)
Relu = elementwise(relu)
Exp = elementwise(jnp.exp)
LogSoftmax = elementwise(log_softmax, axis=-1)
Softmax = elementwise(softmax, axis=-1)
Softplus = elementwise(softplus)
Sigmoid = elementwise(sigmoid)
Elu = elementwise(elu)
LeakyRelu = elementwise(leaky_relu)
Selu = elementwise(selu)
Gelu = elementwise(gelu)


def _pooling(reducer: Any, start: Any, finish: Callable[[Any, Callable[[Any], Any]], Any], window_shape: Any,
             strides: Any, padding: str, spec: Any) -> Layer:
    steps, window = tuple(strides or (1,) * len(window_shape)), tuple(window_shape)
    places = [i for i, c in enumerate(spec) if c not in "NC"] if spec else list(range(1, len(window) + 1))

    def spread(sizes: tuple[int, ...]) -> tuple[int, ...]:
        out = [1] * (len(window) + 2)
        for i, n in zip(places, sizes, strict=True):
            out[i] = n
        return tuple(out)

    def pooled(x: Any) -> Any:
        return lax.reduce_window(x, start, reducer, spread(window), spread(steps), padding)

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        return finish(inputs, pooled)
    return lambda rng, input_shape: (_shape(pooled, input_shape), ()), apply_fun


def MaxPool(window_shape: Any, strides: Any = None, padding: str = "VALID", spec: Any = None) -> Layer:
    """The largest element of each window."""
    return _pooling(lax.max, -jnp.inf, lambda x, pooled: pooled(x), window_shape, strides, padding, spec)


def SumPool(window_shape: Any, strides: Any = None, padding: str = "VALID", spec: Any = None) -> Layer:
    """The sum of each window."""
    return _pooling(lax.add, 0.0, lambda x, pooled: pooled(x), window_shape, strides, padding, spec)


def AvgPool(window_shape: Any, strides: Any = None, padding: str = "VALID", spec: Any = None) -> Layer:
    """The mean of each window, of the elements that are not padding."""
    def mean(x: Any, pooled: Callable[[Any], Any]) -> Any:
        return pooled(x) / pooled(jnp.ones_like(x))
    return _pooling(lax.add, 0.0, mean, window_shape, strides, padding, spec)


def _flatten() -> Layer:
    def init_fun(rng: Any, input_shape: Sequence[int]) -> Any:
        return (input_shape[0], functools.reduce(operator.mul, input_shape[1:], 1)), ()
    return init_fun, lambda params, inputs, **kwargs: jnp.reshape(inputs, (inputs.shape[0], -1))


Flatten = _flatten()
Identity: Layer = (lambda rng, input_shape: (input_shape, ()), lambda params, inputs, **kwargs: inputs)


def FanOut(num: int) -> Layer:
    """The input, `num` times."""
    return lambda rng, input_shape: ([input_shape] * num, ()), lambda params, inputs, **kwargs: [inputs] * num


FanInSum: Layer = (lambda rng, input_shape: (input_shape[0], ()),
                   lambda params, inputs, **kwargs: functools.reduce(operator.add, inputs))


def FanInConcat(axis: int = -1) -> Layer:
    """The inputs one after another along an axis."""
    def init_fun(rng: Any, input_shape: Sequence[Sequence[int]]) -> Any:
        at = axis % len(input_shape[0])
        first = input_shape[0]
        return (*first[:at], sum(shape[at] for shape in input_shape), *first[at + 1:]), ()
    return init_fun, lambda params, inputs, **kwargs: jnp.concatenate(inputs, axis)


def Dropout(rate: float, mode: str = "train") -> Layer:
    """Elements kept with probability `rate`, and divided by it; all of them, unless mode is "train".

    Raises (when applied):
      ValueError: no `rng` is given.
    """
    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        key = kwargs.get("rng")
        if key is None:
            raise errors.value_error("rng is None, a random key is required", op="Dropout",
                                     fix="call apply_fun(params, inputs, rng=key)")
        if mode != "train":
            return inputs
        return jnp.where(random.bernoulli(key, rate, inputs.shape), inputs / rate, 0)
    return lambda rng, input_shape: (input_shape, ()), apply_fun


def serial(*layers: Layer) -> Layer:
    """Layers one after another.

    Example:
      >>> from pullback.example_libraries import stax
      >>> init, apply = stax.serial(stax.Dense(4), stax.Relu, stax.Dense(1))
      >>> shape, params = init(random.key(0), (-1, 3))
      >>> shape, apply(params, jnp.ones((2, 3))).shape
      ((-1, 1), (2, 1))
    """
    def init_fun(rng: Any, input_shape: Any) -> Any:
        params = []
        for init, _ in layers:
            rng, key = random.split(rng)
            input_shape, own = init(key, input_shape)
            params.append(own)
        return input_shape, params

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        for (_, apply), own, key in zip(layers, params, _keys(kwargs.pop("rng", None), len(layers)), strict=True):
            inputs = apply(own, inputs, rng=key, **kwargs)
        return inputs
    return init_fun, apply_fun


def parallel(*layers: Layer) -> Layer:
    """Layers side by side: takes and returns a list with an entry for each."""
    def init_fun(rng: Any, input_shape: Sequence[Any]) -> Any:
        made = [init(key, shape) for (init, _), key, shape in
                zip(layers, random.split(rng, len(layers)), input_shape, strict=True)]
        return [shape for shape, _ in made], [params for _, params in made]

    def apply_fun(params: Any, inputs: Any, **kwargs: Any) -> Any:
        keys = _keys(kwargs.pop("rng", None), len(layers))
        return [apply(own, x, rng=key, **kwargs) for (_, apply), own, x, key in
                zip(layers, params, inputs, keys, strict=True)]
    return init_fun, apply_fun


def _keys(rng: Any, count: int) -> Any:
    return (None,) * count if rng is None else random.split(rng, count)


def shape_dependent(make_layer: Callable[[Any], Layer]) -> Layer:
    """A layer that is made when the shape of its input is known."""
    return (lambda rng, input_shape: make_layer(input_shape)[0](rng, input_shape),
            lambda params, inputs, **kwargs: make_layer(inputs.shape)[1](params, inputs, **kwargs))

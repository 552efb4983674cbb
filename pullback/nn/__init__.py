"""Functions that neural networks are made of: activations, normalization, attention, initializers."""

from __future__ import annotations

from typing import Any

from pullback.core import errors
from pullback.nn import initializers
from pullback.nn.activations import (
    celu,
    elu,
    gelu,
    glu,
    hard_sigmoid,
    hard_silu,
    hard_swish,
    hard_tanh,
    identity,
    leaky_relu,
    log1mexp,
    log_sigmoid,
    mish,
    relu,
    relu6,
    selu,
    sigmoid,
    silu,
    soft_sign,
    softplus,
    sparse_plus,
    sparse_sigmoid,
    squareplus,
    swish,
    tanh,
)
from pullback.nn.attention import dot_product_attention
from pullback.nn.normalization import log_softmax, logmeanexp, logsumexp, one_hot, softmax, standardize
from pullback.nn.scaled import get_scaled_dot_general_config, scaled_dot_general, scaled_matmul
from pullback.runtime import remember as _remember

__all__ = [
    "celu", "dot_product_attention", "elu", "gelu", "get_scaled_dot_general_config", "glu", "hard_sigmoid",
    "hard_silu", "hard_swish", "hard_tanh", "identity", "initializers", "leaky_relu", "log1mexp", "log_sigmoid",
    "log_softmax", "logmeanexp", "logsumexp", "mish", "one_hot", "relu", "relu6", "scaled_dot_general",
    "scaled_matmul", "selu", "sigmoid", "silu", "soft_sign", "softmax", "softplus", "sparse_plus", "sparse_sigmoid",
    "squareplus", "standardize", "swish", "tanh",
]

_remember.install(globals(), [name for name in __all__ if name not in (
    "dot_product_attention", "get_scaled_dot_general_config", "identity", "initializers")])


def __getattr__(name: str) -> Any:
    raise errors.unsupported(f"pullback.nn.{name}")

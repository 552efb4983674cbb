"""Random numbers: keys are values, and a function of a key gives the same numbers every time.

    key = random.key(0)
    key, sub = random.split(key)
    x = random.normal(sub, (3,))

Bits and integers equal those of jax for the same key, floats equal them to rounding.
"""

from typing import Any

from pullback import numpy as _numpy  # noqa: F401  # the operators of results; makes operations run at once
from pullback.core import errors as _errors
from pullback.random.continuous import (
    cauchy,
    double_sided_maxwell,
    exponential,
    gumbel,
    laplace,
    logistic,
    lognormal,
    maxwell,
    normal,
    pareto,
    rayleigh,
    triangular,
    truncated_normal,
    wald,
    weibull_min,
)
from pullback.random.counts import binomial, multinomial, poisson
from pullback.random.discrete import bernoulli, geometric, rademacher
from pullback.random.gammas import ball, beta, chisquare, dirichlet, f, gamma, generalized_normal, loggamma, t
from pullback.random.keys import (
    PRNGKey,
    clone,
    fold_in,
    key,
    key_data,
    key_dtype,
    key_impl,
    split,
    wrap_key_data,
)
from pullback.random.matrices import multivariate_normal, orthogonal
from pullback.random.sampling import categorical, choice, permutation
from pullback.random.uniforms import bits, randint, uniform
from pullback.runtime import remember as _remember

__all__ = [
    "PRNGKey", "ball", "bernoulli", "beta", "binomial", "bits", "categorical", "cauchy", "chisquare", "choice",
    "clone", "dirichlet", "double_sided_maxwell", "exponential", "f", "fold_in", "gamma", "generalized_normal",
    "geometric", "gumbel", "key", "key_data", "key_dtype", "key_impl", "laplace", "loggamma", "logistic", "lognormal",
    "maxwell", "multinomial", "multivariate_normal", "normal", "orthogonal", "pareto", "permutation", "poisson",
    "rademacher", "randint", "rayleigh", "split", "t", "triangular", "truncated_normal", "uniform", "wald",
    "weibull_min", "wrap_key_data",
]

_remember.install(globals(), [name for name in __all__ if not name.startswith("key_")])


def __getattr__(name: str) -> Any:
    raise _errors.unsupported(f"pullback.random.{name}")

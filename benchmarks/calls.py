"""The calls that `benchmarks.names` times, and the arrays in them."""

from __future__ import annotations

from typing import Any

# namespace: `names: arguments | other arguments` with the arrays of `arrays`
TABLE = {
    "jnp": """
abs acos acosh angle arctan arctanh asin asinh cbrt ceil conj: U
cos cosh deg2rad exp exp2 expm1 fabs floor imag isfinite isinf: U
isnan log log10 log1p log2 logical_not negative positive rad2deg: U
real reciprocal rint sign signbit sin sinc sinh spacing: U
sqrt square tan tanh trunc i0 isneginf isposinf frexp modf nan_to_num unwrap isreal iscomplex: U
sin cos tan exp tanh log1p expm1 sinh cosh arctan floor round i0 sinc unwrap: 20 * X
abs angle conj exp log sqrt sin tanh square isfinite real sort sort_complex: Z
add subtract multiply divide floor_divide remainder fmod divmod: X, Y
maximum minimum fmax fmin hypot arctan2 logaddexp logaddexp2: X, Y
copysign heaviside nextafter equal not_equal greater: X, Y
less_equal logical_and logical_xor isclose allclose array_equal: X, Y
power float_power: U, X | U, 3 | U, 2.5
floor_divide remainder divmod fmod gcd lcm bitwise_and bitwise_xor left_shift right_shift: I, J
bitwise_count bitwise_not abs sign: J
power: J, 3
ldexp: X, J
clip: X, -0.5, 0.5
where: B, X, Y
select: [B, X > 0], [X, Y], 0.0
choose: J % 3, [X, Y, U], mode='clip'
piecewise: X, [X < 0, X > 1], [lambda x: -x, lambda x: x * x, 0.0]
all any count_nonzero: B
sum prod max min mean std var nansum nanprod nanmax nanmin nanmean nanstd nanvar ptp: U | E, axis=0 | E, axis=1
argmax argmin nanargmax nanargmin cumsum cumprod nancumsum cumulative_sum: U | E, axis=0 | E, axis=1
median nanmedian: X | E, axis=0
quantile nanquantile: X, 0.3 | E, 0.3, axis=1
percentile nanpercentile: X, 30.0 | X, Q * 100
average: X, weights=U
sort argsort: X | E, axis=0 | E, axis=1 | I | X, stable=False
top_k: X, 100
lexsort: (J, X)
searchsorted: T, X | T, Q
digitize: X, T[::1000]
histogram: X | X, 100 | X, Q | J, 32
histogram_bin_edges: X
histogram2d: X, Y
histogramdd: E[:, :2], 4
bincount: J, length=64 | J, X, length=64
interp: X, T, Y
unique unique_values: J, size=64
unique_counts: J, size=64
unique_inverse: J, size=64
unique_all: J, size=64
union1d intersect1d setdiff1d setxor1d: J[:2000], J[:2000] + 16, size=64
isin: J, Q > 0 | I, J[:1000]
nonzero flatnonzero argwhere: B, size=1000
convolve correlate: X[:10000], U[:100] | X[:1000], U[:1000], 'same'
cov corrcoef: M | E
cross: C, C + 1
diff: X | X, 3 | E, axis=0
ediff1d gradient trapezoid: X
dot vdot inner vecdot: X, Y
dot matmul inner: M, D
matvec: M, M[0]
vecmat: M[0], M
outer: X[:300], Y[:300]
kron: M[:16, :16], M[:16, :16]
tensordot: G, G, ((1, 2), (1, 2))
einsum: 'ij,jk->ik', M, D | 'bij,bjk->bik', G, G | 'bij,bij->b', G, G | 'bij->bji', G | 'ij,j->i', M, M[0]
einsum: 'bii->b', G | 'ij,jk,kl->il', M, D, M | 'i,i->', X, Y | 'bij->j', G
poly: M[0, :16]
polyadd polysub: X, Y
polymul: X[:500], Y[:500]
polyder polyint: X
polydiv: X[:50], Y[:10]
polyfit: Q, U[:17], 3
polyval: M[0, :16], X
roots: M[0, :16], strip_zeros=False
vander: X[:300], 10
append concatenate stack hstack vstack column_stack: X, Y
roll: X, 7 | E, (1, 2), (0, 1)
flip: X
tile repeat pad: X, 2
flip fliplr flipud rot90 transpose tril triu trace diagonal ravel diag: M
pad: E, 3, 'reflect' | E, 3, 'edge' | E, 3, 'wrap' | E, 3, 'constant'
repeat: E, 3, axis=1
insert: X, 5, 1.0
delete: X, 5
take: X, I | E, J, axis=0 | X, I, mode='clip'
take_along_axis: E, E.astype(int) % 4, axis=1
put: X, I, Y, inplace=False
compress extract: B, X, size=1000
fill_diagonal: M, 2.0, inplace=False
packbits: B
unpackbits: J.astype('uint8')
ravel_multi_index: (J, J), (64, 64), mode='clip'
unravel_index: I, (1000, 100)
meshgrid: X[:300], Y[:300]
linspace: X[0], 1.0, 100000
arange: 100000
tri eye: 300
swapaxes moveaxis: G, 0, 2
split: X, 4
astype: X, 'int32' | J, 'float32' | X, 'bfloat16'
apply_along_axis: lambda x: x * x.sum(), 0, E
blackman hamming hanning bartlett: 1000
kaiser: 1000, 14.0
""",
    "jnp.linalg": """
cholesky inv eigh eigvalsh svd svdvals qr slogdet det pinv matrix_rank cond: D | H
eig eigvals: M
norm matrix_norm: M | H
vector_norm: X
norm: M, 2 | X, 3
solve: D, M | H, H[:, :, :1]
lstsq: M, D
matrix_power: M, 5
multi_dot: [M, D, M]
tensorinv: M.reshape(8, 16, 128), 2
tensorsolve: M, M[0]
cross: C, C + 1
""",
    "jnp.fft": """
fft ifft rfft fftn rfftn hfft ihfft: X[:65536] | M
irfft: Z[:32769]
fft ifft fft2 ifft2: Z[:65536].reshape(256, 256)
irfft2 irfftn: Z[:65792].reshape(256, 257)
rfft2: M
fftshift ifftshift: X
fft: X[:10007] | E
""",
    "lax": """
erf erfc erf_inv digamma lgamma bessel_i0e bessel_i1e logistic rsqrt cbrt tan exp2: U
erf erfc digamma lgamma logistic rsqrt: P
integer_pow: X, 3 | X, -2
clz population_count: J
pow atan2 rem nextafter: U, X
igamma igammac igamma_grad_a random_gamma_grad: P, U
zeta: P + 1, U
polygamma: jnp.round(P), U
betainc: P, U, U
clamp: -0.5, X, 0.5
cumsum cumprod cummax cummin cumlogsumexp: X | E, axis=1 | E, axis=0
reduce_sum reduce_max reduce_prod: E, (0,)
reduce_window: E, 0.0, lax.add, (3, 3), (1, 1), 'SAME' | E, -jnp.inf, lax.max, (2, 2), (2, 2), 'VALID'
reduce_window: X, 0.0, lax.add, (50,), (1,), 'SAME'
reduce: X, 0.0, lax.add, (0,)
reduce_precision: X, 5, 10
bitcast_convert_type: X, 'int32'
sort: X
sort_key_val: X, J
top_k: X, 100 | E, 5
approx_max_k: X, 100
dot_general: G, G, (((2,), (1,)), ((0,), (0,)))
conv_general_dilated: E.reshape(4, 25, 32, 32), X[:900].reshape(4, 25, 3, 3), (1, 1), 'SAME'
dynamic_slice: X, (J[0],), (1000,)
dynamic_update_slice: X, Y[:1000], (J[0],)
associative_scan: jnp.add, X
map: lambda x: x.sum(), E
scan: lambda c, x: (c * 0.9 + x, c), X[0], X[:2000]
scan: lambda c, x: (jnp.tanh(c @ M + x), None), M[0], M
fori_loop: 0, 1000, lambda i, c: c * 1.0001 + i, M
while_loop: lambda c: c[0] < 1000, lambda c: (c[0] + 1, c[1] * 0.999), (0, M)
cond: X[0] > 0, jnp.sin, jnp.cos, X
switch: J[0] % 3, [jnp.sin, jnp.cos, jnp.exp], X
select_n: B, X, Y
""",
    "nn": """
celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu: X
log_sigmoid mish relu relu6 selu sigmoid silu soft_sign: X
softplus sparse_plus sparse_sigmoid squareplus standardize tanh glu: X
softmax log_softmax logsumexp logmeanexp standardize glu: E
log1mexp: P
one_hot: J[:2000], 64
gelu: X, approximate=False
dot_product_attention: E.reshape(4, 64, 4, 100), E.reshape(4, 64, 4, 100) + 1, E.reshape(4, 64, 4, 100)
""",
    "random": """
bits cauchy exponential gumbel laplace logistic: K, (100000,)
maxwell normal rademacher uniform: K, (100000,)
bernoulli: K, 0.3, (100000,)
beta: K, 2.0, 3.0, (10000,)
binomial: K, 20, 0.3, (10000,)
chisquare t: K, 3.0, (10000,)
gamma loggamma: K, 2.0, (10000,) | K, P[:10000]
poisson: K, 3.0, (10000,) | K, 30.0, (10000,)
dirichlet: K, P[:8], (1000,)
f: K, 2.0, 3.0, (10000,)
generalized_normal: K, 2.0, (10000,)
geometric: K, 0.3, (100000,)
pareto: K, 2.0, (100000,)
wald: K, 2.0, (100000,)
lognormal: K, 1.0, (100000,)
rayleigh: K, 2.0, (100000,)
double_sided_maxwell: K, 0.0, 1.0, (100000,)
weibull_min: K, 1.0, 2.0, (100000,)
triangular: K, 0.0, 0.3, 1.0, (100000,)
truncated_normal: K, -1.0, 1.0, (100000,)
categorical: K, E
choice: K, 1000, (1000,) | K, 1000, (100,), False | K, 1000, (1000,), True, U[:1000]
permutation: K, X | K, 1000
randint: K, (100000,), 0, 1000
multinomial: K, 100, U[:8] / U[:8].sum(), shape=(1000, 8)
multivariate_normal: K, M[0, :16], D[:16, :16], (1000,)
orthogonal: K, 64
ball: K, 3, shape=(1000,)
split: K, 1000
fold_in: K, J[0]
""",
    "scipy.special": """
digamma erf erfc erfcx exp1 expi expit expn gamma gammaln: P
i0 i0e i1 i1e log_ndtr loggamma ndtr sici spence wofz dawsn: P
fresnel gammasgn entr erfinv logit ndtri factorial: U
erf erfc log_ndtr ndtr gammaln: X
beta betaln boxcox boxcox1p comb gammainc gammaincc kl_div poch rel_entr xlog1py xlogy owens_t: P, U
betainc: P, U, U
expn: 2, U
hyp1f1: P, U, X
hyp2f1: P[:10000], P[1:10001], U[:10000], U[1:10001] * 0.5
multigammaln: P + 5, 2
polygamma: 1, P
zeta: P + 1.5, U
log_softmax softmax logsumexp: E
bessel_jn: U[:1000], v=2
""",
    "scipy.stats": """
norm.cdf norm.logcdf norm.logpdf norm.logsf norm.pdf norm.sf norm.isf norm.ppf: U
cauchy.cdf cauchy.logcdf cauchy.logpdf cauchy.ppf expon.cdf expon.logpdf gumbel_l.logpdf gumbel_r.cdf laplace.cdf: U
laplace.logpdf logistic.cdf logistic.logpdf logistic.ppf uniform.pdf rankdata sem: U
bernoulli.logpmf bernoulli.cdf: J % 2, U
beta.logpdf beta.cdf: U, P, P + 1
betabinom.logpmf: J, 40, P, P
binom.logpmf: J, 40, U
chi2.logpdf chi2.cdf chi2.sf gamma.logpdf gamma.cdf gamma.logsf poisson.logpmf pareto.logpdf: P, P + 1
dirichlet.logpdf: U[:8] / U[:8].sum(), P[:8]
gennorm.logpdf gennorm.cdf: X, P
geom.logpmf: J, U
multinomial.logpmf: J[:8], J[:8].sum(), U[:8] / U[:8].sum()
multivariate_normal.logpdf: E[:, :16], M[0, :16], D[:16, :16]
nbinom.logpmf: J, 5, U
poisson.cdf: J, P
t.logpdf: X, P
truncnorm.logpdf truncnorm.cdf: U, -1.0, 2.0
vonmises.logpdf: X, P
wrapcauchy.logpdf: U, U
gaussian_kde: E[0]
mode: J
""",
}
_JOINS = {"concatenate", "stack", "hstack", "vstack", "column_stack"}  # called with a tuple
EAGER = {
    "jnp": """
abs exp log sin cos tanh sqrt square negative sign floor: M
round isnan isfinite sum mean max min prod std var argmax argmin: M
cumsum any all sort argsort ravel transpose trace diagonal tril triu flip squeeze zeros_like ones_like: M
add subtract multiply divide maximum minimum power equal: M, N
less greater logical_and arctan2 dot matmul outer stack: M, N
concatenate: M, N
where: B, M, N
clip: M, 0.0, 1.0
reshape: M, (8, 32)
expand_dims: M, 0
roll: M, 1
broadcast_to: M, (2, 16, 16)
einsum: 'ij,jk->ik', M, N
take: M, I
linspace: 0, 1, 10
allclose cov kron vdot: M, N
median unique fft.fft linalg.norm linalg.inv linalg.eigh: M
percentile: M, 30.0
convolve interp: M[0], N[0] | M[0], N[0], M[1]
pad tile repeat: M, 2
nonzero: B
""",
    "nn": """
relu gelu softmax log_softmax logsumexp: M
one_hot: I, 16
""",
    "random": """
key: 0
normal uniform: K, (3,) | K, (1000,)
split: K
fold_in: K, 3
randint: K, (3,), 0, 10
permutation: K, 10
choice: K, 10, (3,)
""",
    "lax": """
stop_gradient: M
dynamic_slice: M, (1, 2), (3, 4)
top_k: M, 3
scan: lambda c, x: (c + x, c), M[0], M
fori_loop: 0, 5, lambda i, x: x + 1, M
while_loop: lambda x: x[0, 0] < 5, lambda x: x + 1, M
cond: True, lambda x: x, lambda x: -x, M
map: lambda x: x * 2, M
""",
}
WRITTEN_OUT = """
M + N | M * 2.0 | M @ N | M @ N[0] | M > 0.5 | -M | M ** 2 | M.T | M.sum() | M.mean(0) | M.astype(jnp.int32)
M[0] | M[0, 1] | M[:, 1] | M[I] | M[B] | M[None] | M.at[0].set(1.0) | M.at[I].add(1.0) | list(M)
jax.grad(lambda x: (x * x).sum())(M) | jax.vmap(lambda x: x * 2 + 1)(M) | jax.checkpoint(lambda x: x * 2 + 1)(M)
jax.jvp(lambda x: x * 2, (M,), (N,)) | jax.vjp(lambda x: x * 2, M)[1](N) | jax.linearize(lambda x: x * 2, M)[1](N)
jax.tree.map(lambda p, g: p - 0.1 * g, {'a': M, 'b': N}, {'a': N, 'b': M}) | jax.hessian(lambda x: (x ** 3).sum())(M[0])
"""


def arrays(size: int, eager: bool) -> dict[str, Any]:
    import numpy as np
    rng = np.random.default_rng(0)
    f32 = np.float32
    if eager:
        return {"M": rng.uniform(0.1, 2, (16, 16)).astype(f32), "B": rng.normal(size=(16, 16)) > 0,
                "N": rng.uniform(0.1, 2, (16, 16)).astype(f32),
                "I": rng.integers(0, 16, 16).astype(np.int32)}
    x, y = rng.normal(size=(2, size)).astype(f32)
    d, h = rng.normal(size=(128, 128)), rng.normal(size=(512, 8, 8))
    return {"X": x, "Y": y, "U": rng.uniform(0.05, 0.95, size).astype(f32), "P": rng.uniform(0.5, 6, size).astype(f32),
            "Z": (x + 1j * y).astype(np.complex64), "B": x > 0.3, "T": np.sort(y),
            "Q": np.linspace(0, 1, 17, dtype=f32),
            "I": rng.integers(0, size, size).astype(np.int32), "J": rng.integers(1, 32, size).astype(np.int32),
            "C": rng.normal(size=(size // 3, 3)).astype(f32), "E": rng.normal(size=(256, 400)).astype(f32),
            "M": (rng.normal(size=(128, 128)) / 12).astype(f32), "D": (d @ d.T / 128 + np.eye(128)).astype(f32),
            "G": rng.normal(size=(100, 32, 32)).astype(f32),
            "H": (h @ h.transpose(0, 2, 1) / 8 + np.eye(8)).astype(f32)}


def calls(eager: bool) -> list[str]:
    """The calls as text: expressions over the namespaces and the arrays."""
    found: dict[str, None] = {}
    for space, table in EAGER.items() if eager else TABLE.items():
        for line in table.strip().splitlines():
            names, _, lists = line.partition(": ")
            for name in names.split():
                for arguments in lists.split(" | "):
                    found[f"{space}.{name}({f'({arguments})' if name in _JOINS else arguments})"] = None
    return [*found, *([text.strip() for line in WRITTEN_OUT.splitlines() for text in line.split(" | ") if text.strip()]
                      if eager else ())]

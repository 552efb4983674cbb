"""Every function of the namespaces under `jit`, pullback beside real jax.

    python -m benchmarks.names [--only TEXT] [--json FILE] [--rounds N] [--size N] [--eager]

Two processes, one for each engine, are given the same calls and run them in turn. A time counts where both results
agree. The ratio pullback / jax is that of the smallest times over all rounds. `--eager` calls the commonest functions
of arrays of 16 x 16 without `jit` instead.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ROUNDS, BUDGET = 5, 0.01  # rounds, and seconds of a round for each engine
# The allocator is to keep what was freed: pages fresh from the system cost more than the functions, by chance.
_MALLOC = {"MALLOC_MMAP_THRESHOLD_": str(1 << 30), "MALLOC_TRIM_THRESHOLD_": str(1 << 33), "MALLOC_TOP_PAD_": str(1 << 28)}
_ARRAY = re.compile(r"(?<![\w.'])[A-Z]\d?(?![\w'(])")

# namespace: `names: arguments | other arguments` with the arrays of `_arrays`
TABLE = {
    "jnp": """
abs acos acosh angle arctan arctanh asin asinh cbrt ceil conj cos cosh deg2rad exp exp2 expm1 fabs floor imag isfinite isinf: U
isnan log log10 log1p log2 logical_not negative positive rad2deg real reciprocal rint sign signbit sin sinc sinh spacing: U
sqrt square tan tanh trunc i0 isneginf isposinf frexp modf nan_to_num unwrap isreal iscomplex: U
sin cos tan exp tanh log1p expm1 sinh cosh arctan floor round i0 sinc unwrap: 20 * X
abs angle conj exp log sqrt sin tanh square isfinite real sort sort_complex: Z
add subtract multiply divide floor_divide remainder fmod divmod maximum minimum fmax fmin hypot arctan2 logaddexp logaddexp2: X, Y
copysign heaviside nextafter equal not_equal greater less_equal logical_and logical_xor isclose allclose array_equal: X, Y
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
partition argpartition top_k: X, 100
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
union1d intersect1d setdiff1d setxor1d: J, J + 16, size=64
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
einsum: 'ij,jk->ik', M, D | 'bij,bjk->bik', G, G | 'bij,bij->b', G, G | 'bij->bji', G | 'ij,j->i', M, M[0] | 'bii->b', G | 'ij,jk,kl->il', M, D, M | 'i,i->', X, Y | 'bij->j', G
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
flip tile repeat pad: X, 2
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
solve: D, M | H, G[:, :, 0:1]
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
reduce_window: E, 0.0, lax.add, (3, 3), (1, 1), 'SAME' | E, -jnp.inf, lax.max, (2, 2), (2, 2), 'VALID' | X, 0.0, lax.add, (50,), (1,), 'SAME'
reduce: X, 0.0, lax.add, (0,)
reduce_precision: X, 5, 10
bitcast_convert_type: X, 'int32'
sort: X
sort_key_val: X, J
top_k: X, 100 | E, 5
approx_max_k: X, 100
dot_general: G, G, (((2,), (1,)), ((0,), (0,)))
conv_general_dilated: E.reshape(4, 25, 32, 32), G[:16, :, :].reshape(4, 16, 16)[:, :, :].reshape(-1)[:900].reshape(4, 25, 3, 3), (1, 1), 'SAME'
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
celu elu gelu hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu log_sigmoid mish relu relu6 selu sigmoid silu soft_sign: X
softplus sparse_plus sparse_sigmoid squareplus standardize tanh glu: X
softmax log_softmax logsumexp logmeanexp standardize glu: E
log1mexp: P
one_hot: J[:2000], 64
gelu: X, approximate=False
dot_product_attention: E.reshape(4, 64, 4, 100), E.reshape(4, 64, 4, 100) + 1, E.reshape(4, 64, 4, 100)
""",
    "random": """
bits cauchy exponential gumbel laplace logistic lognormal maxwell normal rademacher rayleigh uniform double_sided_maxwell: K, (100000,)
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
digamma erf erfc erfcx exp1 expi expit expn gamma gammaln i0 i0e i1 i1e log_ndtr loggamma ndtr sici spence wofz dawsn: P
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
EAGER = """
abs exp log sin cos tanh sqrt square negative sign floor round isnan isfinite sum mean max min prod std var argmax argmin: M
cumsum any all sort argsort ravel transpose trace diagonal tril triu flip squeeze zeros_like ones_like: M
add subtract multiply divide maximum minimum power equal less greater logical_and arctan2 dot matmul outer stack: M, N
concatenate: M, N
where: B, M, N
clip: M, 0.0, 1.0
reshape: M, (8, 32)
expand_dims: M, 0
roll: M, 1
broadcast_to: M, (2, 16, 16)
einsum: 'ij,jk->ik', M, N
take: M, I
"""


def _arrays(size: int, eager: bool) -> dict[str, Any]:
    import numpy as np
    rng = np.random.default_rng(0)
    f32 = np.float32
    if eager:
        return {"M": rng.uniform(0.1, 2, (16, 16)).astype(f32), "B": rng.normal(size=(16, 16)) > 0, "N": rng.uniform(0.1, 2, (16, 16)).astype(f32),
                "I": rng.integers(0, 16, 16).astype(np.int32)}
    x, y = rng.normal(size=(2, size)).astype(f32)
    d, h = rng.normal(size=(128, 128)), rng.normal(size=(512, 8, 8))
    return {"X": x, "Y": y, "U": rng.uniform(0.05, 0.95, size).astype(f32), "P": rng.uniform(0.5, 6, size).astype(f32),
            "Z": (x + 1j * y).astype(np.complex64), "B": x > 0.3, "T": np.sort(y), "Q": np.linspace(0, 1, 17, dtype=f32),
            "I": rng.integers(0, size, size).astype(np.int32), "J": rng.integers(1, 32, size).astype(np.int32),
            "C": rng.normal(size=(size // 3, 3)).astype(f32), "E": rng.normal(size=(256, 400)).astype(f32),
            "M": (rng.normal(size=(128, 128)) / 12).astype(f32), "D": (d @ d.T / 128 + np.eye(128)).astype(f32),
            "G": rng.normal(size=(100, 32, 32)).astype(f32),
            "H": (h @ h.transpose(0, 2, 1) / 8 + np.eye(8)).astype(f32)}


def calls(eager: bool) -> list[str]:
    """The calls as text: expressions over the namespaces and the arrays."""
    found: dict[str, None] = {}
    for space, table in {"jnp": EAGER}.items() if eager else TABLE.items():
        for line in table.strip().splitlines():
            names, _, lists = line.partition(": ")
            for name in names.split():
                for arguments in lists.split(" | "):
                    found[f"{space}.{name}({f'({arguments})' if name in _JOINS else arguments})"] = None
    return list(found)


def serve(engine: str, size: int, eager: bool) -> None:
    """Answers calls on standard input: `build FILE CALL` with the file of the result, `time` with seconds."""
    import numpy as np
    if engine == "pullback":
        import pullback.compat.jax
        pullback.compat.jax.install(quiet=True)
    import jax
    import jax.numpy as jnp
    from jax import lax, nn, random, scipy
    import jax.scipy.special
    import jax.scipy.stats
    arrays = {name: jnp.asarray(x) for name, x in _arrays(size, eager).items()} | {"K": random.key(0)}
    spaces = {"jnp": jnp, "lax": lax, "nn": nn, "random": random, "scipy": scipy, "jax": jax}
    run: Callable[[], Any] = lambda: None
    for line in sys.stdin:
        command, _, rest = line.rstrip("\n").partition(" ")
        answer: Any = None
        try:
            if command == "build":
                path, _, text = rest.partition(" ")
                names = sorted({m for m in _ARRAY.findall(text) if m in arrays})
                function = eval(f"lambda {', '.join(names)}: {text}", dict(spaces))
                if "gaussian_kde" in text:
                    function = eval(f"lambda {', '.join(names)}: {text}.logpdf(E[1])", dict(spaces))
                operands = [arrays[name] for name in names]
                called = function if eager else jax.jit(function)
                run = lambda: jax.block_until_ready(called(*operands))
                leaves = [random.key_data(x) if jnp.issubdtype(x.dtype, jax.dtypes.prng_key) else x
                          for x in map(jnp.asarray, jax.tree.leaves(run()))]
                np.savez(path, *[np.asarray(x).astype(np.complex128) for x in leaves])
            else:
                times, end = [], time.perf_counter() + BUDGET
                while len(times) < 3 or time.perf_counter() < end:
                    start = time.perf_counter()
                    run()
                    times.append(time.perf_counter() - start)
                answer = min(times)
        except Exception as e:
            answer = f"{type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}"
        print(json.dumps(answer), flush=True)


def _differ(ours: str, theirs: str) -> str | None:
    import numpy as np
    a, b = np.load(ours), np.load(theirs)
    if [a[k].shape for k in a] != [b[k].shape for k in b]:
        return "other shapes"
    for k in a:
        x, y = a[k], b[k]
        scale = np.abs(y[np.isfinite(y)]).max(initial=1e-30)
        near = np.isclose(x, y, rtol=5e-3, atol=2e-3 * scale, equal_nan=True)
        if near.size and near.mean() < 0.999:
            return f"{(~near).mean():.1%} of a result differs"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.names")
    parser.add_argument("--only", default="", help="calls that hold one of these texts, separated by ;")
    parser.add_argument("--json", help="write all figures to this file")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--size", type=int, default=100_000, help="elements of a typical array")
    parser.add_argument("--eager", action="store_true", help="small arrays without jit")
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.size, options.eager)
        return
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PULLBACK_QUIET": "1", "PULLBACK_CACHE": "off", "PYTHONPATH": str(ROOT),
                   **_MALLOC}
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.names", "--size", str(options.size),
               *(["--eager"] if options.eager else [])]
    engines = {engine: subprocess.Popen([*command, "--serve", engine], cwd=ROOT, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE) for engine in ("pullback", "jax")}

    def ask(engine: str, line: str) -> Any:
        process = engines[engine]
        assert process.stdin and process.stdout
        print(line, file=process.stdin, flush=True)
        return json.loads(process.stdout.readline())

    rows: dict[str, tuple[float, float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        files = {engine: f"{folder}/{engine}.npz" for engine in engines}
        for call in calls(options.eager):
            if not any(part in call for part in options.only.split(";")):
                continue
            failures = {engine: ask(engine, f"build {files[engine]} {call}") for engine in engines}
            problem = "; ".join(f"{k}: {v}" for k, v in failures.items() if v) or _differ(files["pullback"], files["jax"])
            if problem:
                print(f"not timed  {call:40} {problem}", flush=True)
                continue
            best = dict.fromkeys(engines, math.inf)
            for done in range(4 * options.rounds):
                # A ratio above the goal on a busy machine is looked at for longer.
                if done >= options.rounds and best["pullback"] <= 1.2 * best["jax"]:
                    break
                for engine in engines:
                    best[engine] = min(best[engine], ask(engine, "time"))
            rows[call] = best["pullback"], best["jax"]
            print(f"{best['pullback'] / best['jax']:8.2f}  {call}", file=sys.stderr, flush=True)
    for process in engines.values():
        assert process.stdin
        process.stdin.close()
        process.wait()
    ranked = sorted(rows.items(), key=lambda row: row[1][0] / row[1][1])
    for call, (ours, theirs) in ranked:
        print(f"{ours / theirs:8.2f}  {1e6 * ours:10.1f} us {1e6 * theirs:10.1f} us  {call}")
    ratios = [ours / theirs for _, (ours, theirs) in ranked]
    limit = 0.5 if options.eager else 1.2
    if ratios:
        print(f"{len(ratios)} calls; median {statistics.median(ratios):.2f}; above {limit}: {sum(r > limit for r in ratios)}")
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()

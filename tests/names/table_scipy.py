"""How the public names of jax.scipy.*, jax.tree_util, jax.ops and jax.image are called; see table_numpy.py."""

SPECIAL = """
digamma erf erfc erfcx exp1 expi expit gamma gammaln gammasgn i0 i0e i1 i1e log_ndtr loggamma ndtr sici spence wofz
    dawsn fresnel: X
entr erfinv logit ndtri factorial: U
bernoulli: 5 | 0 | 1 | -1 | 2.5 | jnp.array(3)
bessel_jn: U, v=2 | U, v=2, n_iter=20 | 2.0, v=1 | U, v=-1 | J, v=1
beta betaln boxcox boxcox1p comb gammainc gammaincc kl_div owens_t poch rel_entr xlog1py xlogy: U, W | U, 2.0 | 0.0,
    0.0 | J, W
betainc: U, W, pf4(3) | 1, 2, 0.5 | U, 0.5, 1.5
comb: U, U | 5, 2, repetition=True
factorial: U | 5 | 5, exact=True | I
expn: pi4(3), W | 2, W | 0, W | -1, W | 1.5, W
hyp1f1: U, W, X | 1, 2, 0.5
hyp2f1: U, W, U, pf4(3) | 1, 2, 3, 0.5
multigammaln: U + 5, 2 | U, 2.5 | U + 5, I
polygamma: pi4(3), W | 1, W | 0, W | 2.0, W | 0.5, W
zeta: U + 1, W | U + 1 | 2, 1
log_softmax softmax: X | X, axis=1 | X, (0, 1)
logsumexp: X | X, 1, keepdims=True | X, b=X | X, return_sign=True | f4(0)
sph_harm_y: jnp.array([2]), jnp.array([1]), f4(1), f4(1) | jnp.array([2]), jnp.array([-1]), f4(1), f4(1), n_max=3 |
    2, 1, 0.5, 0.5
"""

SCIPY_LINALG = """
block_diag: X, V | X | | 2.0, X | f4(2, 3, 4) | X, J
cho_factor cholesky: D | D, lower=True | X | V
cho_solve: (jnp.linalg.cholesky(D), True), V | (jnp.linalg.cholesky(D), False), f4(3, 2) | (M, True), f4(2)
circulant fiedler: V | X | f4(0) | f4()
companion fiedler_companion: V | f4(1) | X | f4(0)
convolution_matrix: V, 4 | V, 4, 'same' | V, 2, 'valid' | V, 0 | V, 4, 'wrong' | f4(0), 2
det inv: M | X | V | f4(2, 3, 3)
dft: 4 | 4, 'sqrtn' | 3, 'n' | 4, 'wrong' | 0 | 4, dtype='complex64'
hadamard: 4 | 3 | 0 | 4, 'float16' | 1
helmert: 3 | 3, True | 1 | 0
hilbert invhilbert: 3 | 0 | 1 | 2.5
invpascal pascal: 4 | 4, 'lower' | 4, 'upper' | 4, 'wrong' | 0
leslie: V, f4(2) | V, V | X, V
hankel toeplitz: V | V, f4(2) | X | 2.0 | V, X
eigh: D | D, lower=False | D, eigvals_only=True | D, D | X | D, eigvals=(0, 1) | D, type=2
eigh_tridiagonal: V, f4(2), eigvals_only=True | V, f4(2) | V, f4(2), eigvals_only=True, select='i', select_range=(0,
    1) | V, V, eigvals_only=True | V, f4(2), eigvals_only=True, select='x'
expm: M | M * 10 | X | f4(2, 3, 3) | M, upper_triangular=True | V
expm_frechet: M, M | M, M, compute_expm=False | M, X | M, M, method='wrong'
funm: M, jnp.sin | M, jnp.sin, disp=False
hessenberg: M | M, calc_q=True | X
lu: M | X | M, permute_l=True | V | f4(3, 2)
lu_factor: M | X | V
lu_solve: scipy.linalg.lu_factor(M), V | scipy.linalg.lu_factor(M), V, trans=1 | scipy.linalg.lu_factor(M), f4(3,
    2), 2 | scipy.linalg.lu_factor(M), V, 5
polar: M | M, side='left' | X | f4(3, 2) | M, side='wrong' | M, method='svd' | M, method='wrong'
qr: X | f4(3, 2), mode='economic' | X, mode='r' | f4(3, 2), pivoting=True | X, mode='wrong' | V
qr_multiply: f4(3, 2), f4(2) | f4(3, 2), f4(2, 3), mode='right' | f4(3, 2), f4(2, 2), mode='left' | M, V,
    pivoting=True | M, V, conjugate=True
rsf2csf: jnp.triu(M), M | X, M
schur: M | M, 'complex' | X | M, 'wrong'
solve: M, V | M, f4(3, 2) | D, V, assume_a='pos' | M, V, lower=True | X, V | M, f4(2) | M, V, assume_a='sym' | M, V,
    assume_a='wrong'
solve_sylvester: M, M, M | M, f4(2, 2), f4(3, 2) | M, M, X | M, M, M, method='eigen' | M, M, M, method='wrong'
solve_triangular: M, V | M, V, lower=True | M, V, trans=1 | M, V, 'T' | M, V, unit_diagonal=True | M, f4(3, 2), 'N'
    | M, f4(2) | M, V, 7
sqrtm: D | D, 2 | X | M
svd: X | X, full_matrices=False | X, compute_uv=False | V
"""

STATS = """
gaussian_kde: V | X | f4(2, 1) | V, 0.5 | V, 'silverman' | V, 'wrong' | V, weights=W
mode: J | J, axis=1 | J, None | J, 0, keepdims=True | f4(0) | J, nan_policy='omit' | J, nan_policy='wrong'
rankdata: X | X, axis=1 | J, 'min' | J, 'max' | J, 'dense' | J, 'ordinal' | J, 'wrong' | X, nan_policy='omit' | sf4()
sem: X | X, axis=1 | X, None | X, ddof=0 | X, keepdims=True | f4(1) | X, nan_policy='omit' | X, nan_policy='wrong'
"""

SIGNAL = """
convolve correlate: V, f4(2) | f4(5), V, 'same' | f4(5), V, 'valid' | X, f4(2, 2) | f4(5), V, method='fft' | V, V,
    method='wrong' | V, V, 'wrong' | X, V
fftconvolve: V, f4(2) | f4(5), V, 'same' | f4(5), V, 'valid' | X, X, axes=1 | X, V | V, V, 'wrong'
convolve2d correlate2d: X, f4(2, 2) | M, f4(2, 2), 'same' | M, f4(2, 2), 'valid' | V, V | M, M, boundary='wrap' | M,
    M, fillvalue=1 | M, M, 'wrong'
csd: f4(16), f4(16), nperseg=8 | f4(16), None, nperseg=8 | f4(16), f4(16), nperseg=8, scaling='spectrum' | f4(16),
    f4(16), nperseg=8, scaling='wrong' | f4(16), f4(16), nperseg=8, noverlap=8
welch: f4(16), nperseg=8 | f4(2, 16), nperseg=8, axis=1 | f4(16), nperseg=8, average='median' | f4(16), nperseg=8,
    detrend='linear' | f4(16), nperseg=8, window='boxcar' | f4(16), nperseg=8, return_onesided=False | f4(16),
    nperseg=0
stft: f4(16), nperseg=8 | f4(16), nperseg=8, boundary=None | f4(16), nperseg=8, window='wrong' | f4(16), nperseg=8,
    padded=False | c8(16), nperseg=8
istft: c8(5, 3), nperseg=8 | c8(2, 5, 3), nperseg=8 | c8(5), nperseg=8 | c8(5, 3), nperseg=8, boundary=False
detrend: X | X, axis=0 | X, type='constant' | X, type='wrong' | f4(6), bp=3 | f4(6), bp=9
"""
NDIMAGE = """
map_coordinates: M, [W * 2, W * 2], 1 | M, [W * 2, W * 2], 0 | M, [X, X], 1, mode='nearest' | M, [X, X], 1,
    mode='wrap' | M, [X, X], 1, mode='mirror' | M, [X, X], 1, mode='reflect' | M, [X, X], 1, cval=3.0 | M, [W, W], 3
    | M, [W], 1 | M, [W, W], 1, mode='wrong' | J, [W, W], 1 | J, [I, I], 0
"""
SCIPY_FFT = """
dct idct: X | X, 2 | X, n=4 | X, axis=0 | X, norm='ortho' | X, 3 | X, norm='wrong' | X, n=2
dctn idctn: X | X, s=(2, 2) | X, axes=(0,) | X, norm='ortho' | X, 3 | V
"""
VQ = "vq: f4(4, 3), f4(2, 3) | V, f4(2) | f4(4, 3), f4(2, 2) | f4(4, 3), V | i4(4, 3), f4(2, 3)"
INTEGRATE = "trapezoid: X | X, V | X, dx=0.5 | X, axis=0 | f4() | X, f4(2)"
OPTIMIZE = """
minimize: lambda x: ((x - 1) ** 2).sum(), V, method='BFGS' | lambda x: ((x - 1) ** 2).sum(), V, method='wrong' |
    lambda x, a: ((x - a) ** 2).sum(), V, (2.0,), method='BFGS' | lambda x: x.sum(), X, method='BFGS' | lambda x: (x
    ** 2).sum(), V, (), method='l-bfgs-experimental-do-not-rely-on-this' | lambda x: (x ** 2).sum(), V, 3,
    method='BFGS'
"""
INTERPOLATE = """
RegularGridInterpolator: (jnp.arange(3.0),), V | (jnp.arange(2.0), jnp.arange(3.0)), X | (jnp.arange(2.0),), X |
    (jnp.arange(3.0),), V, 'nearest' | (jnp.arange(3.0),), V, 'wrong' | (jnp.array([1.0, 0.0, 2.0]),), V
"""
SPARSE = """
cg bicgstab gmres: D, V | lambda x: 2 * x, V | D, V, x0=V | D, V, maxiter=1 | D, V, M=lambda x: x | D, f4(2) | X, V
    | 3, V | D, V, x0=f4(2) | D, 'a' | D, V, tol=0.1
gmres: D, V, restart=2 | D, V, solve_method='incremental' | D, V, solve_method='wrong'
"""
OPS = """
segment_sum segment_max segment_min segment_prod: X, jnp.array([0, 1]) | X, jnp.array([0, 0]), 3 | V, I, 2 | V,
    jnp.array([0, 2, 9]), num_segments=2 | V, V, 2 | X, J, 2 | V, pi4(3), 4, bucket_size=2 | V, pi4(3),
    num_segments=-1 | J, jnp.array([1, 0]), 3 | B, jnp.array([1, 0]), 2 | V, pi4(3), 2, mode='clip' | V, pi4(3), 2.5
"""
IMAGE = """
resize: X, (4, 3), 'linear' | X, (4, 3), 'nearest' | X, (4, 3), 'cubic' | X, (4, 3), 'lanczos3' | X, (1, 2),
    'linear' | X, (1, 2), 'linear', antialias=False | X, (4,), 'linear' | X, (4, 3), 'wrong' | J, (4, 3), 'linear'
scale_and_translate: X, (4, 3), (0,), f4(1) + 9, f4(1), 'linear' | X, (4, 3), (0, 1), jnp.ones(2), jnp.zeros(2),
    'cubic' | X, (4, 3), (0, 5), jnp.ones(2), jnp.zeros(2), 'linear' | X, (4, 3), (0,), jnp.ones(1), jnp.zeros(1),
    'nearest'
ResizeMethod: 0 | 7
"""

TREE_UTIL = """
tree_map: lambda x: x + 1, {'a': X, 'b': (V, None)} | lambda x, y: x + y, [X, 1], [X, 2] | lambda x, y: x, [1], [1,
    2] | lambda x, y: x, [1], (1,) | lambda x, y: x, {'a': 1}, {'b': 1} | 3, [1] | lambda x: x, [None, 1],
    is_leaf=lambda x: x is None | lambda x, y: x, None, 1 | lambda x, y: (x, y), [1], [[2, 3]]
tree_leaves tree_flatten tree_structure tree_leaves_with_path tree_flatten_with_path tree_all: {'b': 1, 'a': (2,
    None)} | 3 | None | [] | [(), {}] | {'a': 1, 2: 3} | [None], lambda x: x is None
tree_unflatten: engine.tree_util.tree_structure([0, (0, 0)]), [1, 2, 3] | engine.tree_util.tree_structure([0]), [1,
    2] | engine.tree_util.tree_structure([0, 0]), [1] | 3, [1] | engine.tree_util.tree_structure([0]), 5
tree_reduce: lambda a, b: a + b, [1, (2, 3)] | lambda a, b: a + b, [1, 2], 5 | lambda a, b: a + b, [] | lambda a, b:
    a + b, [], 0
tree_reduce_associative: lambda a, b: a + b, [1, (2, 3)] | lambda a, b: a + b, [] | lambda a, b: a + b, [], identity=3
tree_transpose: engine.tree_util.tree_structure([0, 0]), engine.tree_util.tree_structure((0, 0)), [(1, 2), (3, 4)] |
    engine.tree_util.tree_structure([0, 0]), None, [(1, 2), (3, 4)] | engine.tree_util.tree_structure([0, 0]),
    engine.tree_util.tree_structure((0, 0)), [1, 2]
tree_broadcast: [1, 2], [(3, 4), 5] | 1, [3, 4] | [1], (1,) | [1, 2], [1]
tree_map_with_path: lambda p, x: engine.tree_util.keystr(p), {'a': [1, 2]} | lambda p, x, y: x + y, [1], [2] |
    lambda p, x, y: x, [1], [2, 3] | 3, [1]
all_leaves: [1, 2] | [1, [2]] | [None] | 3 | []
is_tree_node: [1] | 3 | None | (1,) | {} | X | 'a'
keystr: (engine.tree_util.DictKey('a'), engine.tree_util.SequenceKey(0)) | () | (engine.tree_util.GetAttrKey('x'),),
    simple=True | (engine.tree_util.DictKey('a'), engine.tree_util.SequenceKey(0)), simple=True, separator='/' | 3 |
    (engine.tree_util.FlattenedIndexKey(1),)
treedef_children: engine.tree_util.tree_structure([0, (0,)]) | engine.tree_util.tree_structure(0) | 3
treedef_is_leaf: engine.tree_util.tree_structure([0]) | engine.tree_util.tree_structure(0) |
    engine.tree_util.tree_structure(None) | 3
treedef_tuple: [engine.tree_util.tree_structure(0), engine.tree_util.tree_structure([0])] | [] | [3]
flatten_one_level flatten_one_level_with_keys: [1, (2,)] | {'b': 1, 'a': 2} | 3 | None | ()
DictKey: 'a' | 3
SequenceKey: 0
GetAttrKey: 'x'
FlattenedIndexKey: 1
Partial: jnp.add, 1 | 3 | jnp.sum, axis=0 |
register_pytree_node: type('C', (), {}), lambda x: ((), x), lambda a, c: a | list, None, None
register_pytree_with_keys: type('C', (), {}), lambda x: ((), x), lambda a, c: a | list, lambda x: x, lambda a, c: c
register_static: type('C', (), {}) | list
register_pytree_node_class register_pytree_with_keys_class: type('C', (), {})
register_dataclass: type('C', (), {}), ['a'], []
"""
TREE = """
map: lambda x: x + 1, {'a': X, 'b': (V, None)} | lambda x, y: x, [1], [1, 2] | 3, [1]
leaves flatten structure leaves_with_path flatten_with_path all: {'b': 1, 'a': (2, None)} | 3 | None | [None],
    lambda x: x is None
unflatten: engine.tree.structure([0, (0, 0)]), [1, 2, 3] | engine.tree.structure([0]), [1, 2] | 3, [1]
reduce: lambda a, b: a + b, [1, (2, 3)] | lambda a, b: a + b, [1, 2], 5 | lambda a, b: a + b, []
reduce_associative: lambda a, b: a + b, [1, (2, 3)] | lambda a, b: a + b, [] | lambda a, b: a + b, [], identity=3
transpose: engine.tree.structure([0, 0]), engine.tree.structure((0, 0)), [(1, 2), (3, 4)] |
    engine.tree.structure([0, 0]), None, [(1, 2), (3, 4)]
broadcast: [1, 2], [(3, 4), 5] | [1], (1,)
map_with_path: lambda p, x: engine.tree.leaves_with_path(x), {'a': [1, 2]} | lambda p, x, y: x + y, [1], [2]
"""

# The distributions: which parameters each takes after the value.
DISTRIBUTIONS = {
    "bernoulli": "B, W | 1, 0.3 | B, W, 0",
    "beta": "U, W, W | 0.5, 2, 3 | U, W, W, 0.1, 2.0",
    "betabinom": "pi4(3), 5, W, W | 2, 5, 1.0, 2.0",
    "binom": "pi4(3), 5, W | 2, 5, 0.3 | 2.5, 5, 0.3",
    "cauchy": "X | X, V, W | 0.5",
    "chi2": "U, W | 2, 3 | U, W, 0.1, 2.0",
    "expon": "U | X, 0.1, 2.0 | 1",
    "dirichlet": "jnp.array([0.2, 0.3, 0.5]), W | W / W.sum(), W | X, W",
    "gamma": "U, W | 2, 3 | U, W, 0.1, 2.0",
    "gennorm": "X, W | 1, 2",
    "geom": "pi4(3), W | 2, 0.3 | 0, 0.3",
    "gumbel_l": "X | X, V, W | 1",
    "gumbel_r": "X | X, V, W | 1",
    "laplace": "X | X, V, W | 1",
    "logistic": "X | X, V, W | 1",
    "multinomial": "jnp.array([1, 2, 2]), 5, nn.softmax(W) | jnp.array([1, 2, 1]), 5, W",
    "multivariate_normal": "V, V, D | X, V, D | V, V, V | V, 0.0, 1.0 | 0.5, 0.0, 1.0 | V, V, X",
    "nbinom": "pi4(3), 5, W | 2, 5, 0.3",
    "norm": "X | X, V, W | 1 | U, 0, 2",
    "pareto": "U + 1, W | 2, 3 | U, W, 0.1, 2.0",
    "poisson": "pi4(3), W | 2, 3.0 | 1.5, 2.0 | -1, 2.0",
    "t": "X, W | 1, 2 | X, W, V, W",
    "uniform": "X | U, 0.2, 0.5 | 1",
    "truncnorm": "X, -1.0, 1.0 | X, -W, W | 1, -1, 2",
    "vonmises": "X, W | 1, 2",
    "wrapcauchy": "U, W | 1, 0.5",
}
QUANTILES = {"ppf": "U", "isf": "U"}  # functions whose value is a probability
ENTROPY = {"poisson": "W | 3.0 | 3"}

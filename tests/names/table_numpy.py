"""How the public names of jax.numpy are called: `names: arguments | other arguments`; see cases.py for operands.

The first call of a line is mutated into cases; the others are made as they stand.
"""

NUMPY = """
abs absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atanh: X
bitwise_count bitwise_invert bitwise_not invert: J
cbrt ceil conj conjugate cos cosh deg2rad degrees exp exp2 expm1 fabs floor unwrap imag isfinite isinf isnan: X
log log10 log1p log2 logical_not negative positive rad2deg radians real reciprocal rint sign signbit: X
sin sinc sinh spacing sqrt square tan tanh trunc i0 iscomplex isneginf isposinf isreal isrealobj iscomplexobj: X
frexp modf sort_complex argwhere flatnonzero count_nonzero atleast_1d atleast_2d atleast_3d: X
nan_to_num: X | sf4(), nan=1.0 | sf4(), posinf=2, neginf=-3.5 | sf4(), copy=False
around round: X | X, 1 | X, decimals=-1 | J, -1 | J, 2
add subtract multiply divide true_divide floor_divide remainder mod fmod divmod power pow float_power: X, pf4(3)
maximum minimum fmax fmin hypot arctan2 atan2 logaddexp logaddexp2 copysign heaviside nextafter: X, V
equal not_equal greater greater_equal less less_equal logical_and logical_or logical_xor: X, V
bitwise_and bitwise_or bitwise_xor gcd lcm: J, I | I, pi4(3)
bitwise_left_shift bitwise_right_shift left_shift right_shift: J, pi4(3)
ldexp: X, I
isclose: X, X | X, X + 1e-9 | sf4(), sf4(), equal_nan=True | X, V, 0.5, 0.5
allclose: X, X | X, X + 1 | sf4(), sf4(), equal_nan=True
array_equal array_equiv: X, X | X, V | sf4(), sf4() | [1, 2], [1, 2]
clip: X, -0.5, 0.5 | X, V, None | X, None, 1 | X, min=0 | X, max=J | X
all any: B | X, axis=(0, 1) | f4(0), keepdims=True
sum prod max min amax amin mean std var nansum nanprod nanmax nanmin nanmean nanstd nanvar ptp: X | f4(0) | f4(2,
    3), axis=(0, 1) | sf4()
median nanmedian: X | X, axis=(0, 1) | sf4() | X, keepdims=True | f4(0)
quantile nanquantile: X, 0.3 | X, W, axis=0 | X, 0.5, method='lower' | X, 0.5, method='nearest', axis=1 | X, 1.5 |
    X, 0.3, keepdims=True | X, 0.2, method='wrong' | J, 0.3
percentile nanpercentile: X, 30 | X, W, axis=0 | X, 50, method='midpoint' | X, 30, keepdims=True
argmax argmin nanargmax nanargmin: X | X, axis=1, keepdims=True | f4(0) | sf4()
cumsum cumprod nancumsum nancumprod: X | X, axis=1 | sf4()
cumulative_sum cumulative_prod: V | X | X, axis=1 | X, axis=0, include_initial=True
average: X | X, axis=1, weights=V | X, 0, f4(2), True | X, weights=X, returned=True | X, weights=V
sort: X | X, axis=0, descending=True | X, stable=False | X, kind='quicksort' | X, order='x' | sf4()
argsort: X | X, axis=0, descending=True | sf4(), descending=True | X, kind='quicksort'
partition argpartition: X, 1 | X, 1, axis=0 | X, -1 | X, 7
lexsort: (X, X) | [V, I] | X | (V,), axis=0 | ()
searchsorted: jnp.sort(V), X | jnp.sort(V), X, side='right' | V, 0.5, sorter=jnp.argsort(V) | jnp.sort(V), X,
    method='sort' |
    jnp.sort(V), X, method='compare_all' | X, V | V, X, side='up'
unique: J | J, True, True, True | J, axis=0 | J, size=4, fill_value=9 | V, return_inverse=True, equal_nan=False |
    sf4()
unique_all unique_counts unique_inverse unique_values: J | V, size=2 | sf4()
union1d intersect1d setdiff1d setxor1d: I, I | J, I | V, V
isin: X, V | J, I, invert=True | J, [1, 2] | J, I, assume_unique=True | J, I, method='sort'
reshape: X, (3, 2) | X, -1 | X, (4, 2) | X, (-1, -1) | X, 6 | X, 3, 2 | X, (3, 2), order='F' | X, (3, 2), order='K'
    | X, (2.0, 3) | X, shape=(6,) | X, 'a' | X, None | X, (-1, 4) | f4(0), (-1, 0)
ravel: X | X, order='F' | X, order='K' | X, 'C'
transpose: X | X, (1, 0) | X, (0, 0) | X, (0,) | X, (-1, 0) | f4(2, 1, 3), (1, 2, 0) | X, [1, 0] | X, (0, 2)
permute_dims: X, (1, 0) | X, (0,) | X, None
matrix_transpose: X | f4(2, 3, 4)
swapaxes: X, 0, 1 | X, 0, 2 | X, -1, 0 | X, 0.5, 1
moveaxis: X, 0, 1 | X, (0, 1), (1, 0) | X, 0, (1, 0) | X, 0, 3 | f4(2, 3, 1), -1, 0
rollaxis: X, 1 | X, 1, 0 | X, 0, 3 | X, 5
expand_dims: X, 0 | X, (0, 2) | X, -1 | X, 3 | X, (0, 0) | X, 1.0
squeeze: f4(1, 3, 1) | f4(1, 3, 1), 0 | f4(1, 3, 1), 1 | f4(1, 3, 1), (0, 2) | X
broadcast_to: V, (2, 3) | X, (3,) | X, 3 | V, (3, 2) | V, (-1, 3) | 1.0, () | V, (2.0, 3)
broadcast_arrays: X, V | X, f4(2) | X | X, 2, True
broadcast_shapes: (2, 3), (3,) | (2,), (3,) | 3, (2, 1) | (2, -1) | 'a'
concatenate: (X, X) | [X, J] | (X, V) | [] | (X, X), 1 | (X, X), None | (X, X), axis=5 | X | (X, X), dtype='float16'
    | (V, 2)
concat: (X, X) | [X, J], axis=1 | (X, X), axis=None
stack: (X, X) | [X, J], -1 | [X, V] | [] | (X, X), 3 | X, 1 | (X, X), dtype=int
hstack vstack dstack column_stack: (X, X) | [V, I] | X | [] | (V, 2.0) | (f4(2), V)
block: [[X, X], [X, X]] | [V, V] | [[X], [V]] | V | [[V, X], [X]] | ()
split array_split: X, 1 | f4(4, 3), 2 | f4(4, 3), [1, 2] | f4(4, 3), 3, 0 | f4(4, 3), 3, axis=1 | X, 0 | f4(4), (1, 9)
hsplit: X, 3 | X, 2 | V, [1] | f4(), 1
vsplit: X, 2 | X, [1] | V, 3
dsplit: f4(2, 1, 4), 2 | X, 1
unstack: X | X, axis=1 | f4()
tile: X, 2 | X, (2, 1, 3) | X, () | V, [2, 2] | X, -1 | X, 1.5 | X, (2, 0)
repeat: X, 2 | X, 2, axis=0 | V, jnp.array([1, 0, 2]) | V, [1, 2] | V, jnp.array([1, 0, 2]), total_repeat_length=4 |
    X, -1 | X, 1.5 | f4(), 3
roll: X, 1 | X, (1, 2), (0, 1) | X, I, 1 | X, 1, 5 | V, -4 | X, 1, (0, 1) | X, 1.5
rot90: X | X, 2 | X, 1, (1, 0) | X, 1, (0, 0) | V | X, -1
flip: X | X, axis=(0, 1) | f4()
fliplr flipud: X | V | f4()
pad: X, 1 | X, ((1, 0), (0, 2)) | X, (1, 2), constant_values=3 | X, 1, 'edge' | X, 1, 'reflect' | X, 1, 'symmetric'
    | X, 1, 'wrap' | X, 1, 'linear_ramp', end_values=2 | X, 1, 'mean' | X, 1, 'maximum', stat_length=1 | X, 1,
    'wrong' | X, -1 | X, 1.5 | X, ((1, 1),) | X, {0: 1} | X, 1, 'empty' | X, 1, bogus=2 | X, ((1, 2), (3, 4), (5,
    6))
append: X, X | X, V | X, X, 0 | X, V, 0
insert: V, 1, 5.0 | X, 1, 2.0, axis=1 | V, [0, 2], 1.0 | V, slice(0, 2), 1 | V, 9, 1.0
delete: V, 1 | X, 1, axis=0 | V, [0, 2] | V, slice(0, 2) | V, 9 | V, jnp.array([True, False, True]) | X, 1.5
resize: X, (3, 3) | X, 2 | f4(0), 3 | X, (-1,)
trim_zeros: V | jnp.array([0, 1, 0, 2, 0]) | jnp.array([0, 1, 0]), 'f' | X | jnp.array([0, 1, 0]), 'x'
take: X, I | X, 1, axis=1 | X, I, 1, mode='wrap' | X, jnp.array([5, -9]), mode='clip' | X, jnp.array([5, -9]),
    axis=0 | X, J, axis=1, mode='fill', fill_value=7 | X, 0.5 | X, I, mode='raise' | X, [0, 1] | X, V
take_along_axis: X, J, axis=1 | X, J % 2, 0 | X, I, axis=None | X, J, axis=1, mode='clip' | X, X, axis=1 | X, I,
    axis=1 | X, J, 4
put_along_axis: X, pi4(2, 1), 9.0, axis=1, inplace=False | X, pi4(2, 1), 9.0, axis=1 | X, I, 9.0, axis=None,
    inplace=False
put: X, I, 9.0, inplace=False | X, I, 9.0 | X, I, V, mode='clip', inplace=False | X, I, V, mode='raise', inplace=False
place: X, X > 0, V, inplace=False | X, X > 0, V
compress: b1(3), X | jnp.array([True, False]), X, axis=0 | b1(3), X, axis=1, size=2, fill_value=1 | jnp.array([True,
    True, True]), X, axis=0
extract: X > 0, X | b1(2), V, size=3, fill_value=1
choose: pi4(3) - 1, [V, V, V, V] | I, [V, V], mode='wrap' | I, [V, V], mode='clip' | I, [V, V] | V, [V, V]
select: [B, B], [X, X] | [B], [X], 3 | [B, B], [X] | [], [] | [X], [X] | [b1(3)], [X]
where: B, X, X | B, X, 2.0 | B | X | B, X | B, V, None | B, size=2, fill_value=9 | B, X, J | [True, False, True], V, V
nonzero: X | B, size=3, fill_value=-1 | f4() | B, size=0
piecewise: V, [V > 0], [1.0, 2.0] | V, [V < 0, V > 0], [lambda x: -x, lambda x: x] | V, [V > 0], [] | V, [V > 0],
    [lambda x, k: x * k, 0.0], 3.0
diag: V | V, 1 | X | X, -1 | f4(2, 1, 2) | V, 1.5
diagflat: X | V, 1 | 2.0
diagonal: X | X, 1 | f4(2, 3, 2), 0, 1, 2 | V | X, 0, 0, 0 | X, 9
trace: X | X, 1 | f4(2, 3, 2), 0, 0, 2 | V | X, dtype='float16' | X, 0, 0, 5
tril triu: X | X, 1 | V | f4(2, 3, 3), -1 | X, 1.5
tri: 3 | 3, 2 | 3, 4, 1 | 3, dtype=int | 2.5 | -1
eye: 3 | 3, 2 | 3, k=1 | 3, dtype=bool | 2.5 | -1 | 3, 3, jnp.array(1)
identity: 3 | 3, dtype='int8' | -1 | 2.0
fill_diagonal: M, 2.0, inplace=False | M, 2.0 | X, V, inplace=False | f4(4, 2), 1, wrap=True, inplace=False | f4(2,
    2, 2), 1, inplace=False | V, 1, inplace=False
tril_indices triu_indices: 3 | 3, 1 | 3, 1, 4 | 2.5 | -1
tril_indices_from triu_indices_from: M | X, 1 | V
diag_indices: 3 | 2, 3 | -1 | 2.5
diag_indices_from: M | X | V
mask_indices: 3, jnp.triu | 3, jnp.tril, 1 | 3, jnp.triu, size=3
indices: (2, 3) | (2, 3), dtype=float | (2, 3), sparse=True | 3 | (2, -1)
ix_: pi4(2), pi4(3) | b1(3) | V | J | 3
unravel_index: I, (2, 3) | 5, (2, 3) | V, (2, 3) | J, 7
ravel_multi_index: (pi4(2), pi4(2)), (4, 4) | (I, I), (3, 4), mode='clip' | (I, I), (3, 4), mode='wrap' | (I, I),
    (3, 4) | (pi4(2), pi4(2)), (9, 9), order='F' | (pi4(2),), (9, 9) | (V, V), (9, 9)
meshgrid: V, I | V, I, indexing='ij' | V, sparse=True |  | X, V | V, I, indexing='zz' | V, V, copy=False
arange: 5 | 2, 8, 3 | 0.0, 1.0, 0.3 | 5, dtype=float | 5, 2, -1 | jnp.array(3) | None | 'a' | 0, 5, 0 | 1j |
    start=2, stop=5 | True | 5, None, 2 | 3, dtype='int8' | step=2 | V
linspace: 0, 1, 5 | 0.0, V, 4 | 0, 1, 4, False | 0, 1, 4, retstep=True | 0, 5, 4, dtype=int | 0, 1, -2 | 0, 1, 2.5 |
    X, 1, 3, axis=1 | 0, 1j, 3 | 0, 1, 1 | 0, 1, 0
logspace: 0, 1, 5 | 0, 2, 4, False, 2.0 | 0, V, 3, axis=1 | 0, 1, 5, dtype=int
geomspace: 1, 8, 4 | 1.0, 8, 4, False | -1, -8, 4 | 1, W, 3 | 1, 8, 4, dtype=int
zeros ones empty: (2, 3) | 3 | () | (2, -1) | 2.5 | (2, 3), dtype=int | (2, 3), 'bool' | jnp.array(3) | 'a' | None |
    [2, 3] | (2, 3), 'wrong'
zeros_like ones_like empty_like: X | X, dtype=int | X, shape=(3,) | 2 | 2.5, shape=(2,) | [1, 2] | jnp.asarray(2.0)
full: (2, 3), 7 | 3, 2.5, dtype=int | (3,), V | (2,), V | 2, 1j | (), True | (2, 3), None | (2, 3), 'a' | (2,), [1,
    2] | 2.5, 1
full_like: X, 7 | X, 2.5, dtype=int | J, 2.5 | X, V | X, 1, shape=(2,) | 2, 3 | X, None | X, [1.0, 2.0, 3.0] | X, 1j
array asarray: X | [1, 2.5] | [[1, 2], [3, 4]] | [[1], [2, 3]] | 2 | 2.5 | True | 1j | None | 'a' | [] | [V, V] |
    [V, 2] | [True, 2] | (1, 2), dtype=float | X, dtype=int | 300, dtype='int8' | [300], dtype='int8' |
    np.arange(3.0) | np.float64(2) | object() | [None] | 2**40 | [2**40] | [jnp.asarray(1.0), 2] | {'a': 1} | X,
    order='F' | range(3) | b'ab' | np.array(['a'])
copy: X | 2.5 | [1, 2]
astype: X, int | J, float | X, 'bool' | Z, float | X, None | X, 'wrong' | 2, float | X, int, copy=True
vander: V | V, 2 | V, increasing=True | X | V, -1 | V, 0
hamming hanning bartlett blackman: 5 | 1 | 0 | 2.5 | -1 | jnp.array(3)
kaiser: 5, 2.0 | 1, 2 | 0, 2 | 5, jnp.array(2.0)
fromfunction: lambda i, j: i + j, (2, 3) | lambda i: i, (3,), dtype=int | lambda i: i, 3
frombuffer: b'abcd', dtype='uint8' | np.arange(3, dtype='f4').tobytes(), 'float32' | b'abcd', 'uint8', 2, 1 |
    b'abc', 'float32'
fromiter: range(3), int | iter([1.0, 2.0]), float | range(3), int, 2 | range(3), float, count=5 | 3, int
fromstring: '1 2 3', sep=' ' | '1,2', dtype=int, sep=',' | '1 2', sep=' ', count=1 | 'a', sep=' '
iterable: X | 2 | f4() | 'a' | None
isscalar: X | 2 | f4() | 'a' | None | np.float32(1) | True | np.ones(()) | [1]
ndim shape size: X | 2 | [1, 2] | [[1, 2]] | None | 'a' | 2.5
dot: X, f4(3, 2) | V, V | X, V | 2, X | X, X | f4(2, 3, 4), f4(4, 2) | f4(2, 3, 4), f4(5, 4, 2)
matmul: X, f4(3, 2) | V, V | X, V | V, f4(3, 2) | 2, X | X, X | f4(2, 3, 4), f4(4, 2) | f4(2, 3, 4), f4(2, 4, 1) |
    f4(2, 3, 4), f4(3, 4, 1) | X, f4(3, 2), preferred_element_type='float16' | X, V, precision='highest' | X, V,
    precision='wrong'
vdot inner: V, V | X, X | X, V | 2, 3 | V, f4(2)
outer: V, f4(2) | X, V | 2, 3
kron: X, V | V, f4(2) | 2, X | X, f4(2, 1, 3)
cross: V, V | X, X | f4(2), f4(2) | f4(4), f4(4) | f4(3, 2), f4(3, 2), axis=0 | V, f4(2) | X, V, axisa=1
tensordot: X, f4(3, 2), 1 | X, X, 2 | X, X | X, V, (1, 0) | X, X, ((0,), (0,)) | X, X, ((0, 1), (0,)) | X, V, 2 | X,
    V, 0 | X, V, 'a'
vecdot: X, V | V, V | X, f4(2) | X, X, axis=0 | c8(3), c8(3) | 2, 3
matvec: X, V | X, f4(2) | V, V | f4(2, 3, 4), f4(4)
vecmat: f4(2), X | V, X | V, V
einsum: 'ij,jk->ik', X, f4(3, 2) | 'ij->ji', X | 'ii', M | 'ij,j', X, V | 'i,i->', V, V | '...i,i', X, V | 'ij,kl',
    X, V | 'ij->k', X | X, [0, 1], V, [1], [0] | 'ij,jk', X, f4(3, 2), precision='high' | 'ij,jk->ik', X, f4(3, 2),
    optimize=False | 'ij', | 'ij,jk->ik', X, X | 'i,j->ij', V, V, preferred_element_type='float16' | 'ij,jk->ik', X
    | 3, X
einsum_path: 'ij,jk->ik', X, f4(3, 2) | 'ij,jk,kl->il', X, M, f4(3, 2)
convolve correlate: V, f4(2) | V, f4(2), 'same' | f4(2), V, 'valid' | f4(5), V, mode='full' | X, V | V, f4(0) | V,
    V, 'wrong' | 2, V
interp: X, jnp.arange(3.0), V | 0.5, jnp.arange(3.0), V | X, jnp.arange(3.0), V, left=0, right=1 | X,
    jnp.arange(3.0), V, period=2 | X, jnp.arange(3.0), V, left='extrapolate' | X, V, f4(2) | X, jnp.arange(3.0),
    c8(3) | X, M, M
trapezoid: V | X, axis=0 | V, V | V, dx=0.5 | X, V | X, f4(2)
gradient: V | X | X, 0.5 | X, axis=0 | X, f4(2), V | f4(1) | V, V | X, 1, 2 | X, 1, 2, 3 | f4()
diff: X | X, n=2 | X, axis=0, prepend=0 | V, append=V | X, n=-1 | X, n=0 | f4() | V, 5 | B
ediff1d: X | V, 1, 2 | J, to_begin=1.5 | V, V, V
cov: X | X, rowvar=False | X, bias=True | X, ddof=0 | V, V | X, X | X, fweights=pi4(3) | X, aweights=W | f4(2, 3, 1)
    | X, fweights=W
corrcoef: X | X, rowvar=False | V, V | X, X
histogram: X | X, 3 | X, 3, (0, 1) | X, jnp.arange(3.0) | X, 3, weights=X | X, density=True | X, 3, weights=V | X, 0
    | X, 'auto' | X, 2.5
histogram_bin_edges: X | X, 3 | X, 3, (0, 1) | X, jnp.arange(3.0)
histogram2d: V, V | V, V, 3 | V, V, [2, 3] | V, V, 3, [[0, 1], [0, 1]] | V, f4(2) | V, V, density=True | V, V, 3,
    weights=V
histogramdd: X | X, 2 | X, [2, 3, 2] | X, 2, density=True | V | X, 2, weights=f4(2) | X, [2, 3]
bincount: pi4(3) | I | pi4(3), V | pi4(3), minlength=7 | pi4(3), length=3 | V | J | I, length=4 | f4(0)
digitize: X, jnp.arange(3.0) | X, jnp.arange(3.0), True | X, -jnp.arange(3.0) | X, M | 0.5, V | X, jnp.arange(3.0),
    method='sort'
packbits: B | B, axis=0 | J | b1(9), bitorder='little' | X | B, bitorder='wrong'
unpackbits: u1(2, 3) | u1(3), axis=0, count=5 | u1(3), count=-2 | J | u1(2), bitorder='little' | u1(2), count=20
poly: V | M | f4(0) | X | 2.0
polyval: V, X | V, 2.0 | f4(0), V | V, X, unroll=2 | X, V | [1, 2], V
polyadd polysub polymul: V, f4(2) | V, V | 2, V | X, V | f4(0), V | I, V
polydiv: V, f4(2) | f4(2), V | V, V | V, f4(2), trim_leading_zeros=True | I, f4(2)
polyder: V | V, 2 | V, 0 | V, -1 | f4(2), 3 | V, 1.5 | X
polyint: V | V, 2 | V, 1, 3.0 | V, 2, V | V, 0 | V, -1 | V, 2, [1, 2]
polyfit: f4(5), f4(5), 2 | f4(5), f4(5), 1, full=True | f4(5), f4(5), 1, w=pf4(5) | f4(5), f4(4), 1 | f4(5), f4(5),
    -1 | X, V, 1 | f4(5), f4(5, 2), 1
roots: V | f4(2) | f4(1) | X | jnp.array([1.0, 0.0]) | f4(4), strip_zeros=False
top_k: V, 2 | X, 1 | X, 5 | X, -1 | X, 2, axis=0 | f4(), 1 | sf4(), 3
minmax: X | X, axis=1 | f4(0)
apply_along_axis: jnp.sum, 1, X | lambda v: v[:2], 0, M | jnp.sum, 5, X | lambda v: (v, v), 0, X
apply_over_axes: jnp.sum, X, (0, 1) | jnp.sum, X, 0 | jnp.sum, X, 5
vectorize: jnp.add | lambda x: x, signature='(n)->(n)' | lambda x: x, excluded={0} | lambda x: x, signature='wrong'
frompyfunc: lambda x, y: x + y, 2, 1 | lambda x, y: x + y, 2, 1, identity=0 | 3, 2, 1 | lambda x: x, -1, 1 | lambda
    x: x, 1, 'a'
result_type: X, J | 'float32', int | X, 2.5 | J, 2.5 | 1, 2 |  | B, 1 | 'wrong' | np.float64 | None |
    jnp.asarray(1.0), 2
promote_types: 'float32', 'int32' | bool, 'int8' | 'float16', 'bfloat16' | int, float | 'wrong', int | 'uint8',
    'int8' | 'int4', 'int8' | 'float8_e5m2', 'float16' | None, int
can_cast: 'int32', 'float32' | 'float32', 'int8' | 'float32', 'int8', casting='unsafe' | 2, int | 'int8', 'int4'
issubdtype: 'float32', jnp.floating | 'int4', jnp.integer | 'bfloat16', jnp.inexact | jnp.float32, np.floating |
    int, 'int32' | None, jnp.number | 'wrong', int
isdtype: 'float32', 'real floating' | 'int8', ('integral', 'bool') | 'float32', 'wrong' | 'float32', 'float32' |
    'complex64', 'numeric' | 'uint8', 'unsigned integer' | 'int8', 'signed integer' | 'wrong', 'bool'
dtype: 'float32' | int | 'wrong' | bool | None
finfo: 'float32' | 'bfloat16' | 'int32' | 'float8_e5m2' | X | 'float16' | 'complex64'
iinfo: 'int32' | 'uint8' | 'float32' | 'int4' | J | bool
array_repr array_str: X | J | [1, 2]
get_printoptions:
printoptions: precision=3
nan_to_num: X | sf4() | J | Z
iscomplexobj isrealobj: X | Z | 2j | [1j] | 'a' | None
from_dlpack: np.arange(3, dtype='f4') | [1, 2] | 3
float32 int32 bool_ uint8 float16 complex64 bfloat16 int8 int16 uint16 uint32 int64 uint64 float64 complex128: 2 | X
    | '3' | None | [1, 2] | 2.5 |
float_ int_ uint complex_ single double csingle cdouble bool: 2 | [1, 2] | 2.5
int4 uint4 int2 uint2 int1 uint1 float4_e2m1fn float6_e2m3fn float6_e3m2fn float8_e3m4 float8_e4m3
    float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz float8_e8m0fnu: 1
ufunc: lambda x, y: x + y, 2, 1
"""

LINALG = """
cholesky: D | df4(2, 3, 3) | D, upper=True | D, symmetrize_input=False | X | V
cond: M | M, 2 | M, 1 | M, 'fro' | M, jnp.inf | M, -2 | M, 'wrong' | X | V
cross: V, V | X, X | f4(2), f4(2) | f4(3, 2), f4(3, 2), axis=0 | V, f4(2)
det slogdet inv: M | f4(2, 3, 3) | f4(0, 0) | X | V | f4(4, 4) | f4(2, 2)
slogdet: M, method='lu' | M, method='qr' | M, method='wrong'
diagonal trace: X | X, offset=1 | V
eig eigvals: M | X | V | f4(1, 1)
eigh eigvalsh: D | D, 'U' | D, 'x' | X | V | D, symmetrize_input=False
lstsq: f4(4, 2), f4(4) | f4(4, 2), f4(4, 3) | f4(4, 2), f4(4), rcond=0.1 | f4(4, 2), f4(3) | f4(4, 2), f4(4),
    numpy_resid=True | V, V
matmul: X, f4(3, 2) | V, V | X, X | 2, X
matrix_norm: X | X, ord=1 | X, ord='nuc' | X, ord=2 | X, ord='wrong' | V | X, keepdims=True | f4(2, 3, 3), ord=-1
matrix_power: M, 2 | M, 0 | M, -1 | M, 5 | X, 2 | M, 1.5
matrix_rank: M | X | V | M, rtol=0.1 | f4(2, 3, 3)
matrix_transpose: X | V
multi_dot: [X, M] | [X, M, f4(3, 2)] | [V, M, V] | [X] | [X, X] | [V, V]
norm: X | V | X, 1 | X, 'fro' | X, 'nuc' | V, 3 | V, jnp.inf | X, axis=1 | X, keepdims=True | V, 'fro' | X, 'wrong'
    | V, 0 | X, ord=2, axis=(0, 1) | X, 3 | f4(0)
outer: V, f4(2) | X, V | 2, 3
pinv: X | M | X, rtol=0.1 | D, hermitian=True | V | f4(0, 3)
qr: X | f4(3, 2) | X, mode='r' | X, 'complete' | X, 'raw' | X, 'wrong' | V | f4(2, 3, 2)
solve: M, V | M, f4(3, 2) | M, f4(2) | X, V | V, V | f4(2, 3, 3), V | f4(2, 3, 3), f4(2, 3, 1)
svd: X | f4(3, 2), full_matrices=False | X, compute_uv=False | V | D, hermitian=True | f4(2, 3, 2), False
svdvals: X | V
tensordot: X, f4(3, 2), axes=1 | X, X | X, V, axes=(1, 0)
tensorinv: f4(4, 2, 2), 1 | f4(2, 2, 4) | f4(2, 2, 2, 2) | X, ind=0 | X, ind=1
tensorsolve: f4(2, 3, 6), X | f4(2, 3, 6), X, axes=(0,) | M, V | X, V
vecdot: X, V | V, f4(2) | X, X, axis=0
vector_norm: X | X, axis=1 | X, ord=1 | X, ord=jnp.inf | X, ord=0 | X, keepdims=True | V, ord=3 | V, ord='a' | f4(0)
"""

FFT = """
fft ifft rfft hfft ihfft: X | X, 4 | X, axis=0 | X, norm='ortho' | X, norm='forward' | X, norm='wrong' | X, n=2 | X,
    n=0 | X, n=-1 | X, 2.5 | f4() | f4(0)
irfft: X | X, 4 | X, axis=0 | X, norm='ortho' | X, n=3 | f4(1)
fft2 ifft2 rfft2: X | X, (2, 2) | X, axes=(0,) | X, axes=(0, 0) | V | X, norm='ortho' | X, s=(2,) | f4(2, 3, 2),
    axes=(0, 1)
irfft2: X | X, (2, 2) | V | X, norm='ortho'
fftn ifftn rfftn irfftn: X | X, (2, 2) | X, axes=(0,) | V | X, norm='ortho' | X, s=(3,) | f4(2, 3, 2), axes=(0, 1) |
    f4() | X, s=(2, 2), axes=(0,)
fftfreq rfftfreq: 5 | 4, 0.5 | 4, d=jnp.array(2.0) | 0 | -1 | 2.5 | 4, dtype='float16' | 4, V | 'a'
fftshift ifftshift: X | V | X, axes=1 | X, (0, 1) | X, 5 | f4()
"""

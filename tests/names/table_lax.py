"""How the public names of jax.lax, jax.lax.linalg, jax.nn and jax.random are called; see table_numpy.py."""

LAX = """
abs acos acosh asin asinh atan atanh ceil cos cosh sin sinh tan tanh floor exp expm1 log log1p sqrt rsqrt cbrt: X
exp2 log2 logistic neg sign square reciprocal is_finite erf erfc one_minus_square real imag conj: X
digamma lgamma bessel_i0e bessel_i1e: X
erf_inv: U
integer_pow: X, 3 | X, -2 | X, 0 | J, 2 | J, -1 | X, 1.5
bitwise_not clz population_count: J
round: X | X, lax.RoundingMethod.TO_NEAREST_EVEN | X, 1 | X, 5
add sub mul div rem max min atan2 eq ne ge gt le lt nextafter: X, X | X, f4(2, 1) | X, 2 | X, 2.5 | 2, 3 | X, V
pow: U, X | U, 2 | U, J | U, 2.5 | 2, 3 | J, 2
complex: X, X | X, 2.0 | X, J | f2(3), f2(3)
bitwise_and bitwise_or bitwise_xor mulhi: J, J | B, B | J, 2
shift_left shift_right_arithmetic shift_right_logical: J, pi4(2, 3) | J, 2
igamma igammac igamma_grad_a random_gamma_grad: U, U | U, 2.0
zeta: U + 1, U
polygamma: pf4(2, 3), U
betainc: U, U, U | U, 0.5, 0.5
clamp: X - 1, X, X + 1 | 0.0, X, 1.0 | 0, J, 3 | V, X, V | f4(), X, f4()
argmax argmin: X, 1, 'int32' | X, 0, 'uint8' | X, 2, 'int32' | X, -1, 'int32' | X, 1, 'float32' | f4(2, 0), 1,
    'int32' | X, (0,), 'int32'
cumsum cumprod cummax cummin cumlogsumexp: X | X, 1 | X, axis=1, reverse=True | X, axis=-1 | X, axis=2 | f4() | J
reduce_sum reduce_prod reduce_max reduce_min: X, (0,) | X, (0, 1) | X, () | X, (2,) | X, (-1,) | X, (0, 0) | X, 0 |
    J, (1,) | f4(0, 3), (0,) | B, (0,)
reduce_and reduce_or reduce_xor: J, (0,) | B, (0, 1) | X, (0,)
reduce: X, jnp.float32(0), lax.add, (0,) | X, 0.0, lax.max, (1,) | J, 0, lax.add, (0,) | (X, X), (0.0, 0.0), lambda
    a, b: (a[0] + b[0], a[1] * b[1]), (0,) | X, 0.0, lax.add, (5,) | X, jnp.zeros(2), lax.add, (0,)
reduce_precision: X, 5, 10 | X, 8, 3 | X, 0, 3 | J, 5, 10 | X, 5.5, 10
reduce_window: f4(4), 0.0, lax.add, (2,) | X, -jnp.inf, lax.max, (1, 2), (1, 1), 'SAME' | X, 0.0, lax.add, (2, 2),
    padding=((1, 1), (0, 1)) | X, 0.0, lax.add, (2,) | X, 0.0, lax.add, (1, 2), (1, 2), 'WRONG' | X, 0.0, lax.add,
    (1, 2), base_dilation=(1, 2), window_dilation=(2, 1)
reduce_window_shape_tuple: (4, 4), (2, 2), (1, 1), ((0, 0), (0, 0)) | (4, 4), (2, 2), (2, 2), ((1, 1), (0, 0)), (1,
    2), (2, 1) | (4,), (2, 2), (1, 1), ((0, 0),)
broadcast: X, (2,) | X, () | 2.0, (3,) | X, 2 | X, (-1,)
broadcast_in_dim: V, (2, 3), (1,) | 2.0, (3,), () | V, (2, 3), (0,) | V, (2, 3), (2,) | X, (3, 2), (1, 0) | V, (2,
    3), () | V, (3, 3), (-1,)
broadcast_like: V, X | X, V | 2, X
broadcast_shapes: (2, 3), (3,) | (2,), (3,) | (1, 3), (2, 1) |
broadcast_to_rank: V, 3 | X, 1 | X, 2
broadcasted_iota: 'int32', (2, 3), 1 | float, (2, 3), 0 | 'int32', (2, 3), 2 | bool, (2,), 0 | 'int32', (2, 3), -1 |
    'int8', (), 0
iota: 'int32', 3 | float, 4 | 'int32', 0 | 'int32', -1 | 'int32', 2.5 | bool, 3 | 'complex64', 2
concatenate: [X, X], 0 | (X, X), 1 | [X, J], 0 | [], 0 | [X, V], 0 | [X, X], 2 | [X], 0 | X, 0 | [X, X], -1 | [f4(),
    f4()], 0
collapse: f4(2, 3, 4), 0, 2 | f4(2, 3, 4), 1 | X, 0, 5 | X, -2 | X, 1, 0 | X, 0, -1
convert_element_type: X, 'int32' | X, bool | Z, 'float32' | 2.5, int | X, 'wrong' | X, None | [1], int | J,
    'bfloat16' | jnp.asarray(2.0), 'float32'
bitcast_convert_type: X, 'int32' | X, 'float16' | f2(2, 2), 'float32' | f2(3), 'float32' | X, bool | J, 'float32' |
    u1(4), 'float32' | X, 'complex64'
dtype: X | J | 2 | 2.5 | None | 'a'
expand_dims: X, (0,) | X, (0, 2) | X, (-1,) | X, (4,) | X, (0, 0) | X, 0
squeeze: f4(1, 3, 1), (0,) | f4(1, 3, 1), (0, -1) | X, (0,) | f4(1, 3, 1), (4,) | f4(1, 3), (0, 0) | f4(1), ()
reshape: X, (3, 2) | X, (6,) | X, (4,) | X, (-1,) | X, (3, 2), (1, 0) | X, 6 | X, (3, 2), (0,) | X, None | 2.0, (1,)
rev: X, (0,) | X, (0, 1) | X, (2,) | X, (0, 0) | X, () | X, (-1,) | X, 0
transpose: X, (1, 0) | X, (0, 0) | X, (0,) | X, (-1, 0) | X, [1, 0] | X, (0, 2)
tile: X, (2, 1) | X, (2,) | V, (2, 3) | X, (-1, 1) | X, 2
split: X, (1, 2), 1 | X, (1, 1), 1 | X, (2,), 0 | X, (1, 2), 3 | X, (3, 0), -1 | X, 2
stack: [X, X] | [X, J] | [X, X], 1 | [X, V] | [] | [X, X], -1 | [X, X], 5
unstack: X | X, 1 | X, 5 | f4()
slice: X, (0, 1), (2, 3) | X, (0, 0), (2, 3), (1, 2) | X, (0,), (2,) | X, (0, 0), (3, 3) | X, (1, 1), (0, 3) | X,
    (-1, 0), (2, 3) | X, (0, 0), (2, 3), (0, 1) | X, (0.5, 0), (2, 3)
slice_in_dim: X, 0, 1 | X, 1, 3, axis=1 | X, None, -1, 1, 1 | X, 0, 3, 2, -1 | X, 0, 5 | X, 0, 1, axis=4 | X, 2, 1,
    axis=1 | X, -2, None, axis=1
index_in_dim: X, 0 | X, -1, 1 | X, 5 | X, 1, 1, False | X, 0, 4 | X, 0.5
index_take: X, (pi4(2),), (0,) | X, (pi4(2), pi4(2)), (0, 1) | X, pi4(2), (0,)
dynamic_slice: X, (0, 1), (1, 2) | X, (5, -1), (1, 2) | X, (0, 0), (3, 3) | X, (0,), (1, 2) | X, (0, 0), (1,) | X,
    (0.5, 0), (1, 2) | X, jnp.array([0, 1]), (1, 2) | X, (jnp.int8(1), 0), (1, 2) | X, [0, 0], [1, 1] | X, (0, 1),
    (1, 2), allow_negative_indices=False
dynamic_slice_in_dim: X, 0, 1 | X, -1, 2, 1 | X, 9, 1 | X, 0, 5 | X, 0, 1, axis=-1 | X, 0, 1, axis=3 | X, 0.5, 1
dynamic_index_in_dim: X, 0 | X, -1, 1, False | X, 5 | X, 0, 4 | X, I
dynamic_update_slice: X, f4(1, 2), (0, 1) | X, f4(1, 2), (5, -1) | X, V, (0, 0) | X, f4(3, 3), (0, 0) | X, i4(1, 2),
    (0, 0) | X, f4(1, 2), (0,) | X, f4(1, 2), jnp.array([1, 1])
dynamic_update_slice_in_dim: X, f4(1, 3), 1, 0 | X, f4(2, 1), -1, 1 | X, f4(1, 3), 0, 5 | X, V, 1, 0 | X, 2.0, 0, 0
dynamic_update_index_in_dim: X, V, 1, 0 | X, f4(2), -1, 1 | X, f4(1, 3), 0, 0 | X, V, 0, 1 | X, 2.0, 0, 0 | X, V, 0, 5
empty: (2, 3), 'float32' | (), bool | -1, int
full: (2, 3), 2.5 | (2,), 1, 'float16' | (), True | (2, 3), V | -1, 2 | (2,), 'a' | 3, 1 | (2,), 1j
full_like: X, 2 | X, 2.5, 'int32' | J, 2.5 | X, 1, shape=(3,) | 2, 3 | X, V | X, 1j
pad: X, 0.0, ((1, 0, 0), (0, 1, 1)) | X, 0.0, ((-1, 0, 0), (0, 0, 0)) | X, 0, ((1, 1, 0), (0, 0, 0)) | X, 0.0, ((1,
    0, 0),) | X, 0.0, ((0, 0, -1), (0, 0, 0)) | X, V, ((0, 0, 0), (0, 0, 0)) | J, 0.5, ((1, 0, 0), (0, 0, 0)) | X,
    jnp.float16(0), ((1, 0, 0), (0, 0, 0)) | X, 0.0, ((-9, 0, 0), (0, 0, 0)) | X, 0.0, ((1, 0), (0, 0))
padtype_to_pads: (4, 4), (2, 2), (1, 1), 'SAME' | (4, 4), (2, 2), (2, 2), 'VALID' | (4, 4), (3, 3), (1, 1),
    'SAME_LOWER' | (4,), (2,), (1,), 'WRONG'
select: B, X, X | B, X, J | f4(2, 3), X, X | b1(), X, X | b1(3), X, X | B, X, 2.0 | J, X, X | True, X, X
select_n: B, X, X | pi4(2, 3) - 1, X, X, X, X | B, X | B, X, J | b1(), X, X | X, X, X | B, X, X, X | B
sort: X | X, 0 | (X, J), num_keys=1 | (X, J), 1, True, 2 | X, 2 | f4() | (X, V) | sf4() | X, is_stable=False | X,
    num_keys=2
sort_key_val: X, J | X, J, 0 | X, V | V, V, is_stable=False
top_k: X, 2 | V, 0 | X, 4 | X, -1 | X, 1, axis=0 | sf4(), 3 | f4(), 1 | Z, 1 | X, 1.5
approx_max_k approx_min_k: X, 2 | V, 1, recall_target=0.5 | X, 1, reduction_dimension=0 | X, 5 | J, 1 | X, 1,
    aggregate_to_topk=False
dot: X, f4(3, 2) | V, V | X, V | X, X | X, J.T | X, f4(3, 2), precision='highest' | X, f4(3, 2),
    preferred_element_type='float16' | f4(), V | f4(2, 3, 4), f4(4)
dot_general: X, f4(3, 2), (((1,), (0,)), ((), ())) | f4(2, 3, 4), f4(2, 4, 5), (((2,), (1,)), ((0,), (0,))) | X, X,
    (((1,), (0,)), ((), ())) | X, X, (((0,), (0,)), ((1,), (1,))) | X, J, (((1,), (1,)), ((), ())) | X, X, (((1, 1),
    (1, 1)), ((), ())) | X, X, (((2,), (1,)), ((), ())) | X, X, (((1,), (1,)), ((), ())),
    preferred_element_type='float64' | X, X, (((0,), ()), ((), ())) | X, X, 3
batch_matmul: f4(2, 3, 4), f4(2, 4, 1) | X, f4(3, 2) | V, V | f4(2, 3, 4), f4(3, 4, 1)
ragged_dot: f4(4, 3), f4(2, 3, 5), jnp.array([1, 3]) | f4(4, 3), f4(2, 4, 5), jnp.array([1, 3]) | f4(4, 3), f4(3,
    5), jnp.array([1, 3]) | f4(4, 3), f4(2, 3, 5), jnp.array([1.0, 3.0])
ragged_dot_general: f4(4, 3), f4(2, 3, 5), jnp.array([1, 3]), lax.RaggedDotDimensionNumbers((((1,), (1,)), ((),
    ())), [0], [0])
scaled_dot: f4(2, 32), f4(32, 4) | X, X
conv: f4(1, 2, 5), f4(3, 2, 3), (1,), 'SAME' | f4(1, 2, 5, 5), f4(3, 2, 3, 3), (2, 2), 'VALID' | f4(1, 2, 5), f4(3,
    1, 3), (1,), 'SAME' | f4(1, 2, 5), f4(3, 2, 3), (1, 1), 'SAME' | f4(1, 2, 5), f4(3, 2, 3), (1,), 'WRONG'
conv_with_general_padding: f4(1, 2, 5), f4(3, 2, 3), (1,), ((1, 1),), (1,), (1,) | f4(1, 2, 5), f4(3, 2, 3), (1,),
    'SAME', None, (2,)
conv_general_dilated: f4(1, 2, 5), f4(3, 2, 3), (1,), 'SAME' | f4(1, 5, 2), f4(3, 2, 3), (2,), ((1, 0),),
    dimension_numbers=('NWC', 'WIO', 'NWC') | f4(1, 4, 5), f4(4, 2, 3), (1,), 'VALID', feature_group_count=2 | f4(1,
    2, 5), f4(3, 2, 3), (1,), 'VALID', (2,), (2,) | f4(1, 3, 5), f4(4, 2, 3), (1,), 'VALID', feature_group_count=2 |
    f4(1, 2, 5), f4(3, 2, 3), (1,), 'SAME', dimension_numbers=('NXC', 'WIO', 'NWC') | f4(2, 2, 5), f4(4, 2, 3),
    (1,), 'SAME', batch_group_count=2 | f4(1, 2, 5), i4(3, 2, 3), (1,), 'SAME' | f4(1, 2, 5), f4(3, 2, 3), (0,),
    'SAME'
conv_general_dilated_local: f4(1, 2, 4), f4(3, 6, 2), (1,), 'VALID', (3,)
conv_general_dilated_patches: f4(1, 2, 5), (3,), (1,), 'SAME' | f4(1, 2, 5), (2,), (2,), 'VALID' | f4(1, 2, 5), (3,
    3), (1,), 'SAME'
conv_general_permutations: ('NHWC', 'HWIO', 'NHWC') | ('NC', 'OI', 'NC') | ('NHWC', 'HWIO') | ('NNWC', 'HWIO', 'NHWC')
conv_general_shape_tuple: (1, 5, 2), (3, 2, 4), (1,), 'SAME', ('NWC', 'WIO', 'NWC')
conv_shape_tuple: (1, 2, 5), (3, 2, 3), (1,), ((0, 0),) | (1, 2, 5), (3, 2, 3), (1,), 'SAME'
conv_transpose: f4(1, 5, 2), f4(3, 2, 4), (2,), 'SAME' | f4(1, 5, 2), f4(3, 2, 4), (2,), 'VALID' | f4(1, 5, 2),
    f4(3, 4, 2), (2,), 'SAME', transpose_kernel=True | f4(1, 5, 2), f4(3, 2, 4), (1,), ((1, 1),), rhs_dilation=(2,)
conv_transpose_shape_tuple: (1, 5, 2), (3, 2, 4), (2,), 'SAME', ('NWC', 'WIO', 'NWC')
conv_dimension_numbers: (1, 2, 5, 5), (3, 2, 3, 3), None | (1, 5, 5, 2), (3, 3, 2, 3), ('NHWC', 'HWIO', 'NHWC') |
    (1, 2), (3, 2, 1), None | (1, 2, 5), (3, 2, 3), ('NWC',)
fft: Z, 'FFT', (3,) | X, 'RFFT', (3,) | X, 'FFT', (3,) | Z, lax.FftType.IFFT, (3,) | c8(2), 'IRFFT', (2,) | Z,
    'WRONG', (3,) | Z, 'FFT', (4,) | Z, 'FFT', (3, 3) | Z, 'FFT', 3
gather: X, pi4(2, 1), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3) | X, i4(2, 1),
    lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3), mode='clip' | X, i4(2, 1),
    lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3), mode='fill', fill_value=9 | X, i4(2, 1),
    lax.GatherDimensionNumbers((1,), (0,), (0,)), (3, 3) | X, f4(2, 1), lax.GatherDimensionNumbers((1,), (0,),
    (0,)), (1, 3) | X, pi4(2, 1), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 3), mode='wrong'
scatter scatter_add scatter_sub scatter_mul scatter_max scatter_min: X, jnp.array([[0], [1]]), X,
    lax.ScatterDimensionNumbers((1,), (0,), (0,)) | X, jnp.array([[5], [1]]), X, lax.ScatterDimensionNumbers((1,),
    (0,), (0,)), mode='clip' | X, jnp.array([[5], [1]]), X, lax.ScatterDimensionNumbers((1,), (0,), (0,)) | X,
    jnp.array([[0], [1]]), J, lax.ScatterDimensionNumbers((1,), (0,), (0,)) | X, jnp.array([[0], [1]]), V,
    lax.ScatterDimensionNumbers((1,), (0,), (0,)) | X, jnp.array([[0.0], [1]]), X, lax.ScatterDimensionNumbers((1,),
    (0,), (0,))
scatter_apply: X, jnp.array([[0], [1]]), jnp.sin, lax.ScatterDimensionNumbers((1,), (0,), (0,)), update_shape=(2, 3)
    | X, jnp.array([[0]]), lambda x: x * 2, lax.ScatterDimensionNumbers((), (0, 1), (0,))
cond: True, lambda x: x + 1, lambda x: x - 1, X | f4() > 0, lambda: 1, lambda: 2 | 2, jnp.sin, jnp.cos, X | X,
    jnp.sin, jnp.cos, X | True, lambda x: x, lambda x: 1, X | True, lambda x: (x,), lambda x: x, X | None, jnp.sin,
    jnp.cos, X | True, 3, jnp.sin, X | 'a', jnp.sin, jnp.cos, X | 0.5, jnp.sin, jnp.cos, V | True, lambda x: x,
    lambda x: x.astype(int), X | jnp.array(1), jnp.sin, jnp.cos, operand=X
switch: 1, [jnp.sin, jnp.cos], X | 5, [jnp.sin, jnp.cos], X | -1, [jnp.sin, jnp.cos], X | 0, [], X | 0.5, [jnp.sin,
    jnp.cos], X | jnp.array([0, 1]), [jnp.sin, jnp.cos], X | 0, [jnp.sin], X | 0, [jnp.sin, jnp.sum], X | None,
    [jnp.sin, jnp.cos], X | True, [jnp.sin, jnp.cos], X
while_loop: lambda x: x.sum() < 9, lambda x: x + 1, X | lambda x: True, lambda x: x.sum(), X | lambda x: x, lambda
    x: x, X | lambda x: x < 3, lambda x: x + 1, 0 | lambda x: x < 3, lambda x: x + 1.5, 0 | lambda x: 1, lambda x:
    x, 0 | lambda x: (x, x), lambda x: x, 0 | 3, lambda x: x, 0 | lambda x: x < 3, lambda x: (x, x), 0 | lambda x: x
    < 3, lambda x: x + 1, None
fori_loop: 0, 3, lambda i, x: x + i, X | 3, 0, lambda i, x: x * 2, X | 0, 3, lambda i, x: x, 'a' | 0, 3, lambda i,
    x: x.sum(), X | 0.5, 3, lambda i, x: x, X | 0, jnp.array(3), lambda i, x: x + i, 0 | jnp.int8(0), 3, lambda i,
    x: x + i, 0 | 0, 3, lambda x: x, X | 0, 3, lambda i, x: x + 1, X, unroll=2 | 0, V, lambda i, x: x, X
scan: lambda c, x: (c + x.sum(), x * 2), 0.0, X | lambda c, x: (c + 1, None), 0, None, length=3 | lambda c, x: (c,
    c), 0, None | lambda c, x: (c, x), X, V, reverse=True | lambda c, x: c, 0.0, V | lambda c, x: (c.sum(), x), X, V
    | lambda c, x: (c + x, x), 0, V | lambda c, x: (c, x), 0, (V, f4(2)) | lambda c, x: (c, x), 0, V, length=2 |
    lambda c, x: (c, x), 0, 2.0 | lambda c, x: (c, x), 0, V, unroll=2 | lambda c, x: (c, x), 0, V, unroll=0 | 3, 0,
    V | lambda c, x: (c, x), 0, f4(0, 2) | lambda c, x: (c, x), 0, V, reverse=2 | lambda c, x: (c, x), 0, V,
    length=2.5 | lambda c, x: ((c, c), x), 0, V
map: jnp.sin, X | lambda x: (x, x.sum()), X | jnp.sin, X, batch_size=2 | jnp.sin, 2.0 | lambda xy: xy[0] + xy[1],
    (X, X) | jnp.sin, X, batch_size=0
associative_scan: jnp.add, X | jnp.add, X, reverse=True | jnp.maximum, X, axis=1 | lambda a, b: (a[0] * b[0], a[1] +
    b[1]), (X, X) | jnp.add, (X, V) | 3, X | jnp.add, f4() | jnp.add, X, axis=5 | jnp.add, X, axis=-1
custom_linear_solve: lambda x: 2 * x, V, lambda mv, b: b / 2 | lambda x: 2 * x, V, lambda mv, b: b / 2,
    symmetric=True | lambda x: x.sum(), V, lambda mv, b: b | lambda x: 2 * x, V, lambda mv, b: (b / 2, 1),
    has_aux=True
custom_root: lambda x: x - 2, 0.5, lambda f, x: x + 1.5, lambda g, y: y
composite: lambda x: x + 1, 'my.op'
dce_sink: X
after_all: lax.create_token() |
create_token: | 0
optimization_barrier: X | (X, J) | 2 | [] | 'a' | None
stop_gradient: X | J | (X, J) | 2.5 | None | 'a'
stage: X
shape_as_value: (2, 3) | ()
platform_dependent: X, cpu=jnp.sin, default=jnp.cos | X, default=jnp.cos | X, tpu=jnp.sin
rng_uniform: 0.0, 1.0, (0,) | 0, 1.0, (2,) | V, 1.0, (2,)
rng_bit_generator: jnp.array([1, 2, 3, 4], 'uint32'), (3,) | jnp.array([1, 2], 'uint32'), (3,),
    algorithm=lax.RandomAlgorithm.RNG_THREE_FRY | I, (3,) | jnp.array([1, 2, 3, 4], 'uint32'), (3,), 'uint8' |
    jnp.array([1, 2, 3, 4], 'uint32'), (3,), 'float32'
with_sharding_constraint: X, engine.devices()[0] | X, None
axis_index axis_size: 'nothing'
Precision: 'high' | 0 | 'wrong' | None
RoundingMethod: 1 | 7
FftType: 2 | 'fft'
GatherScatterMode: 1
RandomAlgorithm: 0 | 9
ConvDimensionNumbers: (0, 1), (0, 1), (0, 1)
ConvGeneralDilatedDimensionNumbers: 1, 2, 3
DotAlgorithmPreset: 1
"""

LAX_LINALG = """
cholesky: D | D, symmetrize_input=False | X | V | df4(2, 3, 3)
cholesky_update: jnp.linalg.cholesky(D).T, V | M, f4(2)
eig: M | X | M, compute_left_eigenvectors=False | M, compute_left_eigenvectors=False, compute_right_eigenvectors=False
eigh: D | D, lower=False | X | D, sort_eigenvalues=False | D, subset_by_index=(0, 3) | D, subset_by_index=(0, 1)
hessenberg: M | X | V
householder_product: f4(3, 2), f4(2) | X, f4(3) | V, V
lu: M | X | V | f4(3, 2) | f4(2, 3, 3)
lu_pivots_to_permutation: jnp.array([1, 1], 'int32'), 3 | jnp.array([1, 1], 'int32'), 1 | V, 3
ormqr: f4(3, 2), f4(2), f4(3, 2) | f4(3, 2), f4(2), f4(2, 3), left=False, transpose=True | f4(3, 2), f4(3), M
qdwh: M | f4(3, 2) | D, is_hermitian=True | X
qr: X | f4(3, 2), full_matrices=False | V | f4(3, 2), pivoting=True
schur: M | M, compute_schur_vectors=False | X
svd: X | X, full_matrices=False | X, compute_uv=False | V | X, subset_by_index=(0, 1)
symmetric_product: M, M | X, f4(2, 2), alpha=2.0, beta=1.0 | X, M | X, f4(2, 2), symmetrize_output=True
triangular_solve: M, X | M, f4(3, 2), left_side=True | M, f4(3, 2), left_side=True, lower=True, transpose_a=True |
    M, f4(3, 2), left_side=True, unit_diagonal=True | X, X | M, V | M, J
tridiagonal: D | D, lower=False | X
tridiagonal_solve: V, pf4(3) + 5, V, f4(3, 1) | V, V, V, V | f4(2), V, V, f4(3, 1)
"""

NN = """
celu elu: X | X, 0.5 | J
gelu: X | X, False | X, approximate=False
glu: f4(2, 4) | X | f4(2, 4), axis=0
hard_sigmoid hard_silu hard_swish hard_tanh identity log_sigmoid mish relu relu6 selu sigmoid silu soft_sign: X
softplus sparse_plus sparse_sigmoid swish tanh: X
leaky_relu: X | X, 0.5 | X, negative_slope=V
squareplus: X | X, 2
log1mexp: U
softmax log_softmax: X | X, axis=0 | X, (0, 1) | f4(0) | X, where=B | f4()
logsumexp logmeanexp: X | X, 1, keepdims=True | f4(0) | X, where=B | sf4()
logsumexp: X | X, b=X | X, b=2.0, return_sign=True | X, 1, return_sign=True
standardize: X | X, axis=0 | X, mean=0.5, variance=1.0 | X, axis=(0, 1), epsilon=0.1 | X, where=B | X,
    algorithm='wrong' | X, algorithm='stable'
one_hot: I, 4 | J, 3, dtype=int | I, 4, axis=0 | 2, 3 | V, 3 | I, 4, axis=5 | I, 2.5 | I, 0 | I, -1 | B, 2
dot_product_attention: f4(2, 4, 1, 8), f4(2, 3, 1, 8), f4(2, 3, 1, 8) | f4(4, 2, 8), f4(3, 1, 8), f4(3, 1, 8),
    is_causal=True | f4(4, 2, 8), f4(3, 2, 8), f4(3, 2, 8), scale=0.5, mask=b1(1, 4, 3) | f4(4, 2, 8), f4(3, 2, 8),
    f4(3, 2, 8), bias=f4(1, 4, 3) | V, V, V | f4(4, 2, 8), f4(3, 2, 7), f4(3, 2, 7) | f4(4, 2, 8), f4(3, 2, 8),
    f4(3, 2, 8), implementation='wrong' | f4(4, 2, 8), f4(4, 2, 8), f4(4, 2, 8), local_window_size=1
scaled_matmul: f4(1, 2, 32), f4(1, 4, 32), pf4(1, 2, 1), pf4(1, 4, 1)
"""

INITIALIZERS = """
constant: 2.0 | 2.0, 'float16' | V
normal truncated_normal uniform: | 0.5 | 1e-2, 'float16'
zeros ones: K, (2, 3) | K, (2, 3), int | None, (2,) | K, (2, -1)
glorot_normal glorot_uniform he_normal he_uniform kaiming_normal kaiming_uniform lecun_normal lecun_uniform
    xavier_normal xavier_uniform: | 0, 1
variance_scaling: 1.0, 'fan_in', 'normal' | 1.0, 'wrong', 'normal'
orthogonal delta_orthogonal: | 2.0 | 1.0, 0
"""

INITIALIZED_SHAPES = ("K, (2, 3)", "K, (3, 2, 2)", "K, (3,)", "K, (2, 3), 'bfloat16'", "K, (2, 3), int", "K, ()",
                      "None, (2, 3)", "K, (2, 3), 'complex64'", "K, (0, 3)")

RANDOM = """
key PRNGKey: 0 | -1 | 2**40 | 1.5 | None | 'a' | jnp.array(3) | I | 0, impl='rbg' | 0, impl='wrong' | True |
    jnp.uint8(3) | np.int64(-3) | np.uint32(5)
bits: K, (3,) | K | K, (2,), 'uint8' | K, (2,), 'int32' | K, (2,), 'uint16' | 3, (2,) | None | V |
    engine.random.PRNGKey(0), (2,) | K, (-1,) | K, 3 | K, 2.5
uniform: K, (3,) | K, (3,), minval=V | K, (2,), 'float16' | K, (2,), 'bfloat16' | K, (2,), int | K, (2,),
    'complex64' | K, (3,), minval=2, maxval=1 | K, (3,), minval=None | K, 3 | K, (2,), minval=V |
    engine.random.PRNGKey(0), (3,)
normal gumbel cauchy laplace logistic exponential maxwell: K, (3,) | K, (2,), 'float16' | K, (2,), 'bfloat16' | K,
    (2,), int | K, 3 | K, (0,) | K | random.split(K, 2), (3,) | 0, (3,)
normal: K, (3,) | K, (2,), 'complex64'
gumbel: K, (3,) | K, (3,), mode='high' | K, (3,), mode='low' | K, (3,), mode='wrong'
lognormal: K | K, 2.0, (3,) | K, V | K, V, (2, 3) | K, V, (2,) | K, 1.0, (2,), int
bernoulli: K, W | K | K, 0.3, (3,) | K, W, (2,) | K, W, (2, 3) | K, W, mode='high' | K, 2, (3,) | K, 'a' | K, None
rademacher: K, (3,) | K, (3,), float | K, (3,), bool
randint: K, (3,), 0, 9 | K, (3,), I, 9 | K, (3,), 0, 9, 'uint8' | K, (3,), 0, 9, float | K, (3,), 0.5, 9 | K, (2,),
    I, 9 | K, (3,), 9, 0 | K, (), 0, 300, 'int8' | K, (3,), -500, 500, 'int8' | K, (3,), None, 3
truncated_normal: K, -1.0, 1.0 | K, -1.0, V, (2, 3) | K, -1, 1, (3,) | K, -1.0, 1.0, (3,), 'float16' | K, V, 1.0,
    (2,) | K, -1j, 1.0
triangular: K, 0.0, 0.5, 1.0 | K, 0.0, W, 1.0 | K, 0.0, W, 1.0, (2, 3)
beta f: K, W, W | K, 2.0, 3.0, (3,) | K, W, W, (2,) | K, W, W, (2, 3) | K, 2, 3, (2,), 'float16' | K, 2, 3, (2,), int
gamma loggamma chisquare dirichlet pareto t rayleigh wald poisson geometric: K, W | K, W, (2, 3) | K, W, (2,) | K,
    W, None, 'float16' | K, W, None, int | K, W, None, 'int8' | K, 2 | K, 'a' | K, -1.0
generalized_normal: K, 2.0 | K, 2.0, (3,) | K, W, (3,) | K, 2.0, (2,), 'float16'
double_sided_maxwell weibull_min: K, 1.0, 2.0 | K, 1.0, 2.0, (3,) | K, W, W, (3,) | K, W, W | K, 1.0, 2.0, (2,), int
ball: K, 2 | K, 2, 1, (3,) | K, 3, p=W, shape=(3,) | K, 2, shape=2 | K, 2, dtype=int | K, -1 | K, 2.5
binomial: K, 5, 0.3 | K, V + 5, W | K, 5, W, (2, 3) | K, 5, W, (2,) | K, 5, 0.3, (2,), int | K, 20.0, 0.5, (3,)
multinomial: K, 5, W / 9 | K, 5, W, shape=(2, 3) | K, f4(2), W | K, 5, 0.5
categorical: K, X | K, X, axis=0 | K, X, shape=(4, 2) | K, X, shape=(4,) | K, V, -1, (3,) | K, X, replace=False,
    shape=(2, 2) | K, X, mode='high' | K, V, replace=False, shape=(5,) | K, 2.0
choice: K, 5 | K, V, (2,) | K, X, (2,), axis=1 | K, 5, (2,), False | K, 5, (9,), False | K, 3, (2,), p=W / W.sum() |
    K, V, (2,), False, W | K, 0, (2,) | K, 2.5 | K, -1 | K, V, (2,), p=f4(2) | K, X, (2, 2), True, None, 5 | K, 0,
    (0,) | K, V, mode='high'
permutation: K, 5 | K, V | K, X | K, X, 1 | K, X, 1, True | K, 2.5 | K, X, 5 | K, -1
multivariate_normal: K, V, D | K, V, D, (2,) | K, V, D, method='svd' | K, V, D, method='eigh' | K, V, D,
    method='wrong' | K, V, X | K, 1.0, D | K, V, D, (2,), 'float16' | K, f4(2), D | K, f4(2, 3), D | K, V, D, (2, 3)
orthogonal: K, 3 | K, 3, (2,) | K, 3, (), 'float16' | K, 3, m=2 | K, 2.5 | K, 0 | K, 3, (), 'complex64' | K, 2, m=3
split: K | K, 3 | K, (2, 2) | engine.random.PRNGKey(0) | engine.random.PRNGKey(0), 3 | 0 | V | K, 0 | K, -1 | K, 2.5
    | random.split(K) | K, (2, -1)
fold_in: K, 3 | K, -1 | K, 2**40 | K, 1.5 | K, I | K, jnp.uint32(7) | K, None | engine.random.PRNGKey(0), 3 | 0, 3 |
    random.split(K), 3 | K, 'a'
key_data: K | engine.random.PRNGKey(0) | V | random.split(K, 3) | 0
key_impl: K | random.key(0, impl='rbg') | V | engine.random.PRNGKey(0)
key_dtype: | 'rbg' | 'wrong'
wrap_key_data: jnp.array([1, 2], 'uint32') | jnp.array([1, 2, 3], 'uint32') | I | jnp.array([1, 2, 3, 4], 'uint32'),
    impl='rbg' | jnp.array([[1, 2]], 'uint32') | jnp.array([1, 2], 'uint32'), impl='wrong' | [1, 2] | K
clone: K | engine.random.PRNGKey(0) | random.split(K) | 3 | V
"""

"""Where pullback differs from real jax on purpose, or where jax breaks rather than refuses: the one list.

Each entry: an expression for the case, one for what differs (see compare.difference), and the reason.
"""

from __future__ import annotations

import re

# What Python, NumPy or an operation inside says when an argument reaches it unchecked.
_UNCHECKED = "|".join([
    r"tuple index out of range", r"list index out of range", r"list assignment index", r"safe_map\(\) argument",
    r"tuple indices must be", r"for the input types", r"not all arguments converted", r"verifier errors",
    r"index -?\d+ is out of bounds for axis \d+ with size", r"index is out of bounds", r"len\(\) of unsized",
    r"object is not (iterable|subscriptable|callable)", r"std::bad_cast", r"modulo by zero",
    r"not enough values to unpack", r"Cannot determine dtype", r"Invalid argument to dtype",
    r"Cannot concatenate arrays", r"transpose permutation isn't", r"vmap was requested",
    r"Cannot determine the shape of", r"not compatible with finfo", r"invalid literal", r"[tT]oo many indices",
    r"only integers, slices", r"setting an array element", r"cannot convert float infinity", r"non-?negative",
    r"must be unique", r"slice limit_indices", r"incompatible shapes", r"Incompatible types", r"Slice size at",
    r"only supports", r"requires contracting", r"fewer dimensions", r"does not accept dtype", r"Only scalar arrays",
])
# Names in which they do.
_UNGUARDED = "|".join([
    r"image\.scale_and_translate", r"tree_util\.treedef_tuple", r"nn\.(glu|one_hot|standardize)",
    r"jnp\.(apply_over_axes|(nan)?arg(max|min)|around|array(_split)?|asarray|diagonal|[dhv]split|einsum(_path)?|flip)",
    r"jnp\.(fromfunction|gradient|heaviside|histogram2d|hstack|linspace|logspace|mean|minmax|modf|(un)?packbits|split)",
    r"jnp\.(percentile|poly(add|der|div|int|mul|sub|val)|quantile|reshape|round|std|swapaxes|tri|tri[lu]_indices)",
    r"jnp\.(unwrap|var|vecdot)", r"jnp\.fft\.(r?fftfreq|i?fftshift|i?hfft)", r"jnp\.linalg\.(cross|lstsq|vecdot)",
    r"lax\.(associative_scan|broadcast_like|conj|convert_element_type|cum(logsumexp|max|min|prod|sum)|dtype|fft)",
    r"lax\.((dynamic_)?index_in_dim|(dynamic_)?slice(_in_dim)?|dynamic_update_slice_in_dim|full_like|index_take|map)",
    r"lax\.(pad|scaled_dot|ragged_dot(_general)?|reduce_(and|or|xor|window_shape_tuple)|scan|scatter_\w+|stack)",
    r"lax\.linalg\.qdwh",
    r"random\.(ball|bernoulli|beta|categorical|chisquare|f|fold_in|(log)?gamma|multivariate_normal|pareto|rayleigh|t)",
    r"random\.(uniform|wald)", r"scipy\.fft\.i?dctn?", r"scipy\.signal\.(convolve2d|correlate2d|detrend)",
    r"scipy\.linalg\.(block_diag|eigh_tridiagonal|expm|hessenberg|polar|qr_multiply|solve_sylvester)",
    r"scipy\.optimize\.minimize", r"scipy\.sparse\.linalg\.gmres", r"scipy\.special\.(multigammaln|ndtri|polygamma)",
    r"scipy\.stats\.(sem|dirichlet\.\w+|multivariate_normal\.\w+|norm\.(isf|ppf)|uniform\.cdf)",
])
# Names of which jax has no version for complex numbers, truth values, or half floats.
_LACKING = "|".join([
    r"jnp\.kron", r"jnp\.linalg\.slogdet", r"nn\.(one_hot|log1mexp|log_sigmoid|(log_)?softmax)",
    r"random\.(key|wrap_key_data)", r"scipy\.linalg\.(funm|hadamard|solve_sylvester)",
    r"scipy\.signal\.(csd|detrend|fftconvolve|stft|welch)",
    r"scipy\.special\.((log_)?ndtr|ndtri|(log_)?softmax|spence|sph_harm_y)",
    r"scipy\.stats\.(bernoulli|expon|gumbel_[lr]|laplace|norm|pareto|truncnorm|uniform|wrapcauchy)\.\w+",
])
# Names of which jax has not implemented all.
_PARTIAL = "|".join([
    r"jnp\.((arg)?partition|around|average|fill_diagonal|fromiter|ix_|ravel|round)",
    r"lax\.dynamic_update_index_in_dim",
    r"(lax|scipy)\.linalg\.(eigh|hessenberg)", r"random\.(dirichlet|(log)?gamma)", r"scipy\.fft\.i?dctn?",
    r"scipy\.signal\.(convolve2d|correlate2d)", r"scipy\.special\.zeta",
])
_REFUSES = (r"pullback (raises )?(TypeError|ValueError|IndexError|OperandError|BroadcastError|OverflowError|"
            r"ZeroDivisionError|TypePromotionError)\(")
_JAX_RAISES = (r"^jax raises (RuntimeError|TypeError|ValueError|IndexError|"
               r"ZeroDivisionError|OverflowError|TypePromotionError)\(")
_JAX_GIVES = rf"^jax gives .*{_REFUSES}"
_LAX = r"^lax\.(?!linalg)\w+\("

# Names of which arguments without a meaning are refused here: a position outside, shapes that do not belong together,
# an axis named twice, no elements, a dtype that cannot hold the result.
_CAREFUL = "|".join([
    r"jnp\.(insert|gradient|histogram|roots|poly\w+|var|std|nanvar|nanstd|trapezoid|unpackbits|promote_types)",
    r"jnp\.(fromstring|full_like|cross|compress|unravel_index|nanmedian|(nan)?quantile|(nan)?percentile)",
    r"jnp\.linalg\.(tensordot|multi_dot)", r"random\.(clone|choice|ball|split|bits|rademacher)", r"ops\.segment_\w+",

    r"scipy\.linalg\.(eigh_tridiagonal|hessenberg|polar|qr_multiply)",
    r"scipy\.stats\.(multi\w+\.\w+|mode)",
    r"nn\.dot_product_attention", r"lax\.(full_like|index_take|scan|scatter_apply|cumlogsumexp|random_gamma_grad)",
    r"lax\.conv_general_dilated", r"lax\.linalg\.ormqr",
    r"scipy\.(signal|special|interpolate|optimize|cluster|fft)\.\S+?",
])

# Names of which arguments have a meaning here that stop jax in the middle.
_GENEROUS = "|".join([
    r"scipy\.stats\.(mode|rankdata|sem)", r"jnp\.(apply_over_axes|top_k)", r"lax\.convert_element_type",
    r"jnp\.(poly\w+|put|put_along_axis|partition|argpartition|trapezoid|bfloat16|(un)?packbits|ravel_multi_index|polyfit)",
    r"jnp\.fft\.i?hfft", r"jnp\.linalg\.(matrix_rank|tensordot)", r"random\.(f|multinomial|categorical)",
    r"scipy\.optimize\.minimize", r"nn\.(standardize|sparse_sigmoid)",
    r"scipy\.linalg\.(expm_frechet|lu)", r"scipy\.integrate\.trapezoid", r"scipy\.sparse\.linalg\.\w+",
])

DIFFERENCES = [(re.compile(case), re.compile(words), reason) for case, words, reason in [
    (r"^jnp\.(dtype|finfo|iinfo|issubdtype|from\w+)\(|^tree(_util)?\.\w+\(|^lax\.ConvGeneralDilatedDimensionNumbers",
     r"^pullback does not say",
     "NumPy's own function or error, a function of the registry of jaxlib, or the name of a type"),
    (r"axis='a'", rf"^jax raises NameError\(.*unbound axis name.*{_REFUSES}",
     "a string is no axis of an array; jax takes it for the name of a mapped axis, and finds none"),
    (rf"^({_UNGUARDED})\(", rf"{_JAX_RAISES}.*({_UNCHECKED}).*{_REFUSES}",
     "jax fails in the middle, with an error of Python or of an inner operation; pullback says what is wrong"),
    (_LAX, r"^jax raises TypeError\(.*(object is not iterable|has no len).*pullback gives",
     "one axis or size may be given without a tuple"),
    (rf"^({_GENEROUS})\(", rf"{_JAX_RAISES}.*pullback gives",
     "jax fails in the middle on these (no elements, other dtypes or shapes), which have a meaning"),
    (rf"^({_PARTIAL})\(",
     rf"^jax raises (TracerArrayConversionError|NotImplementedError)\(.*(pullback gives|{_REFUSES})",
     "jax has not implemented it, or meets a list in the middle"),
    (r"^(jnp\.array_(repr|str)|lax\.(broadcast_shapes|collapse|random_gamma_grad)|scipy\.optimize\.minimize)\(",
     r"^jax raises (AttributeError|AssertionError|KeyError|UnboundLocalError)\(.*pullback gives",
     "jax fails in the middle; the call has a meaning"),
    (rf"^({_LACKING})\(",
     rf"{_JAX_RAISES}.*(dtype=\w+ is not supported|does not accept dtype|FT input must be|unrecognized type)"
     rf".*(pullback gives|{_REFUSES})", "jax lacks the operation for this dtype, or says so late"),
    (r"None", rf"{_JAX_RAISES}.*pullback TypeError\(", "None for an array: jax says TypeError or ValueError by chance"),
    (r"'a'|\[1\.0, 2\.0\]", rf"{_JAX_RAISES}.*pullback TypeError\(.*(got a (str|list)|is a str|'str')",
     "a str or list where an array is meant: jax looks at its shape first, pullback refuses it first"),
    (r"axis=(\(|None|1\.0|'a'|True)", rf"({_JAX_RAISES}.*{_REFUSES}|{_JAX_GIVES})",
     "an axis that is no int: TypeError"),
    (r"(?<![\[\d.])(1\.0|1\.5|2\.5|0\.5)\b", rf"({_JAX_RAISES}.*{_REFUSES}|{_JAX_GIVES})",
     "a float where an int is meant: jax truncates it, pullback refuses"),
    (r"'(wrong|nothing|a|x|zz)'|tpu=", _JAX_GIVES, "an unknown option: jax takes it for another, pullback refuses"),
    (r"^(nn|lax\.clamp|random|scipy|jnp|image).*(c8\(|1j|c16\()",
     rf"{_JAX_GIVES}.*(real numbers are|a dtype of kind|no order)",
     "complex numbers have no order: pullback refuses where jax compares them part by part"),
    (r"^((jnp|lax)\.(empty|tile)|random\.(bits|split))\(", rf"^jax gives .*\(([^)]*, )?-\d.*{_REFUSES}",
     "a negative size: jax makes a type of it, pullback refuses"),
    (rf"^({_CAREFUL})\(", _JAX_GIVES, "arguments without a meaning, of which jax makes something"),
    (r"^lax\.with_sharding_constraint\(None", r"pullback gives", "no arrays, so nothing that could lie elsewhere"),
    (r"^jnp\.fft\.ihfft\(\[", _JAX_GIVES, "a list is no array here either"),
    (r"^nn\.dot_product_attention\(f8", r"^values", "jax computes scores of float64 in float32; pullback in float64"),
    (r"^lax\.reshape\(", r"^jax gives .*cannot reshape", "under a trace jax lets another number of elements pass"),
    (_LAX, rf"^jax raises ValueError\(.*(out of bounds|out-of-bounds|Invalid axis).*{_REFUSES}",
     "two things are wrong: pullback looks at the dtype first"),
    (r"^lax\.(create_token|after_all)\(", r"^structure", "a token is a leaf of jax's, and has no leaves here"),
    (r"^lax\.(stop_gradient|custom_linear_solve|scan|shape_as_value|switch|cond)\(|^random\.clone",
     r"^(types|structure): |^jax gives Typed",
     "a Python number that passes unchanged: jax makes an array of it in some functions, and not in others"),
    (r"^lax\.conv\w*_shape_tuple", r"np\.int64", "sizes are Python ints here"),
    (r"\.(eigh|eigh_tridiagonal|eig|svd|schur|hessenberg|qr)\(", r"^values",
     "vectors determined up to a sign or phase, or by rounding: compared by what they do in tests/*/test_linalg"),
    (r"^lax\.linalg\.\w+\(db1\(|^lax\.linalg\.qdwh\(|^scipy\.linalg\.fiedler_companion\((?!f)", r"^(types|values): ",
     "truth values and numbers as matrices: whether the result is weak, and what 0 / 0 is, follows from jax's inside"),
    (r"^scipy\.fft\.i?dctn?\((p?(f2|bf)\(|2\)|True\)|0\.5\)|1j\)|jnp\.asarray\(0\.5\)\))", r"^(values|types)",
     "half floats are transformed as float32 throughout; a number without axes gives a float too"),
    (r"^scipy\.optimize\.minimize", r"^types: ", "the counters of the result are int32; jax's are of a weak type"),
    (r"^scipy\.signal\.istft\(", r"^types: ", "the times of a stack of signals are those of one"),
    (r"^scipy\.interpolate\.", r"^structure: ", "how the interpolator keeps what it is given"),
    (r"^scipy\.special\.(expi|exp1|expn|gammaincc?|loggamma|poch|wofz)\(", r"^(jit: )?values: jax .*nan",
     "at the edge of what is defined, as SciPy has it"),
    (r"^scipy\.special\.expn\(pi4\(3\), np\.arange\(3\)\)", r"^values",
     "at 0 it is 1 / (n - 1), as SciPy has it; in jax 1 / n"),
    (r"^scipy\.stats\.gumbel_[lr]\.ppf\((s|p?b1|pi4|True)", r"^values: jax .*nan",
     "the quantiles of 0 and 1 are the ends of the support, as SciPy has it"),
    (r"^scipy\.stats\.poisson\.entropy\(s", r"^values: .*nan", "a negative rate has no entropy, as SciPy has it"),
    (r"^scipy\.special\.sph_harm_y\(", r"pullback gives|^types: ",
     "jax takes degrees, orders and angles as vectors of one length, and cuts longer angles; pullback broadcasts"),
    (r"^scipy\.special\.owens_t\(p(f2|bf|c16)\(", r"^types: |JaxRuntimeError",
     "of half floats a half float, where jax gives float32; of complex numbers jax's program breaks"),
    (r"^scipy\.special\.loggamma\(1j", r"^types: ", "whether the logarithm of a weak complex number is weak too"),
    (r"^scipy\.special\.bessel_jn", r"^values: jax .*nan", "jax's recursion overflows; tests/scipy asks SciPy"),
    (r"^scipy\.sparse\.linalg\.\w+\(db1", r"^values: jax .*nan", "a singular matrix"),
    (r"^jnp\.histogram(dd\(b1|\(i8|\(si4)\(", r"^values", "elements lie on an edge, which is rounded another way"),
    (r"^(nn|scipy\.special)\.\w+\(p?u1\(", r"^values",
     "jax computes -x of unsigned integers, which wraps; pullback computes with floats"),
    (r"^tree_util\.is_tree_node\(None", r"pullback gives", "an instance is no class, and so no class of nodes"),
    (r"^lax\.fori_loop\(jnp\.int8", r"^types",
     "known bounds count in the default integer, where jax narrows to lower's"),
    (r"^scipy\.stats\..*(b1\(|True|i4\(.*0\.5)", r"^types: jax (.*), (True|False)\)\], pullback \1, (True|False)\)\]$",
     "of truth values or integers beside numbers: whether the result is weak follows from constants inside jax"),
    (r"^jnp\.array_(repr|str)", r"", "pullback prints an array as it is printed elsewhere; jax by NumPy, as float64"),
    (r"^jnp\.(all|any)\((1j|sc8)", r"^values", "jax looks at the real part of a complex number only; NumPy at both"),
    (r"^jnp\.spacing\(s?f2\(", r"^values",
     "jax's spacing of float16 is that towards infinity, of the others away from 0"),
    (r"^scipy\.linalg\.(toeplitz|convolution_matrix|hankel)\(s", r"^values: jax .*nan",
     "jax moves the elements by a convolution, whose sums an infinity or NaN spoils"),
    (r"^jnp\.vander\(sc8", r"^values", "powers of an infinite complex number: here they are products"),
    (r"^scipy\.stats\.\w+\.\w+\(sc8", r"^values", "a distribution is one of real numbers; complex ones pass by chance"),
    (r"^jnp\.linalg\.(vector_)?norm\(si4", r"^values", "jax squares integers as integers, which wrap around"),
    (r"^scipy\.stats\.cauchy\.log(sf|cdf)\(si4", r"^values",
     "far out jax takes the logarithm of what is left of 1 - cdf"),
    (r"^scipy\.stats\.(uniform|truncnorm)\.\w+\(s", r"^values: .*pullback .*nan",
     "of NaN the result is NaN, as SciPy has it"),
    (r"^scipy\.stats\.gumbel_[lr]\.(log)?pdf\(sf4", r"^values: jax .*nan.*pullback .*inf, (inf|nan)",
     "XLA contracts the last product of exp with a difference: inf - exp(inf) is inf, as in jax that may optimize"),
    (r"^scipy\.stats\.cauchy\.(ppf|isf)\((sf2|p[iu]\d)\(", r"^values",
     "the tangent of a large half float, and of a whole quantile, where its pole is, is rounding alone"),
    (r"^(nn|scipy\.special)\.(log1mexp|log_sigmoid|soft_sign|(log_)?softmax|squareplus|standardize)\(si4",
     r"^values", "jax negates, subtracts or squares the ends of the integers as integers, which wrap"),
    (r"^scipy\.stats\.multinomial\.(log)?pmf\(.*nn\.softmax\(p(b|u)1", r"^values|^jax raises TypeError\('sub does not",
     "jax has no softmax of truth values, and subtracts unsigned integers as such, which wrap"),
    (r"^lax\.cum(max|min)\(sc8", r"^values",
     "in jax a complex NaN is neither above nor below; here it stays, as a real one"),
    (r"^jnp\.int1\(1", r"^values", "jax hands the bit of an int1 out as a truth value"),
    (r"^jnp\.(arg)?partition\(s", r"^values", "the order on either side of the place is left open; here all is sorted"),
    (r"^scipy\.stats\.vonmises\.\w+\(f4\(2, 3\), np\.arange\(3\)", r"^values: jax .*nan",
     "of concentration 0 it is uniform, as SciPy has it"),
    (r"^lax\.dynamic_(update_)?slice\(f4\(2, 3\), .*jnp\.int8\(", r"integers of the same type.*pullback gives",
     "positions may be of several integer dtypes"),
    (r"^scipy\.special\.sici\(sf2", r"^values: jax .*nan", "half floats overflow inside jax's; SciPy has these limits"),
    (r"^scipy\.special\.hyp2f1\(pb1", r"^values",
     "where c is 0, as a or b is, the value follows from which is 0 first"),
    (r"^jnp\.trim_zeros\(sc", r"^types", "jax takes 1j, whose real part is 0, for a zero"),
    (r"^jnp\.extract\(", r"size must be positive", "the size may exceed the condition, as it may in compress"),
    (r"^jnp\.delete\(", r"^jax raises ValueError.*IndexError",
     "a position out of bounds is an IndexError, as everywhere"),
    (r"^scipy\.stats\.(beta|chi2|gamma)\.\w+\((pb1\(|.*np\.arange\(3\))", r"^values: jax .*nan",
     "a parameter of 0, which is outside of what the distribution takes"),
    (r"^scipy\.stats\.\w+\.(logpmf|pmf|ppf)\((p?(f2|f4|f8|bf|b1|i1|u1|i4|i8)\(|\d+\.5|0\.5|"
     r"(np\.float64|jnp\.asarray)\(0\.5\)|np\.arange\(3\))", r"^values",
     "a number that is not whole has probability 0, and the quantile of 0 lies below the support, as SciPy has it"),
]]


def reason(case, words):
    """Why a difference is there; None: it is to be mended."""
    for where, what, why in DIFFERENCES:
        if where.search(case) and what.search(words):
            return why
    return None

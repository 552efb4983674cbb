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
    r"has no len\(\)", r"object is not (iterable|subscriptable|callable)", r"std::bad_cast", r"modulo by zero",
    r"not enough values to unpack", r"too many values", r"unsupported operand type", r"Cannot determine dtype",
    r"Invalid argument to dtype", r"Cannot concatenate arrays", r"transpose permutation isn't", r"vmap was requested",
    r"Cannot determine the shape of", r"not compatible with finfo", r"must be a string, a bytes-like",
    r"cannot be interpreted as", r"could not be broadcast", r"Cannot interpret value of type", r"invalid literal",
    r"missing \d+ required positional", r"must be called with a", r"object does not support", r"[tT]oo many indices",
    r"only integers, slices", r"setting an array element", r"must be one dimensional and match the axis",
    r"cannot convert float infinity", r"non-?negative", r"must be unique", r"slice limit_indices", r"same dimensions",
    r"same number of dimensions", r"incompatible shapes", r"Incompatible types", r"Slice size at", r"no identity",
    r"carry input and carry output", r"only supports", r"requires contracting", r"fewer dimensions", r"rank at least",
    r"Gather index leaf", r"does not accept dtype", r"rank should be at least", r"Only scalar arrays",
    r"matvec\(\) output shapes",
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
    (r"", rf"{_JAX_RAISES}.*({_UNCHECKED}).*{_REFUSES}",
     "jax fails in the middle, with an error of Python or of an inner operation; pullback says what is wrong"),
    (_LAX, r"^jax raises TypeError\(.*(object is not iterable|has no len).*pullback gives",
     "one axis or size may be given without a tuple"),
    (rf"^({_GENEROUS})\(", rf"{_JAX_RAISES}.*pullback gives",
     "jax fails in the middle on these (no elements, other dtypes or shapes), which have a meaning"),
    (r"", rf"^jax raises (TracerArrayConversionError|NotImplementedError)\(.*(pullback gives|{_REFUSES})",
     "jax has not implemented it, or meets a list in the middle"),
    (r"", r"^jax raises (AttributeError|AssertionError|KeyError|UnboundLocalError)\(.*pullback gives",
     "jax fails in the middle; the call has a meaning"),
    (r"", rf"{_JAX_RAISES}.*(dtype=\w+ is not supported|does not accept dtype|FT input must be|unrecognized type)"
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
    (r"", rf"^jax gives .*\(([^)]*, )?-\d.*{_REFUSES}", "a negative size: jax makes a type of it, pullback refuses"),
    (rf"^({_CAREFUL})\(", _JAX_GIVES, "arguments without a meaning, of which jax makes something"),
    (r"^lax\.with_sharding_constraint\(None", r"pullback gives", "no arrays, so nothing that could lie elsewhere"),
    (r"^jnp\.fft\.ihfft\(\[", _JAX_GIVES, "a list is no array here either"),
    (r"^nn\.dot_product_attention\(f8", r"^values", "jax computes scores of float64 in float32; pullback in float64"),
    (r"^lax\.reshape\(", r"^jax gives .*cannot reshape", "under a trace jax lets another number of elements pass"),
    (_LAX, r"^jax raises (Type|Value)Error\(.*(same dtypes?|identical dtypes|same type|same shapes).*pullback gives",
     "lax takes a Python scalar in the dtype and shape of the arrays it meets, and operands without axes with any"),
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
    (r"^scipy\.fft\.i?dctn?\((p?(f2|bf)\(|2\)|0\.5\)|1j\)|jnp\.asarray\(0\.5\)\))", r"^(values|types)",
     "half floats are transformed as float32 throughout; a number without axes gives a float too"),
    (r"^scipy\.optimize\.minimize", r"^types: ", "the counters of the result are int32; jax's are of a weak type"),
    (r"^scipy\.signal\.istft\(", r"^types: ", "the times of a stack of signals are those of one"),
    (r"^scipy\.interpolate\.", r"^structure: ", "how the interpolator keeps what it is given"),
    (r"^scipy\.special\.(expi|expn|gammaincc?|poch)\(", r"^values: jax .*nan",
     "at the edge of what is defined, as SciPy has it"),
    (r"^scipy\.special\.sph_harm_y\(", r"pullback gives|^types: ",
     "jax takes degrees, orders and angles as vectors of one length, and cuts longer angles; pullback broadcasts"),
    (r"^scipy\.special\.owens_t\(p(f2|bf|c16)\(", r"^types: |JaxRuntimeError",
     "of half floats a half float, where jax gives float32; of complex numbers jax's program breaks"),
    (r"^scipy\.special\.loggamma\(1j", r"^types: ", "whether the logarithm of a weak complex number is weak too"),
    (r"^scipy\.special\.bessel_jn", r"^values: jax .*nan", "jax's recursion overflows; tests/scipy asks SciPy"),
    (r"^scipy\.sparse\.linalg\.\w+\(db1", r"^values: jax .*nan", "a singular matrix"),
    (r"^jnp\.histogram(dd\(b1|\(i8)\(", r"^values", "elements lie on an edge, which is rounded another way"),
    (r"^(nn|scipy\.special)\.\w+\(p?u1\(", r"^values",
     "jax computes -x of unsigned integers, which wraps; pullback computes with floats"),
    (r"^tree_util\.is_tree_node\(None", r"pullback gives", "an instance is no class, and so no class of nodes"),
    (r"^lax\.fori_loop\(jnp\.int8", r"^types",
     "known bounds count in the default integer, where jax narrows to lower's"),
    (r"^scipy\.stats\..*(b1\(|True|i4\(.*0\.5)", r"^types: jax (.*), (True|False)\)\], pullback \1, (True|False)\)\]$",
     "of truth values or integers beside numbers: whether the result is weak follows from constants inside jax"),
    (r"^jnp\.array_(repr|str)", r"", "pullback prints an array as it is printed elsewhere; jax by NumPy, as float64"),
    (r"^jnp\.trim_zeros\(sc", r"^types", "jax takes 1j, whose real part is 0, for a zero"),
    (r"^jnp\.extract\(", r"size must be positive", "the size may exceed the condition, as it may in compress"),
    (r"^jnp\.delete\(", r"^jax raises ValueError.*IndexError",
     "a position out of bounds is an IndexError, as everywhere"),
    (r"^scipy\.stats\.beta\.\w+\(pb1\(", r"^values",
     "a parameter of 0, which is outside of what the distribution takes"),
    (r"^scipy\.stats\.\w+\.(logpmf|pmf|ppf)\((p?(f2|f4|f8|bf|b1|i1|u1|i4|i8)\(|\d+\.5|0\.5)", r"^values",
     "a number that is not whole has probability 0, and the quantile of 0 lies below the support, as SciPy has it"),
]]


def reason(case, words):
    """Why a difference is there; None: it is to be mended."""
    for where, what, why in DIFFERENCES:
        if where.search(case) and what.search(words):
            return why
    return None

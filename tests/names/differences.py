"""Where pullback differs from real jax on purpose, or where jax breaks rather than refuses: the one list.

Each entry: an expression for the case, one for what differs (see compare.difference), and the reason.
"""

from __future__ import annotations

import re

_PYTHON = (r"tuple index out of range|list assignment index|safe_map\(\) argument|tuple indices must be|for the input types|not all arguments converted|verifier errors|list index out of range|index \d+ is out of bounds for axis \d+ with size|len\(\) of unsized|has no len\(\)|"
           r"object is not (iterable|subscriptable|callable)|std::bad_cast|not enough values to unpack|too many values|"
           r"unsupported operand type|Cannot determine dtype|Invalid argument to dtype|TracerArrayConversionError|"
           r"Cannot concatenate arrays|transpose permutation isn't|Cannot determine the shape of|not compatible with finfo|"
           r"must be a string, a bytes-like|cannot be interpreted as|could not be broadcast|Cannot interpret value of type|"
           r"missing \d+ required positional|must be called with a|object does not support")
_LAX = r"^lax\.(?!linalg)\w+\("
_REFUSED = r"^jax gives .*pullback raises (TypeError|ValueError|IndexError|OverflowError|ZeroDivisionError|OperandError)\("
_EITHER = r"^jax raises (TypeError|ValueError|IndexError)\(.*pullback (TypeError|ValueError|IndexError|\w*Error)\("

DIFFERENCES = [(re.compile(case), re.compile(words), reason) for case, words, reason in [
    (r"", rf"^jax raises \w+\(.*({_PYTHON}).*pullback (gives|(TypeError|ValueError|IndexError|OperandError)\()",
     "jax fails in the middle, with an error of Python or of an inner function; pullback says what is wrong"),
    (r"None", rf"{_EITHER}", "None for an array: jax says TypeError or ValueError by chance; pullback always TypeError"),
    (r"", r"^jax raises (TypeError|ValueError)\(.*(does not accept dtype|(?<!complex) is not supported|FT input must be).*pullback gives",
     "jax lacks the inner operation for this dtype; the function has a meaning for it"),
    (r"", r"^jax raises NotImplementedError\(.*pullback gives", "jax has not implemented it"),
    (r"", r"^jax raises (AttributeError|AssertionError|KeyError|UnboundLocalError)\(.*pullback gives",
     "jax fails in the middle; the call has a meaning"),
    (_LAX, r"^jax raises (Type|Value)Error\(.*(same dtypes|same dtype|identical dtypes|same type|does not accept dtype|must have the same shapes).*pullback gives",
     "lax takes a Python scalar in the dtype and shape of the arrays it meets, and operands without axes with any"),
    (r"^lax\.", r"^structure: jax PyTreeDef\(\[.*pullback PyTreeDef\(\(",
     "jax returns a list where its annotations say a tuple; pullback returns the tuple"),
    (_LAX, r"^jax raises TypeError\(.*object is not iterable|has no len.*pullback gives",
     "one axis or size may be given without a tuple"),
    (_LAX, r"^jax raises ValueError\(.*(out of bounds|out-of-bounds|Invalid axis|not compatible with complex).*pullback (Type|Operand)Error\(.*a dtype of kind",
     "two things are wrong, or the dtype is: pullback looks at the dtype first, and a wrong dtype is a TypeError"),
    (r"", r"^jax raises (TypeError|ValueError)\(.*(nonnegative|must be unique|slice limit_indices|same dimensions|incompatible shapes|"
          r"Incompatible types|Slice size at|no identity|carry input and carry output|invalid literal|only supports|setting an array element|"
          r"only integers, slices|too many indices|requires contracting|fewer dimensions|must have every element|rank at least).*pullback (gives|"
          r"(TypeError|ValueError|IndexError|OperandError)\()",
     "jax fails in an inner operation, whose error names an operation that was not called"),
    (r"", r"^jax raises (IndexError|ZeroDivisionError)\(.*(is out of bounds for axis|index is out of|modulo by zero|too many indices|only integers, sl).*pullback "
          r"(gives|(TypeError|ValueError)\()", "jax fails with an error of Python or NumPy where an axis or count is checked too late"),
    (r"", r"^jax gives .*\(([^)]*, )?-\d.*pullback raises", "a negative size: jax makes a type of it, pullback refuses"),
    (r"^(jnp\.(insert|gradient|histogram|roots|poly\w+|var|std|nanvar|nanstd|trapezoid|unpackbits|promote_types|fromstring|full_like)|jnp\.linalg\.(tensordot|multi_dot)|"
     r"random\.(clone|choice|ball|split|bits|rademacher)|ops\.segment_\w+|scipy\.stats\.multi\w+\.\w+|nn\.dot_product_attention|lax\.conv_general_dilated|"
     r"lax\.(full_like|index_take|scan|scatter_apply|cumlogsumexp)|lax\.linalg\.ormqr|scipy\.(signal|special|interpolate|optimize|cluster|fft)\.\w+(\.\w+)?|"
     r"jnp\.(nan)?(quantile|percentile))\(", _REFUSED,
     "arguments without a meaning (a position outside, shapes that do not belong together, no element): jax makes something of them"),
    (r"^jnp\.array_(repr|str)", r"", "pullback prints an array as it is printed elsewhere; jax by NumPy, as float64"),
    (r"", r"^jax raises TracerArrayConversionError\(.*pullback TypeError\(", "a list where an array is meant"),
    (r"^jnp\.extract\(", r"size must be positive", "the size may exceed the condition, as it may in compress"),
    (r"^lax\.(create_token|after_all)\(", r"^structure", "a token is a leaf of jax's, and has no leaves here"),
    (r"^lax\.(stop_gradient|custom_linear_solve|scan|shape_as_value|switch|cond)\(|^random\.clone", r"^(types|structure): |^jax gives Typed",
     "a Python number that passes unchanged: jax makes an array of it in some functions, under a trace, and not in others"),
    (r"^lax\.conv\w*_shape_tuple", r"np\.int64", "sizes are Python ints here"),
    (r"^jnp\.delete\(", r"^jax raises ValueError.*IndexError", "a position out of bounds is an IndexError, as everywhere"),
    (r"'a'|\[1\.0, 2\.0\]", r"^jax raises (ValueError|IndexError)\(.*pullback TypeError\(.*(got a (str|list)|is a str|'str')",
     "a str or list where an array is meant: jax takes it for an array before it looks, pullback refuses it first"),
    (r"axis=(\(|None|1\.0|'a'|True)", _EITHER, "an axis that is no int: TypeError"),
    (r"1\.0|1\.5|2\.5|0\.5", _REFUSED, "a float where an int is meant: jax truncates it, pullback refuses"),
    (r"'wrong'|'nothing'|'a'|'x'|'zz'", _REFUSED, "an unknown option: jax takes it for another, pullback refuses"),
    (r"c8\(|1j|c16\(", _REFUSED + r".*(real numbers are|a dtype of kind|no order)",
     "complex numbers have no order: pullback refuses where jax compares them part by part"),
]]


def reason(case, words):
    """Why a difference is there; None: it is to be mended."""
    for where, what, why in DIFFERENCES:
        if where.search(case) and what.search(words):
            return why
    return None

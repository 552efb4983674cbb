"""Operations of either engine written as calls of jax, for scripts that need nothing else."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any

__all__ = ["ELEMENTWISE", "IMPLS", "Call", "expression", "literal", "parameters"]

Kind = tuple[tuple[int, ...], str]  # shape and dtype


@dataclasses.dataclass(frozen=True)
class Call:
    """An operation on named operands.

    Args:
      name, params: of the operation, with its parameters as text.
      given: names of the operands; operands, results: their shapes and dtypes.
      run: the name of a function that does it, where the operation carries programs.
    """

    name: str
    params: str
    given: Sequence[str]
    operands: Sequence[Kind]
    results: Sequence[Kind]
    run: str = ""

    def __getitem__(self, names: str) -> Any:
        """A parameter by the first of its names in the two engines ("axes axis"), as a value of Python or as text."""
        known = parameters(self.params)
        for part in names.split():
            if part in known:
                try:
                    return ast.literal_eval(known[part])
                except (ValueError, SyntaxError):
                    return known[part]
        return None

    def flags(self, **names: str) -> str:
        """Flags as keywords of jax's, in a call: each from the parameter of one of the names."""
        return "".join(f", {key}={literal(self[name])}" for key, name in names.items() if self[name] is not None)

    @property
    def shape(self) -> tuple[int, ...]:
        return self.results[0][0]

    @property
    def dtype(self) -> str:
        return self.results[0][1]


def parameters(text: str) -> dict[str, str]:
    """The parameters in a text "name=value name=value", whose values may hold blanks inside brackets."""
    found: dict[str, str] = {}
    depth, last = 0, ""
    for word in text.split(" "):
        name, sign, value = word.partition("=")
        if not depth and sign and name.isidentifier():
            last, found[name] = name, value
        elif last:
            found[last] += f" {word}"
        depth += sum(word.count(c) for c in "([{<") - sum(word.count(c) for c in ")]}>")
    return found


_SAME = set("""add sub mul div rem max min pow exp exp2 log log1p expm1 tanh sinh cosh sin cos tan asin acos atan
    asinh acosh atanh atan2 logistic neg abs sign floor ceil sqrt rsqrt cbrt square erf erfc erf_inv lgamma digamma
    is_finite eq ne lt le gt ge nextafter population_count clz shift_left shift_right_arithmetic shift_right_logical
    real imag complex bessel_i0e bessel_i1e betainc igamma igammac igamma_grad_a random_gamma_grad zeta polygamma
    stop_gradient optimization_barrier""".split())
_ARRAYS = {"gcd": "jnp.gcd", "logaddexp": "jnp.logaddexp", "logaddexp2": "jnp.logaddexp2", "log2": "jnp.log2",
           "and": "jnp.bitwise_and", "or": "jnp.bitwise_or", "xor": "jnp.bitwise_xor", "not": "jnp.bitwise_not",
           "add_any": "jnp.add", "copy": "jnp.copy", "copy_p": "jnp.copy", "conj": "jnp.conj",
           "regularized_incomplete_beta": "jax.lax.betainc", "lt_to": "jnp.less", "le_to": "jnp.less_equal",
           "name": "jnp.copy", "random_clone": "jax.random.clone", "random_unwrap": "jax.random.key_data"}
_PLAIN = {"one_minus_square": "1 - {0} ** 2", "strong_mul": "jnp.where(({0} == 0) | ({1} == 0), 0, {0} * {1})",
          "strong_div": "jnp.where({0} == 0, 0, {0} / {1})", "adjugate": "jnp.linalg.det({0}) * jnp.linalg.inv({0})",
          "determinant": "jnp.linalg.det({0})", "log_determinant": "tuple(jnp.linalg.slogdet({0}))"}
ELEMENTWISE = (_SAME | set(_ARRAYS) | {"one_minus_square", "strong_mul", "strong_div", "integer_pow", "select_n",
                                       "clamp", "convert_element_type"}) - {"random_unwrap", "random_clone"}
_SCATTERS = {"scatter": "scatter", **{f"scatter{sign}{kind}": f"scatter_{kind}" for sign in "-_"
                                      for kind in ("add", "sub", "mul", "min", "max")}}
IMPLS = {"fry": "threefry2x32", "rbg": "rbg", "urbg": "unsafe_rbg"}
_TRANSFORMS = ("fft", "ifft", "rfft", "irfft")


def literal(x: Any) -> str:
    """A value of Python's, in a script."""
    return str(x).replace("nan", "jnp.nan").replace("inf", "jnp.inf")


def _reduction(c: Call) -> str:
    return f"jax.lax.{c.name}({c.given[0]}, {c['axes'] or ()})"


def _argument(c: Call) -> str:
    axes = c["axes axis"]
    axis = axes[0] if isinstance(axes, tuple) else axes
    return f"jax.lax.{c.name}({c.given[0]}, {axis}, {c.dtype!r})"


def _dims(c: Call, kind: str) -> str:
    return f"jax.lax.{c['dims dimension_numbers']}" if kind in str(c["dims dimension_numbers"]) else ""


def _mode(c: Call) -> str:
    mode = c["mode"]
    return f", mode=jax.lax.{mode}" if isinstance(mode, str) else "" if mode is None else \
        f", mode=jax.lax.GatherScatterMode({mode})"


def _precision(c: Call) -> str:
    words = re.findall(r"HIGHEST|HIGH|DEFAULT", str(c["precision"]))
    chosen = "".join(f"jax.lax.Precision.{word}, " for word in words[:2])
    kind = c["preferred_element_type dtype"]
    return (f", precision=({chosen})" if len(words) > 1 else f", precision={chosen[:-2]}" if words else "") + (
        f", preferred_element_type={kind!r}" if kind else "")


def _gather(c: Call) -> str:
    return (f"jax.lax.gather({c.given[0]}, {c.given[1]}, {_dims(c, 'Gather')}, {c['sizes slice_sizes']}"
            f"{c.flags(indices_are_sorted='sorted indices_are_sorted', unique_indices='unique unique_indices')}"
            f"{_mode(c)}{c.flags(fill_value='fill_value fill')})")


def _scatter(c: Call) -> str:
    flags = c.flags(indices_are_sorted="sorted indices_are_sorted", unique_indices="unique unique_indices")
    return f"jax.lax.{_SCATTERS[c.name]}({', '.join(c.given)}, {_dims(c, 'Scatter')}{flags}{_mode(c)})"


def _convolution(c: Call) -> str:
    flags = c.flags(lhs_dilation="lhs_dilation", rhs_dilation="rhs_dilation",
                    feature_group_count="feature_groups feature_group_count",
                    batch_group_count="batch_groups batch_group_count")
    return (f"jax.lax.conv_general_dilated({c.given[0]}, {c.given[1]}, {c['strides window_strides']}, {c['padding']}"
            f"{flags}, dimension_numbers={_dims(c, 'Conv')}{_precision(c)})")


def _dot(c: Call) -> str:
    return f"jax.lax.dot_general({c.given[0]}, {c.given[1]}, {c['dims dimension_numbers']}{_precision(c)})"


def _extreme(dtype: str, sign: str) -> str:
    """The least ("-") or largest ("") number of a dtype."""
    if "float" in dtype:
        return f"jnp.asarray({sign}jnp.inf, {dtype!r})"
    return f"jnp.asarray(jnp.iinfo({dtype!r}).{'min' if sign else 'max'}, {dtype!r})"


def _windowed(c: Call, x: str, init: str, by: str) -> str:
    sizes = f"{c['window window_dimensions']}, {c['strides window_strides']}, {c['padding']}"
    flags = c.flags(base_dilation="base_dilation", window_dilation="window_dilation")
    return f"jax.lax.reduce_window({x}, {init}, {by}, {sizes}{flags})"


def _window(c: Call) -> str:
    kind = c.name.rpartition("_")[2]
    init = {"sum": f"jnp.asarray(0, {c.dtype!r})", "max": _extreme(c.dtype, "-"), "min": _extreme(c.dtype, "")}[kind]
    return _windowed(c, c.given[0], init, f"jax.lax.{kind.replace('sum', 'add')}")


def _window_backward(c: Call) -> str:
    largest = "le" not in str(c["select_prim"])
    init = _extreme(c.dtype, "-" if largest else "")
    forward = _windowed(c, "x", init, f"jax.lax.{'max' if largest else 'min'}")
    return f"jax.vjp(lambda x: {forward}, {c.given[1]})[1]({c.given[0]})[0]"


def _typed(name: str, dtype: str) -> str:
    return f"jnp.asarray({name}, {dtype!r})"


def _clamp(c: Call) -> str:
    low, x, high = c.given
    return f"jax.lax.clamp({_typed(low, c.dtype)}, {x}, {_typed(high, c.dtype)})"


def _select(c: Call) -> str:
    cases = ", ".join(f"jnp.broadcast_to({_typed(x, c.dtype)}, {c.shape})" if c.operands[i + 1][0] != c.shape else x
                      for i, x in enumerate(c.given[1:])) if c.dtype != "key" else ", ".join(c.given[1:])
    return f"jax.lax.select_n({c.given[0]}, {cases})"


def _places(c: Call, from_: int) -> str:
    return f"({', '.join(c.given[from_:])}{',' if len(c.given) == from_ + 1 else ''})"


def _slice(c: Call) -> str:
    strides = c["strides"]
    return f"jax.lax.slice({c.given[0]}, {c['start_indices start']}, {c['limit_indices limit']}, {strides})"


def _sort(c: Call) -> str:
    stable = True if c["is_stable stable"] is None else c["is_stable stable"]
    call = (f"jax.lax.sort(({', '.join(c.given)},), dimension={c['dimension axis']}, is_stable={stable}, "
            f"num_keys={c['num_keys keys'] or 1})")
    return call if len(c.given) > 1 else f"{call}[0]"


def _top(c: Call) -> str:
    axis, last = c["axis"], len(c.operands[0][0]) - 1
    return f"tuple(jax.lax.top_k({c.given[0]}, {c['k']}{'' if axis in (None, last) else f', axis={axis}'}))"


def _split(c: Call) -> str:
    return _over_keys(c, f"jax.random.split(k, {c['shape']})")


def _bits(c: Call) -> str:
    return _over_keys(c, f"jax.random.bits(k, {c['shape']}, {c.dtype!r})")


def _over_keys(c: Call, call: str) -> str:
    """A call on one key k, mapped over the axes of an array of keys."""
    function = f"lambda k: {call}"
    for _ in c.operands[0][0]:
        function = f"jax.vmap({function})"
    return f"({function})({c.given[0]})"


def _impl(c: Call) -> str:
    name = str(c["impl"])
    return IMPLS.get(name, name)


def _cumulative(c: Call) -> str:
    return f"jax.lax.{c.name}({c.given[0]}, axis={c['axis']}, reverse={bool(c['reverse'])})"


def _recurrence(c: Call) -> str:
    a, u = c.given
    return (f"jax.lax.associative_scan(lambda s, t: (s[0] * t[0], t[0] * s[1] + t[1]), ({a}, {u}), "
            f"reverse={bool(c['reverse'])}, axis={c['axis']})[1]")


def _cholesky(c: Call) -> str:
    call = f"jax.lax.linalg.cholesky({c.given[0]}, symmetrize_input={bool(c['symmetrize'])})"
    # jax's own operation leaves what is above the diagonal; its function takes that away.
    return call if c["symmetrize"] is not None else f"{call} + jnp.triu({c.given[0]}, 1)"


def _folded(c: Call) -> str:
    function = "jax.random.fold_in"
    for _ in c.operands[0][0]:
        function = f"jax.vmap({function}{'' if c.operands[1][0] else ', (0, None)'})"
    return f"{function}({c.given[0]}, {c.given[1]})"


def _svd(c: Call) -> str:
    if len(c.results) == 1:
        return f"jnp.linalg.svd({c.given[0]}, compute_uv=False)"
    order = "(f[1], f[0], f[2])" if len(c.results[0][0]) < len(c.results[1][0]) else "f"
    return f"(lambda f: {order})(tuple(jax.lax.linalg.svd({c.given[0]}, full_matrices={c['full full_matrices']})))"


def _eigh(c: Call) -> str:
    return f"tuple(jax.lax.linalg.eigh({c.given[0]}, lower={c['lower']}, symmetrize_input={bool(c['symmetrize'])}))"


def _eig(c: Call) -> str:
    return (f"tuple(jax.lax.linalg.eig({c.given[0]}, "
            f"compute_left_eigenvectors={c['left compute_left_eigenvectors']}, "
            f"compute_right_eigenvectors={c['right compute_right_eigenvectors']}))")


def _qr(c: Call) -> str:
    return (f"tuple(jax.lax.linalg.qr({c.given[0]}, full_matrices={c['full full_matrices']}, "
            f"pivoting={bool(c['pivoting'])}))")


def _triangular(c: Call) -> str:
    flags = c.flags(left_side="left left_side", lower="lower", transpose_a="transpose transpose_a",
                    conjugate_a="conjugate conjugate_a", unit_diagonal="unit unit_diagonal")
    return f"jax.lax.linalg.triangular_solve({c.given[0]}, {c.given[1]}{flags})"


def _factored(c: Call) -> str:
    a = c.given[0]
    if c["transpose"]:
        a = f"jnp.swapaxes({a}, -1, -2)"
    return f"jnp.linalg.solve({f'jnp.conj({a})' if c['conjugate'] else a}, {c.given[3]})"


def _schur(c: Call) -> str:
    flag = c["vectors compute_schur_vectors"]
    call = f"jax.lax.linalg.schur({c.given[0]}, compute_schur_vectors={flag})"
    return f"tuple({call})" if len(c.results) > 1 else f"{call}[0]"


def _fft(c: Call) -> str:
    kind = c["kind fft_type"]
    kind = _TRANSFORMS[kind] if isinstance(kind, int) else str(kind).rpartition(".")[2].lower()
    return f"jax.lax.fft({c.given[0]}, {kind!r}, {c['lengths fft_lengths']})"


def _unstacked(c: Call) -> str:
    rows = f"jnp.moveaxis({c.given[0]}, {c['axis']}, 0)"
    return f"tuple({rows})" if len(c.results) > 1 else f"{rows}[0]"


def _stacked(c: Call) -> str:
    return f"jnp.stack([{', '.join(c.given)}], {c['axis'] or 0})"


def _zeros(c: Call) -> str:
    return f"jnp.zeros({c.shape}, {c.dtype!r})"


def _iota(c: Call) -> str:
    return f"jax.lax.broadcasted_iota({c.dtype!r}, {c.shape}, {c['axis dimension'] or 0})"


def _round(c: Call) -> str:
    method = str(c["rounding_method"])
    chosen = f"({method})" if method.isdigit() else f".{method.rpartition('.')[2]}"
    return f"jax.lax.round({c.given[0]}, jax.lax.RoundingMethod{chosen})"


def _padded(c: Call) -> str:
    return f"jax.lax.pad({c.given[0]}, {_typed(c.given[1], c.dtype)}, {c['config padding_config']})"


_TABLE: dict[str, Callable[[Call], str]] = {
    **dict.fromkeys(("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or", "reduce_xor"),
                    _reduction),
    **dict.fromkeys(("argmax", "argmin"), _argument),
    **dict.fromkeys(("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp"), _cumulative),
    **dict.fromkeys(("reduce_window_sum", "reduce_window_max", "reduce_window_min"), _window),
    **dict.fromkeys(_SCATTERS, _scatter),
    **dict.fromkeys(("reshape", "squeeze", "expand_dims"), lambda c: f"jnp.reshape({c.given[0]}, {c.shape})"),
    **dict.fromkeys(("rev", "reverse"), lambda c: f"jax.lax.rev({c.given[0]}, {c['dimensions axes']})"),
    **dict.fromkeys(("dot_general", "strong_dot_general"), _dot),
    "gather": _gather, "conv_general_dilated": _convolution, "select_and_scatter_add": _window_backward,
    "clamp": _clamp, "select_n": _select, "sort": _sort, "top_k": _top, "slice": _slice, "pad": _padded,
    "broadcast": lambda c: f"jnp.broadcast_to({c.given[0]}, {c.shape})",
    "broadcast_in_dim": lambda c: (f"jax.lax.broadcast_in_dim({c.given[0]}, {c.shape}, "
                                   f"{c['broadcast_dimensions dims'] or ()})"),
    "transpose": lambda c: f"jnp.transpose({c.given[0]}, {c['permutation perm order axes']})",
    "concatenate": lambda c: f"jnp.concatenate([{', '.join(c.given)}], {c['dimension axis']})",
    "dynamic_slice": lambda c: f"jax.lax.dynamic_slice({c.given[0]}, {_places(c, 1)}, {c['sizes slice_sizes']})",
    "dynamic_update_slice": lambda c: f"jax.lax.dynamic_update_slice({c.given[0]}, {c.given[1]}, {_places(c, 2)})",
    "convert_element_type": lambda c: f"jax.lax.convert_element_type({c.given[0]}, {c.dtype!r})",
    "bitcast_convert_type": lambda c: f"jax.lax.bitcast_convert_type({c.given[0]}, {c.dtype!r})",
    "reduce_precision": lambda c: f"jax.lax.reduce_precision({c.given[0]}, {c['exponent_bits']}, {c['mantissa_bits']})",
    "integer_pow": lambda c: f"jax.lax.integer_pow({c.given[0]}, {c['y n']})",
    "iota": _iota, "zeros": _zeros, "stack": _stacked, "unstack": _unstacked, "round": _round,
    "row": lambda c: f"{c.given[0]}[{c['number']}]",
    "linear_recurrence": _recurrence, "fft": _fft,
    "svd": _svd, "eigh": _eigh, "eig": _eig, "qr": _qr, "schur": _schur, "triangular_solve": _triangular,
    "solve_factored": _factored,
    "cholesky": _cholesky,
    "lu": lambda c: f"tuple(jax.lax.linalg.lu({c.given[0]}))",
    "lu_pivots_to_permutation": lambda c: (f"jax.lax.linalg.lu_pivots_to_permutation({c.given[0]}, "
                                           f"permutation_size={c.shape[-1]})"),
    "hessenberg": lambda c: f"tuple(jax.lax.linalg.hessenberg({c.given[0]}))",
    "tridiagonal": lambda c: f"tuple(jax.lax.linalg.tridiagonal({c.given[0]}, lower={c['lower']}))",
    "tridiagonal_solve": lambda c: f"jax.lax.linalg.tridiagonal_solve({', '.join(c.given)})",
    "householder_product": lambda c: f"jax.lax.linalg.householder_product({', '.join(c.given)})",
    "ormqr": lambda c: f"jax.lax.linalg.ormqr({', '.join(c.given)}, left={c['left']}, transpose={c['transpose']})",
    "pseudo_inverse": lambda c: (f"jnp.linalg.pinv({c.given[0]}, rtol={c.given[1]}, "
                                 f"hermitian={bool(c['hermitian'])})"),
    "random_seed": lambda c: f"jax.random.key({c.given[0]}, impl={_impl(c)!r})",
    "random_wrap": lambda c: f"jax.random.wrap_key_data({c.given[0]}, impl={_impl(c)!r})",
    "random_fold_in": _folded, "platform_index": lambda c: f"jnp.asarray({len(c['platforms']) - 1}, {c.dtype!r})",
    "random_split": _split, "random_bits": _bits,
    "random_gamma": lambda c: (f"jax.random.{'loggamma' if c['log_space'] else 'gamma'}({c.given[0]}, {c.given[1]}, "
                               f"dtype={c.dtype!r})"),
    "rng_bit_generator": lambda c: f"tuple(jax.lax.rng_bit_generator({c.given[0]}, {c['shape']}, {c.results[1][1]!r}))",
}


def expression(call: Call) -> str | None:
    """The operation as an expression of jax: its result, or a tuple of its results where it has several.

    None if it cannot be written in one line.
    """
    given = ", ".join(call.given)
    if call.run:
        return f"{call.run}({given})"
    if call.name in _SAME:
        return f"jax.lax.{call.name}({given})"
    if call.name in _ARRAYS:
        return f"{_ARRAYS[call.name]}({given})"
    if call.name in _PLAIN:
        return _PLAIN[call.name].format(*call.given)
    made = _TABLE.get(call.name)
    return None if made is None else made(call)

"""checkpoint (remat): trade memory for computation in reverse mode; and the residuals that a derivative keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pullback.api.flat import FlatFunction, argument_names, check_callable, flatten_args, function_name, wraps
from pullback.core import errors, source, tree
from pullback.core.primitive import Primitive
from pullback.core.trace import bind, type_of
from pullback.core.types import ArrayType
from pullback.interpret.linearize import linearize_program
from pullback.interpret.stage import stage
from pullback.ops import checkpoint as ops
from pullback.ops.call import inlined

__all__ = ["Offloadable", "Recompute", "Residual", "Saveable", "checkpoint", "checkpoint_name", "checkpoint_policies",
           "print_saved_residuals", "remat", "residuals"]

Policy = Callable[..., bool]


def checkpoint_name(x: Any, name: str) -> Any:
    """`x` under a name that the policies of `checkpoint` can ask for."""
    if not isinstance(name, str):
        raise errors.type_error(f"the name is {name!r}, a string is required", op="checkpoint_name")
    leaves, treedef = flatten_args(x)
    return tree.unflatten(treedef, [ops.name(leaf, name=name) for leaf in leaves])


class Offloadable(NamedTuple):
    """What a policy may answer for a value: keep it, in another memory. On the CPU there is one: it is saved."""

    src: Any
    dst: Any


class _Answer:
    """What a policy may answer for a value in place of True or False."""

    def __init__(self, name: str, saved: bool) -> None:
        self.name = name
        self.saved = saved

    def __bool__(self) -> bool:
        return self.saved

    def __repr__(self) -> str:
        return self.name


Saveable = _Answer("Saveable", True)
Recompute = _Answer("Recompute", False)


def _batch_free(dims: Any) -> bool:
    (_, _), (left, right) = dims
    return not left and not right


class checkpoint_policies:
    """What `checkpoint` keeps: functions (primitive, *types, **params) -> whether its outputs are saved."""

    @staticmethod
    def everything_saveable(*_: Any, **__: Any) -> bool:
        return True

    @staticmethod
    def nothing_saveable(*_: Any, **__: Any) -> bool:
        return False

    @staticmethod
    def dots_saveable(primitive: Primitive, *_: Any, **__: Any) -> bool:
        return primitive.name in ("dot_general", "conv_general_dilated")

    checkpoint_dots = dots_saveable

    @staticmethod
    def dots_with_no_batch_dims_saveable(primitive: Primitive, *_: Any, **params: Any) -> bool:
        return primitive.name == "dot_general" and _batch_free(params["dims"])

    checkpoint_dots_with_no_batch_dims = dots_with_no_batch_dims_saveable

    @staticmethod
    def save_only_these_names(*names: str) -> Policy:
        return _Named(frozenset(names), "only")

    @staticmethod
    def save_any_names_but_these(*names: str) -> Policy:
        return _Named(frozenset(names), "any_but")

    @staticmethod
    def save_anything_except_these_names(*names: str) -> Policy:
        return _Named(frozenset(names), "everything_but")

    @staticmethod
    def save_from_both_policies(first: Policy, second: Policy) -> Policy:
        return _Either(first, second)

    @staticmethod
    def save_and_offload_only_these_names(*, names_which_can_be_saved: Any, names_which_can_be_offloaded: Any,
                                          offload_src: str, offload_dst: str) -> Policy:
        """On the CPU there is nowhere to offload to: both kinds of names are saved."""
        return _Named(frozenset([*names_which_can_be_saved, *names_which_can_be_offloaded]), "only")

    @staticmethod
    def offload_dot_with_no_batch_dims(offload_src: str, offload_dst: str) -> Policy:
        """On the CPU there is nowhere to offload to: the products are saved."""
        return checkpoint_policies.dots_with_no_batch_dims_saveable


class _Named(NamedTuple):
    """A policy on names; compared by value, so that equal policies share compiled programs."""

    names: frozenset[str]
    kind: str

    def __call__(self, primitive: Primitive, *_: Any, **params: Any) -> bool:
        if primitive is not ops.name:
            return self.kind == "everything_but"
        return (params["name"] in self.names) == (self.kind == "only")


class _Either(NamedTuple):
    first: Policy
    second: Policy

    def __call__(self, primitive: Primitive, *types: Any, **params: Any) -> bool:
        return self.first(primitive, *types, **params) or self.second(primitive, *types, **params)


def checkpoint(fun: Callable[..., Any], *, prevent_cse: Any = True, policy: Policy | None = None,
               static_argnums: int | tuple[int, ...] = (), static_argnames: str | Iterable[str] = ()
               ) -> Callable[..., Any]:
    """A function whose reverse mode keeps its inputs and computes the rest again.

    Args:
      fun: a function of arrays or pytrees of arrays.
      policy: which intermediate values to keep all the same; one of checkpoint_policies. None: none.
      static_argnums, static_argnames: arguments that are Python values, by position or by keyword.
      prevent_cse: accepted; XLA is always kept from undoing the second computation.

    Raises:
      ValueError: a number in static_argnums is that of no positional argument of the call.

    Example:
      >>> grad(checkpoint(lambda x: jnp.sum(jnp.sin(jnp.sin(x)))))(jnp.ones(3))
    """
    check_callable(fun, "checkpoint")
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    names = {static_argnames} if isinstance(static_argnames, str) else set(static_argnames)

    @wraps(fun)
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        for n in static:
            if not -len(args) <= n < len(args):
                raise errors.value_error(f"static_argnums has {n}, and {function_name(fun)} got {len(args)} positional "
                                         "arguments", op="checkpoint", fix="count from 0; name keywords in "
                                         "static_argnames")
        numbers = {n % len(args) for n in static}
        dynamic = tuple(x for i, x in enumerate(args) if i not in numbers)
        static_kwargs = {k: v for k, v in kwargs.items() if k in names}
        dynamic_kwargs = {k: v for k, v in kwargs.items() if k not in names}

        def with_static(given: tuple[Any, ...], given_kwargs: dict[str, Any]) -> Any:
            rest = iter(given)
            return fun(*(x if i in numbers else next(rest) for i, x in enumerate(args)), **given_kwargs,
                       **static_kwargs)

        leaves, in_tree = flatten_args((dynamic, dynamic_kwargs))
        flat = FlatFunction(with_static, in_tree, op="checkpoint")
        program, captured = stage(flat, [type_of(x) for x in leaves], name=function_name(fun), what="checkpoint",
                                  input_names=argument_names(fun, dynamic, dynamic_kwargs))
        outputs = bind(ops.checkpoint, [*captured, *leaves], {"program": program, "policy": policy})
        return tree.unflatten(flat.out_tree, outputs)

    return checkpointed


def remat(fun: Callable[..., Any], *, prevent_cse: Any = True, policy: Policy | None = None,
          static_argnums: int | tuple[int, ...] = ()) -> Callable[..., Any]:
    """`checkpoint` by its older name, without names of static arguments.

    Args:
      fun, prevent_cse, policy, static_argnums: as of `checkpoint`.

    Example:
      >>> print(grad(remat(lambda x: jnp.sin(jnp.sin(x))))(0.0))
      1.0
    """
    return checkpoint(fun, prevent_cse=prevent_cse, policy=policy, static_argnums=static_argnums)


class Residual(NamedTuple):
    """A value that reverse mode keeps between the forward and the backward pass.

    Attributes:
      type: shape and dtype.
      nbytes: its size in bytes.
      origin: 'argument x', 'constant', or the operation that made it.
      source: the user's line that made it, or None.
    """

    type: ArrayType
    nbytes: int
    origin: str
    source: source.Source | None

    def __str__(self) -> str:
        where = f" at {self.source}" if self.source else ""
        return f"{self.type} ({self.nbytes} bytes) from {self.origin}{where}"


def residuals(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> list[Residual]:
    """The values that `vjp` of a function would keep: shape, dtype, bytes, and the line that made each.

    Example:
      >>> for r in pullback.residuals(lambda x: jnp.sum(jnp.sin(x)), jnp.ones(3)): print(r)
    """
    check_callable(fun, "residuals")
    leaves, in_tree = flatten_args((args, kwargs))
    flat = FlatFunction(fun, in_tree, keywords=True, op="residuals")
    program, captured = stage(flat, [type_of(x) for x in leaves], name=function_name(fun), what="residuals")
    names = ["a constant"] * len(captured) + [f"argument {n}" for n in argument_names(fun, args, kwargs)]
    program = program.memo(inlined)
    mask = (False,) * len(captured) + tuple(t.tangent() is t for t in (type_of(x) for x in leaves))
    pair = program.memo(linearize_program, mask)
    makers = {v: eqn for eqn in pair.forward.equations for v in eqn.outputs}
    positions = {v: i for i, v in enumerate(pair.forward.inputs)}
    found = []
    for kind, i in pair.sources:
        atom = pair.forward.inputs[i] if kind == "in" else pair.forward.outputs[len(program.outputs) + i]
        t = atom.type
        nbytes = t.physical().size * t.physical().dtype.itemsize
        if atom in positions:
            found.append(Residual(t, nbytes, names[positions[atom]], None))
        elif atom in makers:
            found.append(Residual(t, nbytes, makers[atom].primitive.name, makers[atom].source))
        else:
            found.append(Residual(t, nbytes, "a literal", None))
    return found


def print_saved_residuals(f: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Prints the values that `vjp` of a function would keep, a line each."""
    for residual in residuals(f, *args, **kwargs):
        print(residual)


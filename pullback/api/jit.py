"""jit: a function staged once per signature, compiled, and called."""

from __future__ import annotations

import functools
import inspect
import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from pullback.api import misses
from pullback.api.flat import FlatFunction, argument_names, check_callable, function_name, leaf_value, wrapping
from pullback.api.stages import Lowered, Traced
from pullback.core import config, dtypes, errors, trace, tree
from pullback.core.array import Array, ConcreteArray
from pullback.core.check import check_program
from pullback.core.program import Program
from pullback.core.trace import Tracer, bind, type_of
from pullback.core.types import ArrayType
from pullback.core.values import value
from pullback.interpret.evaluate import evaluate
from pullback.interpret.stage import stage
from pullback.ops.call import call
from pullback.passes import key_reuse
from pullback.passes.clean import written_in
from pullback.runtime.eager import check_finite
from pullback.runtime.executable import Executable, device_buffer, executable, given, moved
from pullback.runtime.sharding import PartitionSpec, as_sharding, single_device

__all__ = ["jit"]

_NOT_GIVEN: Any = object()


class Staged:
    """What one signature of a jitted function came to."""

    __slots__ = ("captured", "executable", "out_tree", "program", "single")

    def __init__(self, program: Program, captured: list[Any], out_tree: Any) -> None:
        self.program = program
        self.captured = captured
        self.out_tree = out_tree
        self.single = out_tree == tree.structure(0)  # the output is one leaf
        self.executable: Executable | None = None


class _Signatures(dict[Any, Staged]):
    """The signatures of a function."""

    __slots__ = ()

    def clear(self) -> None:
        super().clear()
        config.forget()


class _Ready(NamedTuple):
    """What a call like the last one needs."""

    settings: Any                                # for which it is ready
    values_of: Callable[..., Any] | None = None  # (args, kwargs) -> values, None for another call; None: args
    types: Any = None                            # of the values
    first: Any = None                            # buffers that come before those of the values
    kept: list[int] | None = None                # the values that are passed on; None: all, and nothing before
    execute: Any = None
    handlers: Any = None                         # of the results, which make Arrays of them
    unflatten: Any = None                        # from the Arrays to the result; None: there is one


# Signatures of functions, shared by all `jit(f)` of one f, gone with the function.
_caches: weakref.WeakKeyDictionary[Any, _Signatures] = weakref.WeakKeyDictionary()


def clear() -> None:
    """Forgets the signatures of all jitted functions."""
    for cache in _caches.values():
        cache.clear()


def _cache_of(fun: Any) -> _Signatures:
    try:
        return _caches.setdefault(fun, _Signatures())
    except TypeError:  # not hashable, or no weak references
        return _Signatures()


def _names_and_numbers(fun: Any, nums: Any, names: Any, what: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """argnums and argnames, each completed from the other by the signature."""
    nums = () if nums is None else (nums,) if isinstance(nums, int) else tuple(nums)
    names = () if names is None else (names,) if isinstance(names, str) else tuple(names)
    if not all(isinstance(n, int) for n in nums) or not all(isinstance(n, str) for n in names):
        raise errors.type_error(f"{what}_argnums is {nums!r} and {what}_argnames {names!r}, ints and names are "
                                "required", op="jit")
    try:
        parameters = list(inspect.signature(fun).parameters.values())
    except (TypeError, ValueError):
        return nums, names
    positional = [p.name for p in parameters
                  if p.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind is inspect.Parameter.VAR_POSITIONAL for p in parameters)
    keywords = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters)
    known = {p.name for p in parameters}
    for name in names:
        if name not in known and not keywords:
            raise errors.value_error(f"{what}_argnames names {name!r}, but {function_name(fun)} has the parameters "
                                     f"{sorted(known)}", op="jit", fix="use a parameter's name")
    for n in nums:
        if not variadic and not -len(positional) <= n < len(positional):
            raise errors.value_error(f"{what}_argnums is {n}, but {function_name(fun)} has {len(positional)} "
                                     "positional parameters", op="jit", fix="count from 0")
    if not variadic:
        nums = tuple(n % len(positional) for n in nums)
    more_names = tuple(positional[n] for n in nums if 0 <= n < len(positional))
    more_nums = tuple(positional.index(name) for name in names if name in positional)
    return tuple(dict.fromkeys(nums + more_nums)), tuple(dict.fromkeys(names + more_names))


class Jitted:
    """A jitted function. Call it as the function; `lower` and `trace` show what it compiles to."""

    def __init__(self, fun: Callable[..., Any], static_argnums: Any, static_argnames: Any, donate_argnums: Any,
                 donate_argnames: Any, options: Any) -> None:
        self.fun = fun
        self.static_nums, self.static_names = _names_and_numbers(fun, static_argnums, static_argnames, "static")
        self.donate_nums, self.donate_names = _names_and_numbers(fun, donate_argnums, donate_argnames, "donate")
        self.options = tuple(sorted(options.items())) if options else None
        self.donates = bool(self.donate_nums or self.donate_names)
        self.plain = not (self.static_nums or self.static_names)
        self.cache = _cache_of(fun)
        self.ready = _Ready(object())
        self.config = (self.static_nums, self.static_names, self.donate_nums, self.donate_names, self.options)
        wrapping(self, fun)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(self.fun)

    def __repr__(self) -> str:
        return f"<jit of {function_name(self.fun)}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # The way of nearly every call: Arrays, of the types of the last call, under the same settings.
        settings, values_of, types, first, kept, execute, handlers, unflatten = self.ready
        if settings is config.settled and trace.state.trace is None:
            values = (None if kwargs else args) if values_of is None else values_of(args, kwargs)
            if values is not None:
                own = [None if x.__class__ is not ConcreteArray or x._device is None or x.placement is not None
                       else x.type for x in values]
                buffers = [x._device for x in values] if own == types else self._moved(values, own, types)
                try:
                    if kept is not None and buffers is not None:
                        buffers = first + [buffers[i] for i in kept]
                    results = None if buffers is None else execute(buffers).consume_with_handlers(handlers)
                except Exception:
                    results = None  # the careful way says what is wrong
                if results is not None:
                    return results[0] if unflatten is None else unflatten(results)
        if trace.state.trace is None and not config.unusual:
            known = self._again(args, kwargs)
            if known is not _NOT_GIVEN:
                return known
        return self._carefully(args, kwargs)

    def _moved(self, values: Sequence[Any], own: list[Any], types: list[Any]) -> list[Any] | None:
        """The buffers of arguments of which some are numbers or in NumPy's memory; None if the types are others."""
        if len(own) != len(types):
            return None
        buffers = []
        for x, t, wanted in zip(values, own, types):
            found = moved(x, self.donates, wanted) if t is None else (t, x._device)
            if found is None or found[0] is not wanted or x.__class__ is ConcreteArray and x.placement is not None:
                return None
            buffers.append(found[1])
        return buffers

    def _again(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The result of a call like an earlier one; _NOT_GIVEN for another, and where something needs a closer look."""
        static, dynamic, dynamic_kwargs = self._divided(args, kwargs)
        leaves, in_tree = tree.flatten((dynamic, dynamic_kwargs))
        found = given(leaves, self.donates)
        if found is None:
            return _NOT_GIVEN
        types, buffers, place = found
        settings = config.program_key()
        staged = self.cache.get((in_tree, tuple(types), static, self.config, settings, ()))
        program = staged.executable if staged is not None else None
        if staged is None or program is None or program.effects or place not in program.compiled:
            return _NOT_GIVEN
        bound = [device_buffer(x, place) for x in staged.captured]
        kept = [i - len(bound) for i in program.kept[sum([i < len(bound) for i in program.kept]):]]
        bound = [bound[i] for i in program.kept[:len(program.kept) - len(kept)]]
        compiled = program.compiled[place]
        try:
            results = compiled(bound + [buffers[i] for i in kept])
        except Exception:
            return _NOT_GIVEN
        if settings is config.settled and place is None:
            makers = [functools.partial(ConcreteArray, t, None) for t in program.result_types]
            all_kept = not bound and kept == list(range(len(types)))
            self.ready = _Ready(settings, self._values_of(args, kwargs, static, leaves, in_tree), types, bound,
                                None if all_kept else kept, compiled.execute, compiled.wrapped_handlers(makers),
                                None if staged.single else staged.out_tree.unflatten)
        arrays = [ConcreteArray(t, None, x, place) for t, x in zip(program.result_types, results)]
        return arrays[0] if staged.single else staged.out_tree.unflatten(arrays)

    def _values_of(self, args: Sequence[Any], kwargs: dict[str, Any], static: Any, leaves: list[Any], in_tree: Any
                   ) -> Callable[..., Any] | None:
        """How the values come from the arguments of a call like this one; see _Ready."""
        places = [i for i in range(len(args)) if i not in self.static_nums]
        names = [name for name in sorted(kwargs) if name not in self.static_names]
        alone = [args[i] for i in places] + [kwargs[name] for name in names]
        if len(alone) != len(leaves) or not all([x is leaf for x, leaf in zip(alone, leaves)]):
            flatten = tree.REGISTRY.flatten
            args_tree = None if static or kwargs else tree.structure(args)

            def by_structure(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
                try:
                    if args_tree is not None:
                        values, structure = flatten(args)
                        return values if structure == args_tree and not kwargs else None
                    said, *dynamic = self._divided(args, kwargs)
                    values, structure = flatten(tuple(dynamic))
                    return values if structure == in_tree and said == static else None
                except Exception:
                    return None  # the careful way says what is wrong

            return by_structure
        if not kwargs and not static:
            return None
        count, named = len(args), len(kwargs)

        def by_place(args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
            if len(args) != count or len(kwargs) != named:
                return None
            try:
                for key, kind, known in static:
                    x = args[key] if key.__class__ is int else kwargs[key]
                    if x is not known and (x.__class__ is not kind or x != known):
                        return None
                return [args[i] for i in places] + [kwargs[name] for name in names]
            except Exception:
                return None  # other names, or values that cannot be compared
        return by_place

    def _carefully(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if config.disable_jit.value:
            return self.fun(*args, **kwargs)
        staged, leaves, donated = self.signature(args, kwargs)
        values = staged.captured + leaves if staged.captured else leaves
        if trace.state.trace is None and not any([isinstance(x, Tracer) for x in values]):
            if staged.executable is None:
                if config.debug_nans.value or config.debug_infs.value:
                    donated = []  # the arguments are needed again where a NaN came out; see _check_results
                staged.executable = Executable(staged.program, donated, self.options) \
                    if any(donated) or self.options else executable(staged.program)
            keys: Sequence[Any] = ()
            if config.debug_key_reuse.value:
                keys = key_reuse.follow(call, values, {"program": staged.program, "name": ""},
                                        staged.program.output_types)
            results = staged.executable(values)
            if keys:
                key_reuse.attach(results, keys)
            if config.debug_nans.value or config.debug_infs.value:
                _check_results(staged, values, results)
        else:
            results = bind(call, values, {"program": staged.program, "name": function_name(self.fun)})
        return tree.unflatten(staged.out_tree, results)

    # -- staging ---------------------------------------------------------------------------------

    def signature(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Staged, list[Any], list[bool]]:
        """The staged program for these arguments, their leaves, and which inputs are donated."""
        static, dynamic, dynamic_kwargs = self._divided(args, kwargs)
        leaves, in_tree = tree.flatten((dynamic, dynamic_kwargs))
        types = []
        for i, leaf in enumerate(leaves):
            if not isinstance(leaf, Array):
                leaf = leaves[i] = self._leaf(leaf, i, dynamic, dynamic_kwargs)
            types.append(type_of(leaf))
        donated = self._donated(dynamic, dynamic_kwargs) if self.donates else []
        key = in_tree, tuple(types), static, self.config, config.program_key(), tuple(trace.state.axes.items())
        staged = self.cache.get(key)
        if staged is None:
            if config.explain_cache_misses.value:
                misses.explain(self.fun, self.cache, key)
            staged = self._stage(args, kwargs, dynamic, dynamic_kwargs, in_tree, types)
            if not any(isinstance(x, Tracer) for x in staged.captured):  # a cache must hold no tracers
                self.cache[key] = staged
            elif config.explain_cache_misses.value:
                misses.not_kept(self.fun)
        return staged, leaves, [False] * len(staged.captured) + donated if donated else []

    def _divided(self, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, Any, dict[str, Any]]:
        """The static arguments, as part of a key, and the others, with None in place of static ones."""
        if self.plain:
            return (), args, kwargs
        numbers, names = self.static_nums, self.static_names
        static = [(i, type(args[i]), self._hashable(args[i], i)) for i in numbers if -len(args) <= i < len(args)]
        if kwargs:
            static += [(k, type(kwargs[k]), self._hashable(kwargs[k], k)) for k in sorted(kwargs) if k in names]
            kwargs = {k: v for k, v in kwargs.items() if k not in names}
        return tuple(static), tuple([None if i in numbers else arg for i, arg in enumerate(args)]), kwargs

    def _leaf(self, leaf: Any, i: int, dynamic: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        try:
            return value(leaf)
        except TypeError:
            names = argument_names(self.fun, dynamic, kwargs)
            return leaf_value(leaf, f"argument {names[i]} of {function_name(self.fun)}")

    def _hashable(self, x: Any, which: Any) -> Any:
        try:
            hash(x)
        except TypeError:
            name = which
            if isinstance(which, int):
                try:
                    name = list(inspect.signature(self.fun).parameters)[which]
                except (TypeError, ValueError, IndexError):
                    name = f"number {which}"
            raise errors.value_error(
                f"the static argument {name} of {function_name(self.fun)} is a {type(x).__name__}, which cannot be "
                "hashed; static arguments are part of the compiled program's key", op="jit",
                fix="pass a tuple for a list, a frozen dataclass for an object, or make an array argument not static"
            ) from None
        return x

    def _donated(self, dynamic: Sequence[Any], kwargs: dict[str, Any]) -> list[bool]:
        flags: list[bool] = []
        for i, arg in enumerate(dynamic):
            flags += [i in self.donate_nums] * len(tree.leaves(arg))
        for name in sorted(kwargs):
            flags += [name in self.donate_names] * len(tree.leaves(kwargs[name]))
        return flags

    def _stage(self, args: Sequence[Any], kwargs: dict[str, Any], dynamic: Sequence[Any],
               dynamic_kwargs: dict[str, Any], in_tree: Any, types: Sequence[Any]) -> Staged:
        if config.no_tracing.value:
            raise errors.make(RuntimeError, f"{function_name(self.fun)} must be traced for "
                              f"{', '.join(map(str, types))}, "
                              "and no_tracing is set", op="jit", fix="call it with these types once before")
        static_args = {i: args[i] for i in self.static_nums if i < len(args)}
        static_kwargs = {k: v for k, v in kwargs.items() if k in self.static_names}
        fun = self.fun

        def with_static(given: tuple[Any, ...], given_kwargs: dict[str, Any]) -> Any:
            full = [static_args.get(i, x) for i, x in enumerate(given)]
            return fun(*full, **given_kwargs, **static_kwargs)

        flat = FlatFunction(with_static, in_tree, op="jit")
        flat.function.__name__ = function_name(fun)
        program, captured = stage(flat, types, name=function_name(fun), what="jit",
                                  input_names=argument_names(fun, dynamic, dynamic_kwargs))
        program, captured = written_in(program, captured)
        if config.enable_checks.value:
            check_program(program)
        return Staged(program, captured, flat.out_tree)

    # -- inspection ------------------------------------------------------------------------------

    def trace(self, *args: Any, **kwargs: Any) -> Traced:
        """The staged program for these arguments (arrays or ShapeDtypeStructs)."""
        args, kwargs = tree.map(_placeholder, (args, kwargs)) if not self.static_nums and not self.static_names \
            else self._placeholders(args, kwargs)
        staged, leaves, donated = self.signature(args, kwargs)
        in_tree = tree.structure((args, kwargs))
        return Traced(staged.program, staged.captured, in_tree, staged.out_tree, function_name(self.fun), donated,
                      self.options)

    def _placeholders(self, args: Any, kwargs: Any) -> tuple[Any, Any]:
        return ([a if i in self.static_nums else tree.map(_placeholder, a) for i, a in enumerate(args)],
                {k: v if k in self.static_names else tree.map(_placeholder, v) for k, v in kwargs.items()})

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """The program as StableHLO, ready to be compiled."""
        return self.trace(*args, **kwargs).lower()

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes of the outputs, without computing them."""
        return self.trace(*args, **kwargs).out_info

    def clear_cache(self) -> None:
        """Forgets all signatures."""
        self.cache.clear()

    def _cache_size(self) -> int:
        return len(self.cache)


class _Placeholder(Array):
    """Stands for an argument of which only the type is known."""

    __slots__ = ("type",)

    def __init__(self, t: Any) -> None:
        self.type = t


def _placeholder(x: Any) -> Any:
    if isinstance(x, Array) or not (hasattr(x, "shape") and hasattr(x, "dtype")):
        return x
    return _Placeholder(ArrayType(tuple(x.shape), dtypes.canonicalize(x.dtype), bool(getattr(x, "weak_type", False))))


def _check_results(staged: Staged, values: Sequence[Any], results: Sequence[Any]) -> None:
    """Where a jitted function gave a NaN: runs it again, one operation at a time, to name the operation."""
    try:
        check_finite(call, values, results)
    except FloatingPointError:
        evaluate(staged.program, values)
        raise


def jit(fun: Any = _NOT_GIVEN, /, *, in_shardings: Any = _NOT_GIVEN, out_shardings: Any = _NOT_GIVEN,
        static_argnums: Any = None,
        static_argnames: Any = None, donate_argnums: Any = None, donate_argnames: Any = None,
        keep_unused: bool = False, device: Any = None, backend: str | None = None, inline: bool = False,
        compiler_options: dict[str, Any] | None = None) -> Any:
    """A function compiled by XLA: traced once per structure, shapes and dtypes of its arguments.

    Args:
      fun: a function of arrays or pytrees of arrays.
      static_argnums, static_argnames: arguments that are Python values, part of the program; hashable.
      in_shardings, out_shardings: where arguments and results lie: shardings over one device, or None.
      donate_argnums, donate_argnames: arguments whose memory the result may take; they are gone afterwards.
      inline: has no effect on results; XLA decides.
      compiler_options: XLA's options for this function.

    Raises:
      TracerBoolConversionError: the function branches on a traced value.
      ValueError: a static argument cannot be hashed.

    Example:
      >>> jit(lambda x: x * 2)(jnp.arange(3))
    """
    if fun is _NOT_GIVEN:
        return functools.partial(
            jit, in_shardings=in_shardings, out_shardings=out_shardings, static_argnums=static_argnums,
            static_argnames=static_argnames, donate_argnums=donate_argnums, donate_argnames=donate_argnames,
            keep_unused=keep_unused, device=device, backend=backend, inline=inline,
            compiler_options=compiler_options)
    check_callable(fun, "jit")
    for asked in tree.leaves((in_shardings, out_shardings)):
        # Specs name the axes of a mesh that may be set later.
        if asked is not _NOT_GIVEN and not isinstance(asked, PartitionSpec):
            single_device(as_sharding(asked, "jit"), "jit")
    return Jitted(fun, static_argnums, static_argnames, donate_argnums, donate_argnames, compiler_options)

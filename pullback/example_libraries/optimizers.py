"""Optimizers as three functions, and schedules of step sizes (jax.example_libraries.optimizers).

An optimizer is (init_fn, update_fn, params_fn): parameters -> state, (step number, gradients, state) -> state, and
state -> parameters. The functions that make one are written for a single array; `optimizer` lifts them to trees.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import pullback.numpy as jnp
from pullback.core import errors, tree
from pullback.core.tree import leaves as leaves_of

__all__ = ["JoinPoint", "Optimizer", "OptimizerState", "adagrad", "adam", "adamax", "clip_grads", "constant",
           "exponential_decay", "inverse_time_decay", "l2_norm", "make_schedule", "momentum", "nesterov", "optimizer",
           "pack_optimizer_state", "piecewise_constant", "polynomial_decay", "rmsprop", "rmsprop_momentum", "sgd",
           "sm3", "unpack_optimizer_state"]

Schedule = Callable[[Any], Any]
Parts = tuple[Callable[[Any], Any], Callable[[Any, Any, Any], Any], Callable[[Any], Any]]


class OptimizerState(NamedTuple):
    """The states of all arrays: their leaves, the tree of the parameters, and the tree of each array's state."""

    packed_state: Any
    tree_def: Any
    subtree_defs: Any


tree.register_pytree_node(OptimizerState, lambda s: ((s.packed_state,), (s.tree_def, s.subtree_defs)),
                          lambda aux, children: OptimizerState(children[0], *aux))


class Optimizer(NamedTuple):
    """init_fn(params) -> state; update_fn(step, gradients, state) -> state; params_fn(state) -> params."""

    init_fn: Callable[[Any], OptimizerState]
    update_fn: Callable[[Any, Any, OptimizerState], OptimizerState]
    params_fn: Callable[[OptimizerState], Any]


def optimizer(opt_maker: Callable[..., Parts]) -> Callable[..., Optimizer]:
    """Makes a function that returns the three functions for one array return those for trees.

    Args:
      opt_maker: returns init(x) -> state, update(step, gradient, state) -> state, get_params(state) -> x.

    Raises (in update_fn):
      TypeError: the gradients have another structure than the parameters.

    Example:
      >>> from pullback.example_libraries import optimizers
      >>> init, update, params = optimizers.sgd(0.5)
      >>> params(update(0, {"w": jnp.ones(2)}, init({"w": jnp.zeros(2)})))
      {'w': Array([-0.5, -0.5], dtype=float32)}
    """
    @functools.wraps(opt_maker)
    def made(*args: Any, **kwargs: Any) -> Optimizer:
        init, update, get_params = opt_maker(*args, **kwargs)

        def packed(states: Sequence[Any], treedef: Any) -> OptimizerState:
            flat = [tree.flatten(state) for state in states]
            return OptimizerState([leaves for leaves, _ in flat], treedef, tuple(structure for _, structure in flat))

        def states_of(state: OptimizerState) -> list[Any]:
            return [tree.unflatten(structure, leaves) for structure, leaves in
                    zip(state.subtree_defs, state.packed_state, strict=True)]

        def init_fn(params: Any) -> OptimizerState:
            leaves, treedef = tree.flatten(params)
            return packed([init(x) for x in leaves], treedef)

        def update_fn(step: Any, grads: Any, state: OptimizerState) -> OptimizerState:
            leaves, treedef = tree.flatten(grads)
            if treedef != state.tree_def:
                raise errors.type_error(f"the gradients have the structure {treedef}, the parameters {state.tree_def}",
                                        op="update_fn", fix="pass one gradient for each parameter")
            return packed([update(step, g, s) for g, s in zip(leaves, states_of(state), strict=True)], treedef)

        def params_fn(state: OptimizerState) -> Any:
            return tree.unflatten(state.tree_def, [get_params(s) for s in states_of(state)])

        return Optimizer(init_fn, update_fn, params_fn)
    return made


# -- optimizers -------------------------------------------------------------------------------------------

def _first(state: Any) -> Any:
    return state[0]


@optimizer
def sgd(step_size: Any) -> Parts:
    """Steps against the gradient.

    Args:
      step_size: a number, or a function of the number of the step.
    """
    size = make_schedule(step_size)
    return lambda x: x, lambda i, g, x: x - size(i) * g, lambda x: x


def _along_velocity(step_size: Any, mass: Any, step: Callable[[Any, Any], Any]) -> Parts:
    """Steps of `step(velocity, gradient)`, where gradients are added to a velocity that decays by `mass`."""
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, velocity = state
        velocity = mass * velocity + g
        return x - size(i) * step(velocity, g), velocity
    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def momentum(step_size: Any, mass: Any) -> Parts:
    """Steps along a velocity, to which gradients are added and which decays by `mass`."""
    return _along_velocity(step_size, mass, lambda velocity, g: velocity)


@optimizer
def nesterov(step_size: Any, mass: Any) -> Parts:
    """`momentum`, that looks ahead along the velocity."""
    return _along_velocity(step_size, mass, lambda velocity, g: mass * velocity + g)


@optimizer
def adagrad(step_size: Any, momentum: Any = 0.9) -> Parts:
    """Steps scaled by the root of the sum of squares so far.

    Source: Duchi, Hazan and Singer, Adaptive subgradient methods (2011).
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, squares, mean = state
        squares = squares + jnp.square(g)
        scaled = jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0.0)
        mean = (1.0 - momentum) * (g * scaled) + momentum * mean
        return x - size(i) * mean, squares, mean
    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def rmsprop(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8) -> Parts:
    """Steps scaled by the root of a moving average of squares."""
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, average = state
        average = average * gamma + jnp.square(g) * (1.0 - gamma)
        return x - size(i) * g / jnp.sqrt(average + eps), average
    return lambda x: (x, jnp.zeros_like(x)), update, _first


@optimizer
def rmsprop_momentum(step_size: Any, gamma: Any = 0.9, eps: Any = 1e-8, momentum: Any = 0.9) -> Parts:
    """`rmsprop` along a velocity."""
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, average, velocity = state
        average = average * gamma + jnp.square(g) * (1.0 - gamma)
        velocity = momentum * velocity + size(i) * g / jnp.sqrt(average + eps)
        return x - velocity, average, velocity
    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def adam(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Parts:
    """Steps along a moving average of gradients, scaled by the root of one of squares.

    Args:
      step_size: a number, or a function of the number of the step.
      b1, b2: how slowly the averages move, below 1.
      eps: added to the root.

    Source: Kingma and Ba, Adam (2014).
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, squares = state
        mean = (1 - b1) * g + b1 * mean
        squares = (1 - b2) * jnp.square(g) + b2 * squares
        mean_hat = mean / (1 - jnp.asarray(b1, mean.dtype) ** (i + 1))
        squares_hat = squares / (1 - jnp.asarray(b2, mean.dtype) ** (i + 1))
        return x - size(i) * mean_hat / (jnp.sqrt(squares_hat) + eps), mean, squares
    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def adamax(step_size: Any, b1: Any = 0.9, b2: Any = 0.999, eps: Any = 1e-8) -> Parts:
    """`adam` with the largest gradient of late in the place of the root of squares.

    Source: Kingma and Ba, Adam (2014).
    """
    size = make_schedule(step_size)

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, largest = state
        mean = (1 - b1) * g + b1 * mean
        largest = jnp.maximum(b2 * largest, jnp.abs(g))
        return x - size(i) / (1 - jnp.asarray(b1, mean.dtype) ** (i + 1)) * mean / (largest + eps), mean, largest
    return lambda x: (x, jnp.zeros_like(x), jnp.zeros_like(x)), update, _first


@optimizer
def sm3(step_size: Any, momentum: Any = 0.9) -> Parts:
    """Steps scaled by squares of which one number is kept for each index of each axis.

    Source: Anil, Gupta, Koren and Singer, Memory-efficient adaptive optimization (2019).
    """
    size = make_schedule(step_size)

    def init(x: Any) -> Any:
        return x, jnp.zeros_like(x), [jnp.zeros(n, dtype=x.dtype) for n in x.shape]

    def along(v: Any, axis: int, ndim: int) -> Any:
        return v.reshape([-1 if a == axis else 1 for a in range(ndim)])

    def update(i: Any, g: Any, state: Any) -> Any:
        x, mean, kept = state
        bounds = [along(v, axis, x.ndim) for axis, v in enumerate(kept)]
        squares = functools.reduce(jnp.minimum, bounds) + jnp.square(g)
        scaled = jnp.where(squares > 0, 1.0 / jnp.sqrt(squares), 0.0)
        mean = (1.0 - momentum) * (g * scaled) + momentum * mean
        others = [tuple(a for a in range(x.ndim) if a != axis) for axis in range(x.ndim)]
        return x - size(i) * mean, mean, [squares.max(axes) for axes in others]
    return init, update, _first


# -- step sizes -------------------------------------------------------------------------------------------

def constant(step_size: Any) -> Schedule:
    """Always `step_size`."""
    return lambda i: step_size


def exponential_decay(step_size: Any, decay_steps: Any, decay_rate: Any) -> Schedule:
    """Smaller by the factor `decay_rate` every `decay_steps` steps, smoothly."""
    return lambda i: step_size * decay_rate ** (i / decay_steps)


def inverse_time_decay(step_size: Any, decay_steps: Any, decay_rate: Any, staircase: bool = False) -> Schedule:
    """step_size / (1 + decay_rate * i / decay_steps); in steps of `decay_steps`, if `staircase`."""
    if staircase:
        return lambda i: step_size / (1 + decay_rate * jnp.floor(i / decay_steps))
    return lambda i: step_size / (1 + decay_rate * i / decay_steps)


def polynomial_decay(step_size: Any, decay_steps: Any, final_step_size: Any, power: Any = 1.0) -> Schedule:
    """From `step_size` to `final_step_size` in `decay_steps` steps, by a power of the steps that are left."""
    def schedule(i: Any) -> Any:
        i = jnp.minimum(i, decay_steps)
        return (1 - i / decay_steps) ** power * (step_size - final_step_size) + final_step_size
    return schedule


def piecewise_constant(boundaries: Any, values: Any) -> Schedule:
    """values[k] while k of the boundaries are below the number of the step.

    Raises:
      ValueError: there is not one value more than boundaries, or they are no vectors.
    """
    boundaries, values = jnp.array(boundaries), jnp.array(values)
    if not boundaries.ndim == values.ndim == 1 or values.shape[0] != boundaries.shape[0] + 1:
        raise errors.value_error(f"boundaries have the shape {boundaries.shape} and values {values.shape}; vectors "
                                 "with one value more than boundaries are required", op="piecewise_constant",
                                 fix="give the value from the last boundary on too")
    return lambda i: values[jnp.sum(i > boundaries)]


def make_schedule(scalar_or_schedule: Any) -> Schedule:
    """A schedule as it is; a number as `constant`.

    Raises:
      TypeError: it is neither.
    """
    if callable(scalar_or_schedule):
        return scalar_or_schedule  # type: ignore[no-any-return]
    if isinstance(scalar_or_schedule, (int, float)) or getattr(scalar_or_schedule, "shape", None) == ():
        return constant(scalar_or_schedule)
    raise errors.type_error(f"got {scalar_or_schedule!r:.60}, a number or a function of the step is required",
                            op="make_schedule", fix="pass a float")


# -- gradients and states ---------------------------------------------------------------------------------

def l2_norm(tree: Any) -> Any:
    """The root of the sum of the squares of all leaves."""
    return jnp.sqrt(sum(jnp.vdot(x, x) for x in leaves_of(tree)))


def clip_grads(grad_tree: Any, max_norm: Any) -> Any:
    """The gradients scaled down to the norm `max_norm`, where theirs is larger."""
    norm = l2_norm(grad_tree)
    return tree.map(lambda g: jnp.where(norm < max_norm, g, g * (max_norm / norm)), grad_tree)


class JoinPoint:
    """Where the state of one array stands in an unpacked state."""

    def __init__(self, subtree: Any) -> None:
        self.subtree = subtree

    def __iter__(self) -> Any:
        yield self.subtree


def unpack_optimizer_state(opt_state: OptimizerState) -> Any:
    """The state in the parameters' structure, with a JoinPoint around that of each array: a form to write to disk."""
    parts = [JoinPoint(tree.unflatten(structure, leaves)) for structure, leaves in
             zip(opt_state.subtree_defs, opt_state.packed_state, strict=True)]
    return tree.unflatten(opt_state.tree_def, parts)


def pack_optimizer_state(marked_pytree: Any) -> OptimizerState:
    """What `unpack_optimizer_state` was given.

    Raises:
      TypeError: a leaf is no JoinPoint.
    """
    parts, treedef = tree.flatten(marked_pytree)
    if not all(isinstance(part, JoinPoint) for part in parts):
        raise errors.type_error("a leaf is no JoinPoint", op="pack_optimizer_state",
                                fix="pass what unpack_optimizer_state has returned")
    flat = [tree.flatten(part.subtree) for part in parts]
    return OptimizerState([leaves for leaves, _ in flat], treedef, tuple(structure for _, structure in flat))

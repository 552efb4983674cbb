"""One model under one engine: its standard values as NumPy leaves, and its functions as functions of leaves."""

from __future__ import annotations

import copy
import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pullback.gate.contract import Spec
from pullback.gate.engine import Engine
from pullback.gate.errors import UsageError
from pullback.gate.model import DEFAULT, Model, Tolerance
from pullback.gate.signature import batch_to_arguments, key_name
from pullback.gate.sites import Site, of_error
from pullback.gate.values import Key, as_like, dtype_name, is_float
from pullback.gate.watch import Watch

__all__ = ["Session", "Tree"]

Leaves = list[Any]


@dataclasses.dataclass(frozen=True)
class Tree:
    """A tree as NumPy leaves, their paths, and its structure."""

    leaves: Leaves
    paths: list[str]
    structure: Any

    @property
    def floats(self) -> list[int]:
        """The places of the leaves that can be differentiated."""
        return [i for i, leaf in enumerate(self.leaves) if is_float(leaf)]


class Session:
    """What the checks work with.

    Args:
      model, engine: what is checked, and where.
      watch: the active watch, in which the model was made.
      seed: of everything random.
    """

    def __init__(self, model: Model, engine: Engine, watch: Watch, seed: int = 0) -> None:
        self.model, self.engine, self.watch, self.seed = model, engine, watch, seed
        self.settings = engine.settings()  # what the model's functions must leave alone
        given = None if model.key is None else engine.to_numpy(model.key)
        self.key, self.other_key, self.init_key, self.other_init_key = engine.keys(seed, 4, given)
        if given is not None:
            self.key = given
        self.raw_params = model.params
        if self.raw_params is None:
            assert model.init is not None
            self.raw_params = model.init(engine.from_numpy(self.init_key))
        self.params, self.batch = self.tree(self.raw_params), self.tree(model.batch)
        self.trainable = self.params.floats
        if not self.trainable:
            raise UsageError("the parameters have no leaf of a float dtype", "pass the parameters as arrays of floats")
        self._coarsest: str | None = None
        self.takes_key = key_name(model.loss or model.forward) is not None
        self.objective_name = "loss" if model.loss else "forward, weighted by a random cotangent"
        self.gradient = engine.jit(engine.value_and_grad(self.objective))
        self.outputs = engine.jit(self.forward)

    def again(self, engine: Engine) -> Session:
        """The same on another engine, with nothing compiled yet."""
        other = copy.copy(self)
        other.engine = engine
        other.gradient = engine.jit(engine.value_and_grad(other.objective))
        other.outputs = engine.jit(other.forward)
        return other

    def tree(self, tree: Any) -> Tree:
        leaves, paths, structure = self.engine.flatten(tree)
        return Tree([self.engine.to_numpy(leaf) for leaf in leaves], paths, structure)

    def of_engine(self, tree: Any) -> Any:
        """A tree of the user's with its leaves as values of the engine: NumPy's do not take traced indices."""
        leaves, _, structure = self.engine.flatten(tree)
        return self.engine.unflatten(structure, [self.engine.from_numpy(self.engine.to_numpy(leaf)) for leaf in leaves])

    # -- the model's functions, of lists of leaves of the engine -----------------------------------------

    def keywords(self, function: Callable[..., Any], key: Any) -> dict[str, Any]:
        name = key_name(function)
        return {} if name is None or key is None else {name: key}

    def loss_of_trees(self, params: Any, batch: Any, key: Any) -> Any:
        loss = self.model.loss
        assert loss is not None
        result = loss(params, *batch_to_arguments(loss, batch), **self.keywords(loss, key))
        if isinstance(result, tuple) and result:
            result = result[0]
        if getattr(result, "shape", ()) != ():
            raise UsageError(f"the loss returned an array of shape {list(result.shape)}, a single number is required",
                             "reduce it: jnp.mean(...)")
        return result

    def loss(self, params: Sequence[Any], batch: Sequence[Any], key: Any) -> Any:
        return self.loss_of_trees(self.engine.unflatten(self.params.structure, params),
                                  self.engine.unflatten(self.batch.structure, batch), key)

    def forward_of_trees(self, params: Any, batch: Any, key: Any) -> Any:
        forward = self.model.forward
        assert forward is not None
        if self.model.inputs is not None:
            inputs = self.model.inputs(batch)
            args = list(inputs) if isinstance(inputs, tuple) else [inputs]
        else:
            args = batch_to_arguments(forward, batch, beside=self.model.loss)
        return forward(params, *args, **self.keywords(forward, key))

    def forward(self, params: Sequence[Any], batch: Sequence[Any], key: Any) -> Leaves:
        outputs = self.forward_of_trees(self.engine.unflatten(self.params.structure, params),
                                        self.engine.unflatten(self.batch.structure, batch), key)
        leaves, self.output_paths, _ = self.engine.flatten(outputs)
        return leaves

    def weighted_forward(self, params: Sequence[Any], batch: Sequence[Any], key: Any) -> Any:
        """c^T forward, for a random cotangent c that depends on the shapes alone."""
        return self.weighted(self.forward(params, batch, key))

    def weighted(self, outputs: Sequence[Any]) -> Any:
        """The leaves of outputs by those of a random cotangent."""
        weights: list[Any] = []
        for i, x in enumerate(outputs):
            kind = self.engine.type_of(x)
            rng = np.random.default_rng((self.seed, i))
            weight = rng.standard_normal(kind.shape)
            if kind.dtype.startswith("complex"):
                weight = weight + 1j * rng.standard_normal(kind.shape)
            weights.append(weight.astype(kind.dtype) if kind.dtype in ("float32", "float64", "complex64", "complex128")
                           else weight.astype("float32") if kind.dtype in ("float16", "bfloat16") else None)
        return self.engine.weighted(outputs, weights)

    def objective(self, trainable: Sequence[Any], fixed: Sequence[Any], batch: Sequence[Any], key: Any) -> Any:
        """What is differentiated: the loss, or a weighted sum of the outputs where there is no loss."""
        function = self.loss if self.model.loss else self.weighted_forward
        return function(self.merge(trainable, fixed), batch, key)

    def tolerance(self, path: str, leaf: Any) -> Tolerance:
        """What two ways of computing a leaf may differ by: as declared, or by the coarsest floats in the program."""
        declared = self.model.tolerance(path, dtype_name(leaf))
        if declared is not None:
            return dataclasses.replace(declared, reason=declared.reason or "as declared")
        if not is_float(leaf):
            return Tolerance(reason="no float")
        if self._coarsest is None:
            self._coarsest = self.coarsest(*self.split(self.params.leaves), self.batch.leaves, self.objective_key)
        coarsest = max(self._coarsest or dtype_name(leaf), dtype_name(leaf), key=lambda dtype: DEFAULT.get(dtype, 0.0))
        return Tolerance(DEFAULT.get(coarsest, DEFAULT["float32"]), reason=f"the default of {coarsest}")

    def coarsest(self, *args: Any) -> str:
        """The 16-bit float dtype that the objective's program computes with inside, or ""."""
        text = self.engine.program(lambda *given: self.objective(*given), *args).text
        return "bfloat16" if "bf16[" in text else "float16" if re.search(r"\bf16\[", text) else ""

    def function(self) -> Callable[..., Any]:
        """The user's function behind the objective."""
        found = self.model.loss or self.model.forward
        assert found is not None
        return found

    # -- leaves -----------------------------------------------------------------------------------------

    def split(self, params: Sequence[Any]) -> tuple[Leaves, Leaves]:
        """The leaves that are trained, and the others."""
        chosen = set(self.trainable)
        return [params[i] for i in self.trainable], [x for i, x in enumerate(params) if i not in chosen]

    def merge(self, trainable: Sequence[Any], fixed: Sequence[Any]) -> Leaves:
        rest, chosen = iter(fixed), iter(trainable)
        places = set(self.trainable)
        return [next(chosen) if i in places else next(rest) for i in range(len(self.params.leaves))]

    def path(self, trainable: int) -> str:
        """The path of a trained leaf, without the part's name."""
        return self.params.paths[self.trainable[trainable]]

    def shown(self, part: str, path: str) -> str:
        return f"{part}/{path}" if path else part

    def key_if(self, function: Callable[..., Any] | None, key: Any) -> Any:
        return key if key_name(function) is not None else None

    @property
    def objective_key(self) -> Any:
        return self.key_if(self.function(), self.key)

    def evaluate(self, params: Sequence[Any] | None = None, batch: Sequence[Any] | None = None) -> tuple[Any, Leaves]:
        """The compiled objective and its gradients, by default at the standard values."""
        trainable, fixed = self.split(self.params.leaves if params is None else params)
        value, gradients = self.engine.call(self.gradient, trainable, fixed,
                                            self.batch.leaves if batch is None else batch, self.objective_key)
        return value, gradients

    def value(self, params: Sequence[Any], batch: Sequence[Any]) -> Any:
        """The objective alone: where nothing is compiled, its gradients need not be computed with it."""
        if self.engine.compiles:
            return self.evaluate(params, batch)[0]
        return self.engine.call(self.objective, *self.split(params), batch, self.objective_key)

    # -- objects -------------------------------------------------------------------------------------------

    @property
    def count(self) -> int:
        """How many objects the standard batch has; 0 if its leaves have no common axis of them."""
        axis = self.model.batch_axis
        if axis is None or not self.batch.leaves:
            return 0
        sizes = {leaf.shape[axis] if not isinstance(leaf, (bool, int, float, complex)) and len(leaf.shape) > axis
                 else 0 for leaf in self.batch.leaves}
        return sizes.pop() if len(sizes) == 1 else 0

    def take(self, leaf: Any, rows: Sequence[int]) -> Any:
        """The given objects of a leaf of a batch or of outputs."""
        axis = self.model.batch_axis
        if isinstance(leaf, Key):
            return Key(np.take(leaf.words, rows, axis), leaf.kind)
        return np.take(leaf, rows, axis)

    def batch_tree(self, leaves: Sequence[Any] | None = None) -> Any:
        """A batch in the user's structure, of engine values."""
        given = self.batch.leaves if leaves is None else leaves
        return self.engine.unflatten(self.batch.structure, self.engine.from_numpy(list(given)))

    def batch_spec(self, index: int) -> Spec | None:
        contract = self.model.contract
        return None if contract is None else contract.spec_of(self.shown("batch", self.batch.paths[index]))

    def within(self, index: int, x: np.ndarray) -> np.ndarray:
        """Values for a leaf of the batch, brought into the declared range, and that of each feature."""
        contract, path = self.model.contract, self.shown("batch", self.batch.paths[index])
        spec = self.batch_spec(index)
        if contract is None or x.dtype.kind == "c":
            return x
        ranges = list(contract.ranges(path)) if x.ndim else []
        low, high = (np.array([bounds[side] for bounds in ranges]) for side in (0, 1))
        if ranges and len(ranges) == x.shape[-1]:
            x = np.clip(x, low, high)
        if spec is None or not spec.bounded:
            return x
        margin = 1e-6 * (spec.high - spec.low) if np.isfinite(spec.high - spec.low) else 1e-6
        clipped: np.ndarray = np.clip(x, spec.low + margin * spec.open_low, spec.high - margin * spec.open_high)
        return clipped

    def jittered(self, scale: float = 0.1) -> Leaves:
        """The parameters with noise on every float leaf: zeros of a fresh model are no longer zeros."""
        rng = np.random.default_rng((self.seed, 1))
        found = list(self.params.leaves)
        for i in self.trainable:
            x = np.asarray(found[i], "complex128" if dtype_name(found[i]).startswith("complex") else "float64")
            noise = rng.standard_normal(x.shape) * scale * (1.0 + np.abs(x))
            with np.errstate(invalid="ignore", over="ignore"):
                found[i] = as_like(x + noise, found[i])
        return found

    def site(self, error: BaseException) -> Site | None:
        return of_error(error, self.engine.folders)

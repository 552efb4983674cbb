"""One version of a model, ready to answer: its code loaded from the store, compiled for every size that is allowed."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pullback.gate.contract import Contract
from pullback.gate.engine import Engine
from pullback.gate.errors import UsageError
from pullback.gate.report import shown
from pullback.gate.serve.limits import Limits
from pullback.gate.serve.requests import RefusedRequest, checked, in_contract, plain_leaves
from pullback.gate.session import Session
from pullback.gate.signature import taken_from
from pullback.gate.sites import of_error
from pullback.gate.store.files import Revision
from pullback.gate.target import find_model, load_file
from pullback.gate.values import Key, dtype_name
from pullback.gate.watch import Watch

__all__ = ["Predictor"]


class Predictor:
    """A version that can be asked.

    Args:
      revision: of the versions store.
      engine: runs it; that of the checks.

    Raises:
      UsageError: the version cannot be loaded, or does not run.
    """

    def __init__(self, revision: Revision, engine: Engine, limits: Limits) -> None:
        self.number, self.limits, self.engine = revision.number, limits, engine
        manifest = revision.manifest
        if manifest["engine"] != engine.name:
            raise UsageError(f"version {self.number} was checked under the engine {manifest['engine']}, not "
                             f"{engine.name}", f"serve it with --engine {manifest['engine']}")
        self._folder = tempfile.TemporaryDirectory(prefix="pullback-version-")
        try:
            with self._imports():
                self._load(revision)
                self.warm_up()
        except UsageError:
            self.close()
            raise
        except Exception as error:
            self.close()
            raise UsageError(f"version {self.number} does not run: {shown(error)}\n  at "
                             f"{of_error(error, engine.folders) or manifest['model']['file']}",
                             "promote one that does; data files that it reads are given with --include") from error

    @contextlib.contextmanager
    def _imports(self) -> Iterator[None]:
        """Inside, the version's own modules are imported, and no other version's of the same names."""
        before, path = set(sys.modules), list(sys.path)
        try:
            yield
        finally:
            sys.path[:] = path
            own = os.path.realpath(self._folder.name) + os.sep
            for name in set(sys.modules) - before:  # the functions hold on to what they have imported
                if os.path.realpath(getattr(sys.modules[name], "__file__", None) or "").startswith(own):
                    del sys.modules[name]

    def _load(self, revision: Revision) -> None:
        manifest, folder = revision.manifest, Path(self._folder.name)
        files = {name: "".join(lines).encode() for name, lines in manifest["code"].items()}
        files |= {place.removeprefix("file/"): leaf.tobytes() for place, leaf in revision.arrays.items()
                  if place.startswith("file/")}
        for name, data in files.items():
            place = folder / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
        model_file = str(folder / manifest["model"]["file"])
        model = find_model(load_file(model_file, self.engine), model_file, manifest["model"]["name"])
        # The watch is not entered: nothing of the calls is looked at.
        self.session = Session(model, self.engine, Watch(self.engine))
        self.model = model
        if model.forward is None:
            raise UsageError(f"version {self.number} has no forward", "give one: Model(forward=...)")
        stored = [revision.arrays[self.session.shown("params", path)] for path in manifest["model"]["params"]]
        if manifest["model"]["params"] != self.session.params.paths:
            raise UsageError(f"version {self.number} makes other parameters than it was promoted with",
                             "promote it again")
        self._params = self.engine.from_numpy(stored)
        self._key = self.engine.from_numpy(self.session.key_if(model.forward, self.session.key))
        batch = self.engine.unflatten(self.session.batch.structure, self.session.batch.leaves)
        self._names = taken_from(model.forward, batch) if model.inputs is None else None
        self.like = self._asked(batch)
        standard = self.engine.flatten(self.like)
        self._places = [self.session.batch.paths.index(path) for path in standard[1]]
        other = [type(leaf).__name__ for leaf in plain_leaves(self.like)
                 if not isinstance(leaf, (np.ndarray, bool, int, float, Key))]
        if other:
            raise UsageError(f"version {self.number} takes a {other[0]} in its batch, which JSON does not have",
                             "take dicts, lists and tuples of arrays")
        if any(isinstance(leaf, Key) for leaf in standard[0]):
            raise UsageError(f"version {self.number} takes a random key in its batch, which a request cannot give",
                             "take it as a parameter `key` of forward")
        more = [self.session.tree(self._asked(tree)).leaves for tree in model.batches]
        self._shapes = {tuple(self._trailing(leaf) for leaf in leaves) for leaves in (standard[0], *more)}
        self._whole = self.session.count == 0 or bool(model.coupled)  # objects cannot be put together as is convenient

    def _asked(self, batch: Any) -> Any:
        """The part of a batch that forward takes."""
        if self._names is None:
            return batch
        return {name: batch[name] for name in self._names} if isinstance(batch, Mapping) else (
            type(batch)(batch[i] for i in self._names))

    def _trailing(self, leaf: Any) -> tuple[int, ...]:
        """The shape of a leaf of the batch without the axis of objects."""
        shape, axis = list(np.shape(leaf)), self.model.batch_axis
        if self.session.count and axis is not None and len(shape) > axis:
            del shape[axis]
        return tuple(shape)

    def sizes(self) -> list[int]:
        """The numbers of objects that it is compiled for."""
        if self._whole:
            return [max(1, self.session.count)]
        found = [1]
        while found[-1] < self.limits.objects:
            found.append(min(2 * found[-1], self.limits.objects))
        return found

    def warm_up(self) -> None:
        """Compiles it for every size.

        Raises:
          UsageError: an output is no real number.
        """
        leaves = self.engine.flatten(self.like)[0]
        for shapes in self._shapes:
            for size in self.sizes():
                outputs = self.run([np.resize(leaf, self._full(trailing, size)).astype(np.asarray(leaf).dtype)
                                    for leaf, trailing in zip(leaves, shapes)], size)
                for path, x in outputs.items():
                    if isinstance(x, Key) or np.iscomplexobj(x):
                        raise UsageError(f"version {self.number} has the output {path or 'outputs'}, a {dtype_name(x)}",
                                         "return real numbers from forward")

    def _full(self, trailing: tuple[int, ...], size: int) -> tuple[int, ...]:
        axis = self.model.batch_axis
        if not self.session.count or axis is None:
            return trailing
        return (*trailing[:axis], size, *trailing[axis:])

    def checked(self, given: Any) -> tuple[list[Any], int]:
        """The leaves of a request, and how many objects it has.

        Raises:
          RefusedRequest: it is not what the model takes.
        """
        batch = checked(given, self.like)
        leaves, paths, _ = self.engine.flatten(batch)
        axis, count = self.model.batch_axis, self.session.count
        sizes = {np.shape(leaf)[axis] for leaf in leaves if len(np.shape(leaf)) > axis} if count and axis is not None \
            else {1}
        shapes = tuple(self._trailing(leaf) for leaf in leaves)
        ranks = [len(np.shape(leaf)) == len(np.shape(standard)) for leaf, standard in
                 zip(leaves, self.engine.flatten(self.like)[0])]
        if shapes not in self._shapes or not all(ranks):
            i = next((i for i, leaf in enumerate(leaves) if not ranks[i] or shapes[i] not in
                      {allowed[i] for allowed in self._shapes}), 0)
            place = f"inputs/{paths[i]}".rstrip("/")
            raise RefusedRequest(422, "shape", f"{place} has the shape {list(np.shape(leaves[i]))}; "
                                 f"{' or '.join(self._shown(i))} is required", place)
        if len(sizes) > 1:
            raise RefusedRequest(422, "shape", f"the inputs have different numbers of objects: {sorted(sizes)}",
                                 "inputs")
        size = sizes.pop()
        if size < 1:
            raise RefusedRequest(422, "shape", "the inputs have no object", "inputs")
        if self._whole and count and size != count:
            raise RefusedRequest(422, "shape", f"the inputs have {size} objects; {count} are required, because results "
                                 "depend on the other objects", "inputs")
        if size > self.limits.objects and not self._whole:
            raise RefusedRequest(413, "too many objects", f"the inputs have {size} objects; at most "
                                 f"{self.limits.objects} are allowed", "inputs")
        contract = self._contract()
        if contract is not None:
            in_contract(contract, batch)
        return leaves, size

    def _shown(self, leaf: int) -> list[str]:
        """The types that a leaf may have."""
        standard, axis, found = self.engine.flatten(self.like)[0][leaf], self.model.batch_axis, set()
        for shapes in self._shapes:
            dims = list(map(str, shapes[leaf]))
            if self.session.count and axis is not None:
                dims.insert(axis, "n")
            found.add(f"{dtype_name(standard)}[{', '.join(dims)}]")
        return sorted(found)

    def described(self) -> dict[str, list[str]]:
        """What a request has to have: the types of every leaf by its path."""
        return {f"inputs/{path}".rstrip("/"): self._shown(i)
                for i, path in enumerate(self.engine.flatten(self.like)[1])}

    def _contract(self) -> Contract | None:
        contract = self.model.contract
        if contract is None or self._names is None or contract.batch is ...:
            return contract
        spec = contract.batch
        part = {name: spec[name] for name in self._names if name in spec} if isinstance(spec, Mapping) else (
            type(spec)(spec[i] for i in self._names))
        return dataclasses.replace(contract, batch=part)

    def predict(self, leaves: list[Any], size: int) -> dict[str, np.ndarray]:
        """The outputs by their paths, for leaves that have been checked."""
        full = next(allowed for allowed in self.sizes() if allowed >= size or self._whole)
        outputs = self.run([self._sized(leaf, full) for leaf in leaves], full)
        axis = self.model.batch_axis
        if full == size or axis is None or self._whole:
            return outputs
        return {path: np.take(x, range(size), axis) for path, x in outputs.items()}

    def _sized(self, leaf: Any, size: int) -> np.ndarray:
        """Filled up with objects of its own."""
        axis, x = self.model.batch_axis, np.asarray(leaf)
        if not self.session.count or axis is None or x.shape[axis] == size:
            return x
        filled: np.ndarray = np.take(x, np.arange(size) % x.shape[axis], axis)
        return filled

    def run(self, asked: list[Any], size: int) -> dict[str, np.ndarray]:
        """The outputs for leaves of one of the sizes; what forward does not take is that of the standard batch."""
        session = self.session
        leaves = [self._sized(leaf, size) for leaf in session.batch.leaves]
        for place, leaf in zip(self._places, asked):
            leaves[place] = leaf
        outputs = session.outputs(self._params, self.engine.from_numpy(leaves), self._key)
        return dict(zip(session.output_paths, self.engine.to_numpy(outputs)))

    def close(self) -> None:
        """Removes its files."""
        self._folder.cleanup()

"""A record as a side: what was computed then, on the inputs of then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pullback.gate.cases import STANDARD
from pullback.gate.diagnose.side import Facts, Inputs, Ran, Way
from pullback.gate.errors import UsageError
from pullback.gate.operations import Trace
from pullback.gate.store.files import Revision
from pullback.gate.summary import loaded
from pullback.gate.values import digest, dtype_name

__all__ = ["RecordedSide"]


class RecordedSide:
    """The standard batch of a revision.

    Args:
      now: the batch of the file as it is, which takes the place of one whose values were not kept.

    Raises:
      UsageError: they were not kept, and the file has others.
    """

    def __init__(self, revision: Revision, label: str, now: Sequence[Any] = ()) -> None:
        self.revision, self.label = revision, label
        self.kept = True  # whether small arrays are known by their numbers
        self.entry = revision.manifest["cases"][STANDARD]
        places = [f"{STANDARD}/{self._shown('batch', path)}" for path in revision.manifest["model"]["batch"]]
        self.batch = [revision.arrays[place] for place in places] if self.entry["origin"] == "values" else list(now)
        said = [revision.manifest["arrays"][place]["digest"] for place in places]
        if [digest(x) for x in self.batch] != said:
            raise UsageError("the record holds digests of its batch, not its values, and the file's batch has others",
                             "restore the data that was recorded, or diagnose the file against a revision of itself "
                             "that is known to be right")

    def _shown(self, part: str, path: str) -> str:
        return f"{part}/{path}" if path else part

    def facts(self) -> Facts:
        manifest, arrays = self.revision.manifest, self.revision.arrays
        known = manifest["model"]
        inputs = Inputs([arrays[self._shown("params", path)] for path in known["params"]], self.batch, arrays["key"])
        return Facts(self.label, manifest["environment"]["engine"], manifest["environment"], known["parts"],
                     known["params"], known["batch"], inputs, 0, [], recorded=True)

    def run(self, part: str, inputs: Inputs, way: Way) -> Ran:
        mine = self.facts().inputs
        if [digest(x) for x in inputs.params + inputs.batch] != [digest(x) for x in mine.params + mine.batch]:
            return Ran([], [], [], [], "the record has no other inputs than its own")
        if self.entry["error"] is not None:
            return Ran([], [], [], [], f"{self.entry['error']['type']}: {self.entry['error']['message']}")
        names = [place for place in self.entry["results"] if place.partition("/")[0] == part]
        leaves = [self.revision.arrays[f"{STANDARD}/{place}"] for place in names]
        said = [self.entry["results"][name] for name in names]
        return Ran(names, leaves, [self._type(x) for x in leaves], [[x["relative"], x["absolute"]] for x in said])

    def types(self, part: str, inputs: Inputs) -> Ran:
        return self.run(part, inputs, Way())

    def _type(self, x: Any) -> str:
        return f"{dtype_name(x)}[{','.join(map(str, getattr(x, 'shape', ())))}]"

    def keys(self, inputs: Inputs) -> list[str]:
        return list(self.revision.manifest["keys"])

    def transformations(self) -> dict[str, str]:
        return {}

    def trace(self, part: str, inputs: Inputs, off: Sequence[str] = ()) -> Trace:
        text = self.revision.programs.get(f"{part}: values")
        if text is None:
            raise UsageError(f"the record has no operations of {part}", "record it again")
        found, self.kept = loaded(text)
        return found

    def replay(self, part: str, index: int, values: list[Any]) -> list[Any] | None:
        return None

    def take(self, rows: list[int], inputs: Inputs) -> Inputs:
        return inputs

    def frozen(self, part: str, inputs: Inputs, off: Sequence[str] | None = None) -> list[Any]:
        return []

    def compiled(self, part: str, inputs: Inputs) -> list[Trace]:
        return []

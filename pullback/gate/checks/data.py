"""data: the splits of the data share no object."""

from __future__ import annotations

import hashlib
from itertools import combinations
from typing import Any

import numpy as np

from pullback.gate.checks.base import Check
from pullback.gate.report import Recorder
from pullback.gate.session import Session
from pullback.gate.values import Key, digest

__all__ = ["CHECK"]


def _run(session: Session, record: Recorder) -> None:
    splits = session.model.splits
    if len(splits) < 2:
        record.skip("fewer than two splits are declared: Model(splits={'train': ..., 'test': ...})")
        return
    digests = {name: _digests(session, tree) for name, tree in splits.items()}
    for name, found in digests.items():
        record.measure("split", name=name, objects=len(found), distinct=len(set(found)))
    for one, other in combinations(digests, 2):
        places = {content: i for i, content in enumerate(digests[one])}
        shared = [(places[content], j) for j, content in enumerate(digests[other]) if content in places]
        record.measure("shared objects", splits=[one, other], count=len(shared))
        if shared:
            record.fail(f"{one} and {other} share objects",
                        measured=f"{len(shared)} shared; the first is number {shared[0][0]} of {one} and "
                                 f"{shared[0][1]} of {other}",
                        expected="none", leaf=f"splits/{other}",
                        fix="split before anything is repeated or augmented, and drop duplicates")


CHECK = Check("data", "train, validation and test share no object", _run)


def _digests(session: Session, tree: Any) -> list[str]:
    """A digest for each object, over all leaves."""
    axis = session.model.batch_axis or 0
    columns: list[list[str]] = []
    for leaf in session.tree(tree).leaves:
        x = leaf.words if isinstance(leaf, Key) else np.asarray(leaf)
        columns.append([digest(row) for row in np.moveaxis(x, axis, 0)] if x.ndim > axis else [])
    rows = zip(*[column for column in columns if column])
    return [hashlib.sha256("".join(row).encode()).hexdigest() for row in rows]

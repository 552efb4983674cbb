"""Which line does it. Nothing here decides whether something is wrong; the checks do, and ask for the line then.

`symptoms` runs a function operation by operation, `lines` line by line; whatever cannot be run like this has no line.
"""

from pullback.gate.blame.origins import Origins, handed_back, taken
from pullback.gate.blame.parting import changes, compiled_apart, parting
from pullback.gate.blame.pipeline import leak
from pullback.gate.blame.rules import culprit
from pullback.gate.blame.symptoms import (
    broadcast,
    coupling,
    cut_off,
    erased,
    flat,
    is_intermediate,
    mixing,
    swallowed,
    used,
    zero_factor,
)
from pullback.gate.blame.written import alias, mentions, written

__all__ = ["Origins", "alias", "broadcast", "changes", "compiled_apart", "coupling", "culprit", "cut_off", "erased",
           "flat", "handed_back", "is_intermediate", "leak", "mentions", "mixing", "parting", "swallowed", "taken",
           "used", "written", "zero_factor"]

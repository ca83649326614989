"""What the escape tests of the network share: the lab of tests/gate, and the rows' mark."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "gate"))

from cell import row  # noqa: E402
from lab import gate_of, nbox, net, page, refused, wait_until, zone  # noqa: E402

__all__ = ["gate_of", "nbox", "net", "page", "refused", "row", "wait_until", "zone"]

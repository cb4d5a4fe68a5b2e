"""dataframely, imported without SQLAlchemy: where that is installed it would come along, at half a second a start."""

from __future__ import annotations

import sys

_ABSENT = "sqlalchemy"

if _ABSENT in sys.modules or "dataframely" in sys.modules:
    import dataframely as dy
else:
    # how the import system marks what is not to be had
    sys.modules[_ABSENT] = None  # type: ignore[assignment]
    try:
        import dataframely as dy
    finally:
        del sys.modules[_ABSENT]

__all__ = ["dy"]

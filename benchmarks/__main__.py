"""`python -m benchmarks [NAME [ARGUMENTS]]`: one benchmark, or all that take minutes, not hours."""

from __future__ import annotations

import sys
from importlib import import_module

ALL = (("latency",), ("floor",), ("peer", "1000"), ("growth", "small"))


def main(*arguments: str) -> None:
    for name, *given in [arguments] if arguments else ALL:
        print(f"\n== {name} {' '.join(given)}".rstrip())
        import_module(f"benchmarks.{name}").main(*given)


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Proves the invariants of a build from its files alone."""

from tasks.audit.run import CHECKS, audit
from tasks.audit.violation import Violation

__all__ = ["CHECKS", "Violation", "audit"]

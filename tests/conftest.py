"""What all tests share: caches of the session's own, and the credential rules compiled once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Examples build whole swarms on machines that do other work too, so time is no failure. In CI the examples are fixed:
# what they find is kept as a test of its own, and a landing does not hang on chance.
settings.register_profile("prebrief", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("prebrief"), derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "prebrief")

ROOT = Path(__file__).parents[1]
SHARED = ROOT.parent / "shared"


@pytest.fixture(scope="session", autouse=True)
def caches(tmp_path_factory):
    """The cache folder of the environment, else one that the session takes along; nothing reaches the user's own."""
    folder = os.environ.get("XDG_CACHE_HOME") or str(tmp_path_factory.mktemp("cache"))
    os.environ["XDG_CACHE_HOME"] = folder

    from tasks.credentials import warm
    from tasks.tokens import cache_folder

    warm(cache_folder())
    return Path(folder)


@pytest.fixture(scope="session")
def quickstart() -> Path:
    return ROOT / "data" / "quickstart"


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data beside the checkout."""
    if not SHARED.is_dir():
        pytest.skip("the real data is not here: no ../shared beside the checkout")
    return SHARED


def pytest_collection_modifyitems(items):
    """Flow tests come last: Prefect's threads draw random numbers, which Hypothesis takes for a fault of its examples."""
    items.sort(key=lambda item: "flows" in item.path.relative_to(ROOT / "tests").parts)

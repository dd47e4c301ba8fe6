"""The array libraries that parts of the core are tested with."""

import pytest


@pytest.fixture(params=["numpy", "torch", "array_api_strict"])
def xp(request):
    """Each array library that is installed."""
    return pytest.importorskip(request.param)

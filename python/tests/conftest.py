import os

import numpy as np
import pytest

import psrkit

# `make check-long` and .ci/run run what takes long too.
LONG = bool(os.environ.get("PSRKIT_LONG"))
takes_long = pytest.mark.skipif(not LONG, reason="a long case: PSRKIT_LONG=1 or make check-long runs it")


@pytest.fixture
def rng():
    """Random numbers with a seed that PSRKIT_TEST_SEED repeats."""
    seed = int(os.environ.get("PSRKIT_TEST_SEED") or np.random.SeedSequence().entropy % 2**31)
    print("seed", seed)
    return np.random.default_rng(seed)


@pytest.fixture
def data():
    """Finds a file of PSRKIT_TEST_DATA."""

    def find(name):
        path = os.path.join(os.environ.get("PSRKIT_TEST_DATA", ""), name)
        if not os.environ.get("PSRKIT_TEST_DATA") or not os.path.exists(path):
            pytest.skip("there is no %s in PSRKIT_TEST_DATA" % name)
        return path

    return find

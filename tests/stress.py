"""How long a test goes on: `make test` runs the short form of a test, `make stress` the long one of the same test.

Tests with a long form carry `@pytest.mark.stress`.
"""

import os


def rounds(short: int, long: int) -> int:
    """`long` under `make stress` (which sets STRESS=1), else `short`."""
    return long if os.environ.get("STRESS") else short

"""The examples in the docstrings of examples/ run; they stand outside the folders that pytest collects."""

import doctest
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in sorted(ROOT.glob("examples/**/*.py"))]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in ("torch", "transformers", "tokenizers"):
            raise
        pytest.skip(f"{error.name} is not installed")
    assert not doctest.testmod(module).failed

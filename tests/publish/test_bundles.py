"""The generator of `_shared.py` and `_page.py`: what comes into a bundle, in which order, and what it refuses."""

import subprocess
import sys

import pytest

from metrics.publish import bundles


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package of one metric that uses two modules of utils."""
    monkeypatch.setattr(bundles, "METRICS", tmp_path / "metrics")
    texts = {
        "files/rows.py": '"""Rows."""\n\nimport json\n\nROWS = 1\n',
        "page/layout.py": '"""A page."""\n\nfrom ..utils.low import low\n\n\ndef launch():\n    return low()\n',
        "utils/low.py": '"""Low."""\n\nimport re\nfrom itertools import chain\n\n\ndef low():\n'
        '    return re.sub("a", "b", "a")\n',
        "utils/high.py": '"""High."""\n\nimport re\n\nfrom .low import low\n\n# Why.\n_ONE = 1\n\n\ndef high():\n'
        "    return low()\n",
        "utils/unused.py": "def unused():\n    pass\n",
        "cat/cat.py": "from ._shared import high\nfrom .scoring import score\n",
        "cat/scoring.py": "from ._shared import high\n\nscore = high\n",
        "cat/app.py": "from _page import launch\n",
    }
    for name, text in texts.items():
        path = tmp_path / "metrics" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "metrics"


def made(package):
    return {path.name: text for path, text in bundles.bundles("cat").items()}


def test_what_is_used_comes_in_the_order_of_imports(package):
    text = made(package)["_shared.py"]
    assert text.startswith("# Generated from metrics/files and metrics/utils by `make bundles`: edit it there.\n\n")
    assert text.count("import re\n") == 1 and "from itertools import chain\n" in text and "unused" not in text
    places = [text.index(part) for part in ('"""Low."""', "def low", '"""High."""', "# Why.\n_ONE = 1", "def high")]
    assert places == sorted(places) and "from ." not in text


@pytest.mark.parametrize("file, wanted", [("_shared", "high()"), ("_page", "launch()")])
def test_a_bundle_stands_alone(package, file, wanted):
    (package / "cat" / f"{file}.py").write_text(made(package)[f"{file}.py"])
    code = f"import {file}; print({file}.{wanted})"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=package / "cat", capture_output=True, text=True, timeout=60)
    assert done.stdout == "b\n", done.stderr


@pytest.mark.parametrize(
    "file, text, message",
    [
        (
            "utils/high.py",
            "from .low import low\n\n\ndef high():\n    pass\n\n\nlow = 2\n",
            "low stands for low.py and",
        ),
        (
            "utils/high.py",
            "from .low import low\nfrom json import dumps as re\n\nhigh = low\n",
            "re stands for re and",
        ),
        ("utils/high.py", "from .low import low as other\n\nhigh = other\n", "expected `from .module import name`"),
        (
            "utils/high.py",
            "def high():\n    from .low import low\n    return low\n",
            "high.py:2: expected `from .module",
        ),
        ("cat/scoring.py", "from ._shared import nothing\n", "imports nothing from _shared, expected a name"),
        ("cat/cat.py", "from .scoring import score\n", r"cat.py must import \['_shared'\] too, since scoring.py does"),
    ],
)
def test_what_is_refused(package, file, text, message):
    (package / file).write_text(text)
    with pytest.raises(ValueError, match=message):
        made(package)

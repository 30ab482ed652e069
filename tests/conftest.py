"""What all tests share: the folder of gold data, and caches of `evaluate` that no other run sees."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("METRICS_SHARED", REPOSITORY.parent / "shared"))

# Before anything imports evaluate; each worker of xdist has a folder of its own.
HF_CACHE = Path(tempfile.mkdtemp(prefix=f"metrics-{os.environ.get('PYTEST_XDIST_WORKER', 'main')}-"))
atexit.register(shutil.rmtree, HF_CACHE, ignore_errors=True)
os.environ.update(
    {
        "HF_HOME": str(HF_CACHE),
        "HF_MODULES_CACHE": str(HF_CACHE / "modules"),
        "HF_METRICS_CACHE": str(HF_CACHE / "metrics"),
        "HF_EVALUATE_CACHE": str(HF_CACHE / "evaluate"),
        "HF_DATASETS_CACHE": str(HF_CACHE / "datasets"),
        "HF_EVALUATE_OFFLINE": "1",
        "HF_HUB_OFFLINE": "1",
    }
)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of gold data; skips where it is not there."""
    if not SHARED.is_dir():
        pytest.skip(f"no gold data: {SHARED} is not a folder (set METRICS_SHARED)")
    return SHARED


@pytest.fixture(scope="session")
def hf_cache() -> Path:
    """The folder that holds every cache of evaluate and datasets in this process."""
    return HF_CACHE


@pytest.fixture(scope="session")
def load_metric():
    """Loads a metric of this repository as a user does: load_metric("cider")."""
    import evaluate

    return lambda name, **options: evaluate.load(str(REPOSITORY / "metrics" / name), **options)


@pytest.fixture(scope="session")
def nltk_data(tmp_path_factory) -> Path:
    """A folder with NLTK's tagger and tokenizer, known to NLTK: the real ones where they are, else tiny ones."""
    nltk = pytest.importorskip("nltk")
    from tests import tiny_models

    folder = tiny_models.write_nltk_data(tmp_path_factory.mktemp("nltk_data"), SHARED / "data" / "nltk_data")
    nltk.data.path.insert(0, str(folder))
    os.environ["NLTK_DATA"] = str(folder)
    return folder


@pytest.fixture(scope="session")
def t5_folder(tmp_path_factory) -> Path:
    """A tiny T5 encoder with random weights; t5-base's vocabulary where it is, else one of a few hundred pieces."""
    pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from tests import tiny_models

    return tiny_models.write_t5(tmp_path_factory.mktemp("t5"), SHARED / "data" / "t5_vocabulary")

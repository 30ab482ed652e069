"""What a page takes on: every bound answers with one sentence, over the endpoint too, and any JSON gets an answer."""

import importlib
import math
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pytest

from metrics import names

gr = pytest.importorskip("gradio")
METRICS = Path(__file__).resolve().parents[2] / "metrics"
TEXTS = {"predictions": ["a cat sits", "two dogs"], "references": [["a cat is sitting"], ["two dogs run"]]}
INPUTS = {name: TEXTS for name in names()} | {
    "recall_at_k": {"predictions": [[0.9, 0.1], [0.2, 0.7]], "references": [0, 1]},
}
NESTED = "a"
for _ in range(300):
    NESTED = [NESTED]
ODD = [
    "4",
    "",
    "x" * 200,
    math.nan,
    math.inf,
    -1,
    0,
    1.5,
    True,
    None,
    [],
    {},
    {"a": [1]},
    [[1]],
    [None],
    10**400,
    2**63,
    [10**400],
    NESTED,
    "<img src=x>",
    [-1],
    400_000,
]


@pytest.fixture(scope="module", params=names())
def space(request, load_metric):
    """The page of a metric as its Space has it: beside its _page.py, and nothing else."""
    folder = METRICS / request.param
    kept = {name: sys.modules.pop(name, None) for name in ("app", "_page")}
    sys.path.insert(0, str(folder))
    try:
        yield importlib.import_module("app")
    finally:
        sys.path.remove(str(folder))
        for name, module in kept.items():
            sys.modules.pop(name, None)
            if module:
                sys.modules[name] = module


def answer(space, inputs, options):
    """The answer of the endpoint, or the sentence that it refuses by."""
    try:
        found = sys.modules["_page"].answer_call(space.page, inputs, options)
    except gr.Error as error:
        assert len(error.message) < 700 and "\n" not in error.message and error.message
        return error.message
    assert isinstance(found, dict)
    return found


def test_any_json_gets_an_answer_or_a_sentence(space):
    page, inputs = space.page, INPUTS[space.page.metric.name]
    if page.metric.name == "entity_score":
        # Without its model: what is refused is refused before it.
        page.metric.compute = lambda **arguments: {"entity_score": 0.0}
        page.metric.signature = lambda: ""
    for odd in ODD:
        for option in sys.modules["_page"].all_options(page):
            answer(space, inputs, {option.name: odd})
        for key in page.keys:
            answer(space, {**inputs, key: odd}, {})
        answer(space, odd, {})
        answer(space, inputs, odd)
    assert answer(space, inputs, [1]).startswith("options is list [1], expected")


def refused(space, options, inputs=None):
    told = answer(space, inputs or INPUTS[space.page.metric.name], options)
    assert isinstance(told, str), f"{options} was not refused"
    return told


def test_work_is_refused_before_it_is_done(space):
    name, bounds = space.page.metric.name, space.page.bounds
    start = time.perf_counter()
    assert "10,000" in refused(space, {"n_resamples": 400_000, "confidence_level": 0.95})
    many = ["a b"] * (bounds["samples"].most + 1)
    if name == "recall_at_k":
        many = [[1.0]] * len(many)
        assert "similarities" in refused(space, {}, {"predictions": [[0.5] * 10_000] * 3_001})
        side = [[0.5]] * 6_000
        assert "similarities" in refused(space, {}, {"image_embeddings": side, "text_embeddings": side})
        assert "expected at least 1" in refused(space, {"k": [10**400]})
    else:
        long = bounds["text"].most + 1
        told = refused(space, {}, {"predictions": ["x" * long], "references": [["a"]]})
        assert f"{long:,}" in told and f"{long - 1:,}" in told
        text = "x" * (bounds["text"].most - 1)
        several = [text] * (bounds["sample"].most // len(text) + 1)
        told = refused(space, {}, {"predictions": ["a"], "references": [several]})
        assert "one sample" in told
    assert f"{len(many) - 1:,}" in refused(space, {}, {"predictions": many, "references": many})
    if name == "cider":
        assert refused(space, {"n": 400_000}) == "n is 400000, expected at least 1 and at most 10 on this page"
        few = {"predictions": ["x" * 9_000] * 300, "references": ["y"] * 300}
        assert "order of n-grams" in refused(space, {"n": 10}, few)
    assert time.perf_counter() - start < 10


def test_the_page_and_its_endpoint_have_the_same_bounds(space):
    page, module = space.page, sys.modules["_page"]
    options = [*module.all_options(page)]
    values = [
        str(option.choices[0]) if option.choices else None if option.is_file else page.default(option)
        for option in options
    ]
    values = [
        10**9 if option.name == "n_resamples" else "" if option.parse else value
        for option, value in zip(options, values)
    ]
    with pytest.raises(gr.Error) as told:
        module.answer(page, "table", [list(row) for row in page.rows], [None] * 4, False, values)
    assert "at most 10,000" in told.value.message and not told.value.print_exception


def test_the_card_has_the_bounds(space):
    card = (METRICS / space.page.metric.name / "README.md").read_text(encoding="utf-8")
    assert sys.modules["_page"].bounds_table(space.page.bounds) in card


def test_an_archive_that_unpacks_to_gigabytes_is_not_unpacked(tmp_path):
    from metrics.files.arrays import unpacked_bytes  # Beside the page, which asks it.
    from metrics.page.bounds import OF_WEIGHTED, check_most

    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("x.npy", "w") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "|u1", "fortran_order": False, "shape": (10**8,)})
        for _ in range(100):
            file.write(bytes(10**6))
    assert path.stat().st_size < 200_000
    with pytest.raises(ValueError, match="at most 64,000,000"):
        check_most(OF_WEIGHTED, "unpacked", unpacked_bytes(str(path)))

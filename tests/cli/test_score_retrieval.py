"""recall_at_k on files: .npy and .safetensors, ids as JSON, the table, the files written, and errors."""

import csv
import json

import numpy as np
import pytest

from metrics.__main__ import main
from metrics.files.arrays import open_array
from metrics.recall_at_k.scoring import sample_statistics, score

RNG = np.random.default_rng(0)
IMAGES, TEXTS = (RNG.standard_normal((size, 8)).astype(np.float32) for size in (4, 9))
HUGE = "1" + "0" * 20
REFERENCES = [[0, 1], [2, 3, 4], [5, 6], [7, 8]]


def safetensors(path, tensors):
    """Writes the format by hand: names to (dtype, array)."""
    header, data = {"__metadata__": {"made": "by hand"}}, b""
    for name, (kind, array) in tensors.items():
        place = [len(data), len(data) + array.nbytes]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": place}
        data += array.tobytes()
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return str(path)


@pytest.fixture
def files(tmp_path):
    np.save(tmp_path / "I.npy", IMAGES)
    np.save(tmp_path / "T.npy", TEXTS)
    np.save(tmp_path / "S.npy", IMAGES @ TEXTS.T)
    (tmp_path / "ids.json").write_text(json.dumps(REFERENCES))
    return tmp_path


def run(folder, *options):
    return main(["score", "recall_at_k", *map(str, options), "--json", str(folder / "out.json")])


def result(folder):
    return json.loads((folder / "out.json").read_text())["recall_at_k"]


def test_embeddings(files, capsys):
    options = [
        "--image-embeddings",
        files / "I.npy",
        "--text-embeddings",
        files / "T.npy",
        "--references",
        files / "ids.json",
        "--per-sample",
        files / "samples.csv",
        "--folds",
        2,
    ]
    assert run(files, *options) == 0
    found = result(files)
    expected = score(sample_statistics(None, REFERENCES, IMAGES, TEXTS))
    assert {key: found[key] for key in expected} == pytest.approx(expected)
    assert found["signature"] == (
        "recall_at_k|k:1,5,10|ties:expected|sim:cosine|dir:both|no_correct:skip|folds:2|refs:2-3|v:0.1.0"
    )
    assert found["folds"]["i2t_r@1"] >= found["i2t_r@1"]
    output = capsys.readouterr().out
    assert output.startswith("13 queries\n\nrecall_at_k  recall_at_k|k:1,5,10|")
    assert f"  i2t_r@1              {found['i2t_r@1']:.6f}\n" in output
    with open(files / "samples.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["direction"] for row in rows] == ["i2t"] * 4 + ["t2i"] * 9
    assert np.mean([float(row["r@1"]) for row in rows[:4]]) == pytest.approx(found["i2t_r@1"])


def test_similarity_and_options(files):
    assert (
        run(
            files,
            "--similarity",
            files / "S.npy",
            "--references",
            files / "ids.json",
            "--k",
            2,
            3,
            "--ties",
            "pessimistic",
            "--directions",
            "forward",
            "--recall-fraction",
            "--query-name",
            "v",
        )
        == 0
    )
    statistics = sample_statistics(IMAGES @ TEXTS.T, REFERENCES, fraction_at=[2, 3], directions="forward")
    expected = score(statistics, (2, 3), "pessimistic", query_name="v", recall_fraction=True)
    assert {key: result(files)[key] for key in expected} == pytest.approx(expected)


def test_square_similarity_needs_no_references(files):
    np.save(files / "S.npy", np.eye(3))
    assert run(files, "--similarity", files / "S.npy", "--k", 1) == 0
    assert result(files)["rsum"] == 2.0


def test_backward_references(files):
    (files / "texts.json").write_text(json.dumps([[0]] * 9))
    assert (
        run(
            files,
            "--similarity",
            files / "S.npy",
            "--references",
            files / "ids.json",
            "--backward-references",
            files / "texts.json",
            "--directions",
            "backward",
        )
        == 0
    )
    expected = score(
        sample_statistics((IMAGES @ TEXTS.T).T, [0] * 9, directions="forward"), query_name="t", gallery_name="i"
    )
    assert result(files)["t2i_mrr"] == pytest.approx(expected["t2i_mrr"])


@pytest.mark.parametrize(
    "options, message",
    [
        ([], "expected --image-embeddings and --text-embeddings, or --similarity alone"),
        (["--image-embeddings", "I.npy"], "expected --image-embeddings and --text-embeddings"),
        (["--image-embeddings", "I.npy", "--similarity", "S.npy"], "or --similarity alone"),
        (["--predictions", "I.npy"], "--predictions is for captions and answers"),
        (["--similarity", "S.npy"], "references is None and the sides have 4 and 9 items"),
        (["--similarity", "S.csv"], "S.csv is of an unknown kind, expected .npy or .safetensors"),
        (["--similarity", "missing.npy"], "No such file"),
        (["--similarity", "S.npy", "--references", "I.npy"], "I.npy is a NumPy array"),
        (["--similarity", "S.npy", "--references", "dict.json"], "holds dict, expected a list"),
        (["--similarity", "S.npy", "--references", "ids.json", "--k", "0"], "k is 0"),
        (["--similarity", "S.npy", "--references", "ids.json", "--folds", "3"], "folds is 3 for 4 items"),
        (["--similarity", "S.npy", "--references", "ids.json", "--k", HUGE], "k is 100000000000000000000, expected"),
        (["--similarity", "S.npy", "--references", "ids.json", "--folds", HUGE], "folds is 100000000000000000000"),
        (
            ["--similarity", "S.npy", "--references", "ids.json", "--confidence-level", "0.9", "--n-resamples", HUGE],
            "n_resamples is 100000000000000000000, expected at most 10000000",
        ),
        (
            ["--similarity", "S.npy", "--references", "ids.json", "--confidence-level", "nan"],
            "confidence_level is nan",
        ),
        (
            ["--similarity", "S.npy", "--references", "ids.json", "--engine", "datasets", "--num-workers", "-3"],
            "num_workers is -3, expected an integer of at least 1",
        ),
        (
            ["--similarity", "S.npy", "--references", "ids.json", "--engine", "ray", "--num-gpus", "nan"],
            "num_gpus is nan, expected a number of at least 0",
        ),
        (["--similarity", "S.npy", "--references", "ids.json", "--exclude-self"], "the sides have 4 and 9 items"),
        (["--similarity", "objects.npy"], "objects.npy is no readable .npy file"),
    ],
)
def test_errors_end_with_code_2(files, monkeypatch, capsys, options, message):
    monkeypatch.chdir(files)
    (files / "dict.json").write_text("{}")
    np.save(files / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    assert run(files, *options) == 2
    assert message in capsys.readouterr().err


def test_other_metrics_still_need_their_files(capsys):
    assert main(["score", "cider", "--predictions", "x.json"]) == 2
    assert "--references is missing, expected for cider" in capsys.readouterr().err
    assert main(["score", "vqa_accuracy"]) == 2
    assert "--predictions and --references are missing" in capsys.readouterr().err
    assert main(["score", "cider", "recall_at_k"]) == 2
    assert "expected all of one kind" in capsys.readouterr().err


def test_safetensors(tmp_path):
    bits = (IMAGES.view(np.uint32) >> 16).astype(np.uint16)
    one = safetensors(tmp_path / "one.safetensors", {"x": ("F32", IMAGES)})
    np.testing.assert_array_equal(open_array(one), IMAGES)
    assert isinstance(open_array(one), np.memmap)
    two = safetensors(tmp_path / "two.safetensors", {"image": ("BF16", bits), "text": ("F16", TEXTS.astype("<f2"))})
    np.testing.assert_array_equal(open_array(two + ":image"), (bits.astype(np.uint32) << 16).view(np.float32))
    np.testing.assert_array_equal(open_array(two + ":text"), TEXTS.astype(np.float16))
    for path, message in ((two, "holds image, text, expected one of them"), (two + ":x", "expected one of them")):
        with pytest.raises(ValueError, match=message):
            open_array(path)


def test_safetensors_of_the_package(tmp_path):
    package = pytest.importorskip("safetensors.numpy")
    package.save_file({"x": IMAGES}, tmp_path / "x.safetensors")
    np.testing.assert_array_equal(open_array(str(tmp_path / "x.safetensors")), IMAGES)


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "is no safetensors file"),
        (b"\xff" * 20, "is no safetensors file"),
        (b"\x02" + b"\0" * 7 + b"[]", "is no safetensors file"),
        (b"\x0f" + b"\0" * 7 + b'{"x":1,"x":{} }', "the key 'x' stands twice in one object"),
    ],
)
def test_broken_safetensors(tmp_path, content, message):
    (tmp_path / "x.safetensors").write_bytes(content)
    with pytest.raises(ValueError, match=message):
        open_array(str(tmp_path / "x.safetensors"))


def test_safetensors_that_end_too_early(tmp_path):
    path = safetensors(tmp_path / "x.safetensors", {"x": ("F32", IMAGES)})
    (tmp_path / "x.safetensors").write_bytes((tmp_path / "x.safetensors").read_bytes()[:-4])
    with pytest.raises(ValueError, match="the size of x is not that of its shape"):
        open_array(path)
    safetensors(tmp_path / "x.safetensors", {"x": ("BOOL", IMAGES)})
    with pytest.raises(ValueError, match="expected a tensor of numbers"):
        open_array(path)


def test_items_among_themselves_in_one_file_and_in_shards(tmp_path):
    vectors = RNG.integers(-2, 3, (12, 4)).astype(np.float32)
    references = [[j for j in range(12) if j % 4 == i % 4] * 2 for i in range(12)]
    (tmp_path / "ids.json").write_text(json.dumps(references))
    np.save(tmp_path / "V.npy", vectors)
    for number, part in enumerate(np.split(vectors, [5, 6])):
        np.save(tmp_path / f"part{number}.npy", part)
    statistics = sample_statistics(None, references, vectors, vectors, fraction_at=[1, 3], exclude_self=True)
    expected = score(statistics, [1, 3], recall_fraction=True)
    intervals = []
    for name in ("V.npy", "part*.npy"):
        files = ["--image-embeddings", tmp_path / name, "--text-embeddings", tmp_path / name]
        assert (
            run(
                tmp_path,
                *files,
                "--references",
                tmp_path / "ids.json",
                "--exclude-self",
                "--k",
                1,
                3,
                "--recall-fraction",
                "--confidence-level",
                0.9,
                "--n-resamples",
                50,
            )
            == 0
        )
        found = result(tmp_path)
        assert {key: found[key] for key in expected} == pytest.approx(expected)
        assert found["signature"].endswith("|no_correct:skip|exclude_self:yes|refs:2|v:0.1.0")
        intervals.append(found["confidence_interval"])
    assert intervals[0] == intervals[1]

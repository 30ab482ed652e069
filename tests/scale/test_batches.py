"""Statistics of batches: joined in any order they score as the whole set does."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest

from metrics.bleu4 import scoring as bleu4
from metrics.cider import scoring as cider
from metrics.entity_score import scoring as entity_score
from metrics.scale.batches import BatchStatistics, join
from metrics.scale.frequencies import BatchFrequencies, from_bytes, merge, merge_corpus
from metrics.vqa_accuracy import scoring as vqa_accuracy
from tests.sharding import answers, assert_same_scores, captions, columns, cut

NUMBERS = (1, 2, 7)


def direct(scoring, rows, counting=None, formula=None):
    batch = columns(rows)
    return scoring.score(
        scoring.sample_statistics(batch["prediction"], batch["references"], **(counting or {})), **(formula or {})
    )


def from_shards(statistics_of, shards):
    return statistics_of.score(join([statistics_of(columns(shard)) for shard in shards]))


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("counting, formula", [({}, {}), ({"tokenizer": "13a", "max_order": 2}, {"smoothing": "exp"})])
def test_bleu4(number, counting, formula):
    rows = captions(50)
    found = from_shards(BatchStatistics("bleu4", **counting, **formula), cut(rows, number))
    assert_same_scores(found, direct(bleu4, rows, counting, formula))


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("options", [{}, {"variant": "cider_r", "n": 3}, {"tokenizer": "13a", "end_token": "<e>"}])
def test_cider_in_two_passes(number, options):
    rows, shards = captions(50), cut(captions(50), number)
    statistics_of = BatchStatistics("cider", **options, scale=1.0)
    assert statistics_of.needs_frequencies
    table_of = BatchFrequencies.of(statistics_of)
    table = merge_corpus(table_of.table(columns(shard)) for shard in shards)
    second = statistics_of.with_options(document_frequencies=table)
    assert not second.needs_frequencies
    assert_same_scores(from_shards(second, shards), direct(cider, rows, options, {"scale": 1.0}))


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("options", [{}, {"preset": "okvqa", "stem": True}, {"measure": "anls"}])
def test_vqa_accuracy(number, options):
    rows = answers(60)
    found = from_shards(BatchStatistics("vqa_accuracy", **options), cut(rows, number))
    assert_same_scores(found, direct(vqa_accuracy, rows, options))


@pytest.mark.parametrize("number", NUMBERS)
def test_entity_score(number, t5_folder, nltk_data):
    rows = [{"prediction": p, "references": [r, p[:9]]} for p, r in zip(TEXTS, reversed(TEXTS))]
    encoder = entity_score.T5Encoder(str(t5_folder))
    found = from_shards(BatchStatistics("entity_score", model_path=str(t5_folder)), cut(rows, number))
    expected = direct(entity_score, rows, {"encoder": encoder})
    assert_same_scores(found, expected, 1e-6)
    assert found["entity_score"] > 0


TEXTS = [
    "a man plays a guitar.",
    "a dog runs in the park.",
    "it is raining.",
    "two dogs run on green grass.",
    "a train passes a station while people talk.",
    "London has old bridges and a wide river.",
    "water runs into a metal sink.",
    "the children play with a kite near a river.",
]


def test_a_question_with_one_answer_in_a_batch_of_its_own():
    # A batch of single answers is no set of single answers.
    rows = [{"prediction": "yes", "references": ["yes"]}, *answers(5)]
    statistics_of = BatchStatistics("vqa_accuracy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        parts = [statistics_of(columns([row])) for row in rows]
    with pytest.warns(UserWarning, match="fewer than 4 answers"):
        found = statistics_of.score(join(parts))
    with pytest.warns(UserWarning):
        assert_same_scores(found, direct(vqa_accuracy, rows))
    with pytest.raises(ValueError, match="every question has a single answer"):
        statistics_of.score(join(parts[:1]))


def test_ids_as_answers():
    statistics_of = BatchStatistics("vqa_accuracy")
    batches = [{"prediction": np.array([3]), "references": [[3, 4]]}, {"prediction": [5], "references": [3]}]
    statistics = join(map(statistics_of, batches))
    assert statistics_of.score(statistics) == {"vqa_accuracy": 0.5}
    assert statistics_of.signature(statistics).startswith("vqa_accuracy|norm:ids|formula:exact|stem:no|refs:1-2")
    words = statistics_of({"prediction": ["a"], "references": [["a"] * 4]})
    with pytest.raises(TypeError, match=r"some rows are texts \(row 2\) and some are ids \(row 0\)"):
        statistics_of.score(join([statistics, words]))


def test_a_batch_is_no_corpus():
    with pytest.raises(ValueError, match="a batch is no corpus"):
        BatchStatistics("cider")(columns(captions(3)))
    with pytest.raises(ValueError, match="single image"):
        merge_corpus([BatchFrequencies().table(columns(captions(1)))])
    with pytest.raises(ValueError, match="there is no row"):
        merge_corpus([])


def test_batches_of_arrow_numpy_and_lists_are_the_same():
    pyarrow = pytest.importorskip("pyarrow")
    batch = columns(captions(20))
    statistics_of = BatchStatistics("bleu4", keep=["id"])
    ragged = np.empty(20, object)
    ragged[:] = [np.array(group, object) for group in batch["references"]]
    numpy_batch = {**{name: np.array(batch[name]) for name in ("id", "prediction")}, "references": ragged}
    expected = statistics_of(batch)
    for other in (pyarrow.table(batch), pyarrow.RecordBatch.from_pydict(batch), numpy_batch):
        found = statistics_of(other)
        assert found.keys() == expected.keys()
        assert all(np.array_equal(found[name], expected[name]) for name in found)


def test_a_batch_without_rows_has_no_columns():
    empty = {"prediction": [], "references": []}
    assert BatchStatistics("bleu4")(empty) == {} == BatchFrequencies()(empty)
    with pytest.raises(ValueError, match="there is no row"):
        join([{}, {}])


def test_wrong_items_are_named():
    statistics_of = BatchStatistics("bleu4", predictions="caption")
    with pytest.raises(ValueError, match="no column 'caption', expected one of prediction"):
        statistics_of({"prediction": ["a"], "references": [["a"]]})
    with pytest.raises(TypeError, match=r"references\[1\]\[0\] is None, expected str"):
        statistics_of({"caption": ["a", "b"], "references": [["a"], [None]]})
    with pytest.raises(ValueError, match="2 predictions and 1 references"):
        statistics_of({"caption": ["a", "b"], "references": [["a"]]})


@pytest.mark.parametrize(
    "metric, options, message",
    [
        ("recall_at_k", {}, "metric is 'recall_at_k'"),
        ("bleu4", {"variant": "cider"}, "bleu4 has no option variant"),
        ("cider", {"tokenizer": "spaces"}, "tokenizer is 'spaces'"),
        ("vqa_accuracy", {"formula": "mean"}, "formula is 'mean'"),
    ],
)
def test_wrong_options_are_named_at_once(metric, options, message):
    with pytest.raises(ValueError, match=message):
        BatchStatistics(metric, **options)


def test_pickles_and_imports_no_evaluate():
    program = (
        "import pickle, sys; f = pickle.load(sys.stdin.buffer)\n"
        "f({'prediction': ['a'], 'references': [['b']]})\n"
        "print([m for m in ('evaluate', 'datasets', 'torch') if m in sys.modules])"
    )
    content = pickle.dumps(BatchStatistics("bleu4"))
    result = subprocess.run([sys.executable, "-c", program], input=content, capture_output=True, timeout=60)
    assert result.stdout.decode().strip() == "[]", result.stderr.decode()


def test_fingerprint_is_of_code_options_and_columns(tmp_path, monkeypatch):
    from metrics.scale import fingerprints

    same, other_scale = (BatchStatistics("cider", n=3, scale=scale).fingerprint() for scale in (10.0, 1.0))
    assert same == other_scale == BatchStatistics("cider", n=3).fingerprint()
    table = merge_corpus([BatchFrequencies().table(columns(captions(9)))])
    table.save(str(tmp_path / "one.npz"))
    others = [
        BatchStatistics("cider"),
        BatchStatistics("cider", n=3, keep=["id"]),
        BatchStatistics("bleu4"),
        BatchStatistics("cider", n=3, references="refs"),
        BatchStatistics("cider", n=3, tokenizer=str.split),
        BatchStatistics("cider", n=3, document_frequencies=str(tmp_path / "one.npz")),
        BatchStatistics("cider", n=3, document_frequencies=table),
    ]
    found = {same, *(other.fingerprint() for other in others)}
    assert len(found) == 1 + len(others)
    monkeypatch.setattr(fingerprints, "code_of", lambda *modules: "changed")
    assert BatchStatistics("cider", n=3).fingerprint() not in found


def test_tables_as_bytes_merge_in_any_order():
    rows, table_of = captions(40), BatchFrequencies()
    parts = [from_bytes(table_of(columns(shard))["table"][0]) for shard in cut(rows, 7)]
    whole, merged = table_of.table(columns(rows)), merge(reversed(parts))
    assert (len(merged), merged.num_images) == (len(whole), whole.num_images)
    assert all(merged[word] == whole[word] > 0 for word in whole.vocabulary)
    assert merge([]) is None


def test_samples_and_columns_kept_come_in_order():
    rows = captions(10)
    statistics_of = BatchStatistics("bleu4", keep=["id"])
    statistics = join([statistics_of(columns(rows[:4])), statistics_of(columns(rows[4:]))])
    assert statistics["id"].tolist() == [row["id"] for row in rows]
    batch = columns(rows)
    expected = bleu4.sample_scores(bleu4.sample_statistics(batch["prediction"], batch["references"]))["bleu4"]
    assert statistics_of.sample_scores(statistics)["bleu4"].tolist() == expected.tolist()


def test_dataloader_workers():
    data = pytest.importorskip("torch.utils.data")
    rows = captions(30)
    loader = data.DataLoader(rows, batch_size=8, num_workers=2, collate_fn=_Collate(BatchStatistics("bleu4")))
    assert_same_scores(BatchStatistics("bleu4").score(join(loader)), direct(bleu4, rows))


class _Collate:
    def __init__(self, statistics_of):
        self.statistics_of = statistics_of

    def __call__(self, rows):
        return self.statistics_of(columns(rows))

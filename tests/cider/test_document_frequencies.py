"""The table of document frequencies: the same scores as "corpus" mode, merging, files, and pickles from the wild."""

import itertools
import json
import os
import pickle
from collections import Counter, OrderedDict, defaultdict
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.cider.document_frequencies import DocumentFrequencies
from metrics.cider.scoring import VARIANTS, sample_scores, sample_statistics

PREDICTIONS = ["a red kite flies", "two boys play chess outside", "", "the dog sleeps on a rug", "a a kite a kite"]
REFERENCES = [
    ["a red kite in the sky", "the kite flies"],
    ["two boys play a game", "boys play chess outside"],
    ["an old clock"],
    ["the dog sleeps", "a dog on a rug", "a dog on a rug"],
    ["", "a kite"],
]
IDS = [[1, 2, 3, 4, 5], [6, 7, 8], [], [1, 1, 2], [9]]
ID_REFERENCES = [[[1, 2, 3, 4], [2, 3]], [[6, 7, 8, 5]], [[10], [11, 10]], [[1, 1, 2, 1]], [[], [9, 1]]]

tokens = st.sampled_from(["a", "b", "c", "d"])
captions = st.lists(tokens, max_size=7).map(" ".join)
groups = st.lists(st.lists(captions, min_size=1, max_size=3), min_size=1, max_size=5)


def grams_of(text, order):
    words = text.split()
    return {tuple(words[i : i + order]) for i in range(len(words) - order + 1)}


def brute_force(references, n):
    """{n-gram: number of images}, by slicing."""
    return Counter(
        gram for group in references for gram in set().union(*(grams_of(c, k) for c in group for k in range(1, n + 1)))
    )


def table_of(references, **options):
    return DocumentFrequencies.from_references(references, **{"tokenizer": "whitespace", **options})


def similarity(predictions, references, table="corpus", **options):
    options = {"tokenizer": "whitespace", **options}
    return sample_statistics(predictions, references, document_frequencies=table, **options)["similarity"]


@settings(max_examples=60, deadline=None)
@given(references=groups, n=st.integers(1, 6))
def test_frequencies_are_those_of_a_counter(references, n):
    table, expected = table_of(references, n=n), brute_force(references, n)
    assert {gram: table[gram] for gram in expected} == expected
    assert len(table) == len(expected)
    for gram in itertools.product("abx", repeat=2):
        assert table[gram] == expected[gram]


@settings(max_examples=25, deadline=None)
@given(parts=st.lists(groups, min_size=2, max_size=3))
def test_merged_frequencies_are_those_of_a_counter(parts):
    whole = [group for part in parts for group in part]
    expected = brute_force(whole, 4)
    for order in itertools.permutations(parts):
        merged = table_of(order[0])
        for part in order[1:]:
            merged = merged.merge(table_of(part))
        assert merged.num_images == len(whole)
        assert len(merged) == len(expected)
        assert {gram: merged[gram] for gram in expected} == expected


@settings(max_examples=25, deadline=None)
@given(references=groups)
def test_final_keeps_what_more_than_one_image_has(references):
    table, expected = table_of(references).finalize(), brute_force(references, 4)
    assert {gram: table[gram] for gram in expected} == {g: df if df > 1 else 0 for g, df in expected.items()}
    assert len(table) == sum(df > 1 for df in expected.values())


def test_one_token_may_stand_without_a_tuple():
    table = table_of(REFERENCES)
    assert (table["kite"], table[("kite",)], table["zebra"], table["kite", "zebra"]) == (2, 2, 0, 0)
    assert DocumentFrequencies.from_references(ID_REFERENCES)[1] == 3


def test_a_gram_longer_than_n_is_in_no_image():
    assert table_of([["a b c"]], n=2)["a", "b", "c"] == 0


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"n": 2},
        {"n": 6},
        {"stem": True},
        {"end_token": "<eos>"},
        {"tokenizer": "ptb"},
        {"tokenizer": "char"},
        {"tokenizer": str.split},
    ],
)
def test_a_table_of_the_references_scores_as_the_corpus_does(variant, options):
    table = table_of(REFERENCES, **options)
    expected = similarity(PREDICTIONS, REFERENCES, variant=variant, **options)
    found = similarity(PREDICTIONS, REFERENCES, table, variant=variant, **options)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("variant", VARIANTS)
@settings(max_examples=25, deadline=None)
@given(references=groups.filter(lambda group: len(group) > 1), data=st.data())
def test_images_on_their_own_score_as_in_the_whole(variant, references, data):
    predictions = [data.draw(captions) for _ in references]
    table = table_of(references)
    expected = similarity(predictions, references, variant=variant)
    for row, group in enumerate(references):
        found = similarity([predictions[row]], [group], table, variant=variant)
        np.testing.assert_allclose(found, expected[row : row + 1], rtol=0, atol=1e-12)


@pytest.mark.parametrize("end_token", [None, 0, -1])
def test_a_table_of_token_ids_scores_as_the_corpus_does(end_token):
    table = DocumentFrequencies.from_references(ID_REFERENCES, end_token=end_token)
    assert table.tokenizer == "none"
    options = {"tokenizer": "none", "end_token": end_token}
    expected = similarity(IDS, ID_REFERENCES, **options)
    np.testing.assert_allclose(similarity(IDS, ID_REFERENCES, table, **options), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_shards_merged_in_any_order_score_as_the_whole(order):
    shards = [table_of(REFERENCES[:2]), table_of(REFERENCES[2:3]), table_of(REFERENCES[3:])]
    merged = shards[order[0]].merge(shards[order[1]]).merge(shards[order[2]])
    expected = similarity(PREDICTIONS, REFERENCES)
    np.testing.assert_allclose(similarity(PREDICTIONS, REFERENCES, merged), expected, rtol=0, atol=1e-12)


def test_merge_changes_neither_side():
    one, other = table_of(REFERENCES[:2]), table_of(REFERENCES[2:])
    before = [(len(table), table["a"], table.num_images) for table in (one, other)]
    one.merge(other)
    assert [(len(table), table["a"], table.num_images) for table in (one, other)] == before


def test_merge_takes_a_dict_and_a_path(tmp_path):
    one, other = table_of(REFERENCES[:2]), table_of(REFERENCES[2:])
    other.save(tmp_path / "other.npz")
    for form in (other, other.to_dict(), str(tmp_path / "other.npz"), tmp_path / "other.npz"):
        merged = one.merge(form)
        assert (merged.num_images, merged["a"], len(merged)) == (5, 4, len(table_of(REFERENCES)))


def test_an_empty_shard_of_texts_merges():
    merged = table_of(REFERENCES).merge(table_of([[""], [""]]))
    assert (merged.num_images, merged["kite"]) == (7, 2)
    assert table_of([[""]]).merge(table_of(REFERENCES))["kite"] == 2


def test_an_empty_shard_of_token_ids_merges():
    table = DocumentFrequencies.from_references(ID_REFERENCES, tokenizer="none")
    empty = DocumentFrequencies.from_references([[[]]], tokenizer="none")
    merged = table.merge(empty)
    assert (merged.num_images, merged[1]) == (6, 3)


TABLES = {
    "words": lambda: table_of(REFERENCES),
    "ids": lambda: DocumentFrequencies.from_references(ID_REFERENCES),
    "ids-of-any-size": lambda: DocumentFrequencies.from_references([[[1 << 70, -5]], [[-5]]]),
    "end-token": lambda: table_of(REFERENCES, end_token="<eos>"),
    "end-id": lambda: DocumentFrequencies.from_references(ID_REFERENCES, end_token=0),
    "unicode": lambda: table_of([["caf\u00e9 \u4e00\u4e2a \U0001f600", '"quoted\\ \ud800'], ["caf\u00e9 \u0000"]]),
    "stems": lambda: table_of([["running dogs"], ["dogs"]], stem=True),
    "n-6": lambda: table_of(REFERENCES, n=6),
    "empty": lambda: table_of([[""]]),
    "final": lambda: table_of(REFERENCES).finalize(),
    "merged": lambda: table_of(REFERENCES[:2]).merge(table_of(REFERENCES[2:])),
}
SETTINGS = ("num_images", "n", "tokenizer", "stem", "end_token", "final", "vocabulary")


@pytest.mark.parametrize("make", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("way", ["file", "dict", "json", "pickled-dict", "of-itself"])
def test_a_table_comes_back_as_it_was(make, way, tmp_path):
    table = make()
    if way == "file":
        table.save(str(tmp_path / "table"))
        back = DocumentFrequencies.load(str(tmp_path / "table"))
    elif way == "json":
        plain = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in table.to_dict().items()}
        back = DocumentFrequencies.of(json.loads(json.dumps(plain)))
    elif way == "pickled-dict":
        back = DocumentFrequencies.of(pickle.loads(pickle.dumps(table.to_dict())))
    else:
        back = DocumentFrequencies.of(table.to_dict() if way == "dict" else table)
    assert [getattr(back, name) for name in SETTINGS] == [getattr(table, name) for name in SETTINGS]
    for level, expected in zip(back.levels, table.levels, strict=True):
        np.testing.assert_array_equal(level[0], expected[0])
        np.testing.assert_array_equal(level[1], expected[1])


def test_save_writes_exactly_the_path_named(tmp_path):
    table_of(REFERENCES).save(tmp_path / "table.df")
    assert [path.name for path in tmp_path.iterdir()] == ["table.df"]


def test_a_file_holds_no_pickle(tmp_path):
    table_of(REFERENCES).save(tmp_path / "table.npz")
    arrays = dict(np.load(tmp_path / "table.npz", allow_pickle=False))
    assert json.loads(arrays["table"].tobytes())["num_images"] == 5


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_final_table_is_smaller_and_scores_the_same(variant, tmp_path):
    table = table_of(REFERENCES)
    table.save(tmp_path / "final.npz", final=True)
    final = DocumentFrequencies.load(tmp_path / "final.npz")
    assert final.final
    assert not table.final
    assert len(final) < len(table)
    expected = similarity(PREDICTIONS, REFERENCES, variant=variant)
    found = similarity(PREDICTIONS, REFERENCES, final, variant=variant)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_a_final_table_refuses_to_merge_either_way():
    table = table_of(REFERENCES)
    for one, other in [(table, table.finalize()), (table.finalize(), table), (table.finalize(), table.finalize())]:
        with pytest.raises(ValueError, match="final=True.*cannot be merged"):
            one.merge(other)


@pytest.mark.parametrize("variant", VARIANTS)
def test_looking_up_never_grows_a_table(variant):
    table = table_of(REFERENCES)
    before = pickle.dumps(table.to_dict())
    for unseen in ["zebra crossing ahead", "a zebra", "kite a zebra"]:
        similarity([unseen, "x"], [[f"{unseen} now"], ["y"]], table, variant=variant)
        assert table[tuple(unseen.split())] == 0
    assert pickle.dumps(table.to_dict()) == before


def test_an_unseen_gram_weighs_as_one_of_a_single_image():
    table = table_of([["a b"], ["a c"], ["a d"]])
    assert similarity(["x"], [["x"]], table)[0].tolist() == pytest.approx([1, 0, 0, 0], abs=1e-12)
    # a is everywhere (weight 0), x nowhere (ln 3), as b.
    assert similarity(["a x"], [["a x b"]], table, variant="cider")[0, 0] == pytest.approx(2**-0.5, abs=1e-12)


MISMATCHES = [
    ({}, {"n": 3}, "n=4, this call has n=3"),
    ({"n": 3}, {}, "n=3, this call has n=4"),
    ({}, {"tokenizer": "ptb"}, "tokenizer='whitespace', this call has tokenizer='ptb'"),
    ({"tokenizer": "char"}, {}, "tokenizer='char', this call has tokenizer='whitespace'"),
    ({"tokenizer": str.split}, {}, "tokenizer='callable:str.split', this call has tokenizer='whitespace'"),
    ({}, {"stem": True}, "stem=False, this call has stem=True"),
    ({"stem": True}, {}, "stem=True, this call has stem=False"),
    ({}, {"end_token": "<eos>"}, "end_token=None, this call has end_token='<eos>'"),
    ({"end_token": "<eos>"}, {}, "end_token='<eos>', this call has end_token=None"),
    ({"end_token": "<eos>"}, {"end_token": "."}, "end_token='<eos>', this call has end_token='.'"),
]


@pytest.mark.parametrize("made, called, message", MISMATCHES)
def test_a_mismatch_of_settings_is_a_value_error_that_names_it(made, called, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        similarity(PREDICTIONS, REFERENCES, table_of(REFERENCES, **made), **called)
    with pytest.raises(ValueError, match=f"made with {next(iter({**made, **called}))}="):
        table_of(REFERENCES, **made).merge(table_of(REFERENCES, **called))


def test_texts_with_a_table_of_ids_and_ids_with_a_table_of_texts_are_value_errors():
    ids, texts = DocumentFrequencies.from_references(ID_REFERENCES), table_of(REFERENCES)
    with pytest.raises(ValueError, match="tokenizer='none'"):
        similarity(PREDICTIONS, REFERENCES, ids)
    with pytest.raises(ValueError, match="this call has tokenizer='none'"):
        similarity(IDS, ID_REFERENCES, texts)
    with pytest.raises(ValueError, match="tokenizer"):
        texts.merge(ids)


@pytest.mark.parametrize("references, place", [([], "references"), ([["a"], []], r"references\[1\]"), ([[]], "0")])
def test_a_table_of_nothing_is_a_value_error(references, place):
    with pytest.raises(ValueError, match=f"{place}.*empty"):
        DocumentFrequencies.from_references(references)


def test_metric_takes_a_table_in_every_form(load_metric, tmp_path):
    cider = load_metric("cider")
    expected = cider.compute(predictions=PREDICTIONS, references=REFERENCES)
    table = cider.document_frequencies(REFERENCES)
    table.save(tmp_path / "table.npz")
    own = DocumentFrequencies.from_references(REFERENCES)
    for form in (table, own, table.to_dict(), str(tmp_path / "table.npz"), tmp_path / "table.npz"):
        found = cider.compute(predictions=PREDICTIONS, references=REFERENCES, document_frequencies=form)
        assert found == pytest.approx(expected, abs=1e-12)


def test_metric_scores_batches_with_a_table_as_the_whole(load_metric):
    cider = load_metric("cider")
    expected = cider.compute(predictions=PREDICTIONS, references=REFERENCES, per_sample=True)["per_sample"]["cider"]
    table, found = cider.document_frequencies(REFERENCES), []
    for start in range(0, 5, 2):
        batch = {"predictions": PREDICTIONS[start : start + 2], "references": REFERENCES[start : start + 2]}
        found += cider.compute(**batch, document_frequencies=table, per_sample=True)["per_sample"]["cider"]
    assert found == pytest.approx(expected, abs=1e-12)


def test_metric_checks_the_references_of_a_table(load_metric):
    with pytest.raises(TypeError, match=r"references\[1\]\[0\] is int 5"):
        load_metric("cider").document_frequencies([["a"], [5]])


# --- what is no table -------------------------------------------------------------------------------------------


def write(path, content):
    path.write_bytes(content)
    return str(path)


@pytest.fixture
def saved(tmp_path):
    table_of(REFERENCES).save(tmp_path / "good.npz")
    return (tmp_path / "good.npz").read_bytes()


@pytest.mark.parametrize("content", [b"", b"x", b"no table", b"{}", b"PK\x03\x04 no zip", b"\x93NUMPY", b"\x80\x04."])
def test_a_file_of_something_else_is_a_value_error_that_names_the_file(content, tmp_path):
    with pytest.raises(ValueError, match="file.npz is no table of document frequencies"):
        DocumentFrequencies.load(write(tmp_path / "file.npz", content))


@pytest.mark.parametrize("part", [0.001, 0.1, 0.5, 0.9, 0.99])
def test_a_truncated_file_is_a_value_error_that_names_the_file(part, saved, tmp_path):
    path = write(tmp_path / "file.npz", saved[: int(len(saved) * part)])
    with pytest.raises(ValueError, match="file.npz is no table of document frequencies"):
        DocumentFrequencies.load(path)


def test_a_flipped_byte_is_a_value_error(saved, tmp_path):
    place = saved.index(b'"num_images"') + 1
    path = write(tmp_path / "file.npz", saved[:place] + b"N" + saved[place + 1 :])
    with pytest.raises(ValueError, match="file.npz is no table of document frequencies"):
        DocumentFrequencies.load(path)


@pytest.mark.parametrize("text", ["{}", '{"format": 1}', "[1]", "5", '"abc"', "null", "not json", "\xff"])
def test_an_npz_file_with_another_table_is_a_value_error(text, tmp_path):
    np.savez(tmp_path / "file.npz", table=np.frombuffer(text.encode("latin1"), np.uint8))
    with pytest.raises(ValueError, match="no table of document frequencies"):
        DocumentFrequencies.load(str(tmp_path / "file.npz"))


def test_an_npz_file_of_other_arrays_is_a_value_error(tmp_path):
    np.savez(tmp_path / "file.npz", weights=np.arange(3))
    with pytest.raises(ValueError, match="file.npz is no table of document frequencies"):
        DocumentFrequencies.load(str(tmp_path / "file.npz"))


def test_an_npy_file_is_a_value_error(tmp_path):
    np.save(tmp_path / "file.npy", np.arange(3))
    with pytest.raises(ValueError, match="file.npy is no table of document frequencies"):
        DocumentFrequencies.load(str(tmp_path / "file.npy"))


def test_a_pickle_inside_a_file_is_not_loaded(tmp_path):
    target = tmp_path / "ran"
    np.savez(tmp_path / "file.npz", table=np.array([Malicious(target)], object))
    with pytest.raises(ValueError, match="no table of document frequencies"):
        DocumentFrequencies.load(str(tmp_path / "file.npz"))
    assert not target.exists()


def test_a_folder_and_a_missing_file_are_os_errors(tmp_path):
    for path in (str(tmp_path), str(tmp_path / "missing.npz")):
        with pytest.raises(OSError, match=path):
            DocumentFrequencies.of(path)


@pytest.mark.parametrize("wrong", [None, 5, 2.5, True, [], ("a",), {"a"}, b"path", object()])
def test_what_is_neither_table_nor_mapping_nor_path_is_a_type_error(wrong):
    with pytest.raises(TypeError, match=f"document_frequencies is {type(wrong).__name__}, expected 'corpus'"):
        similarity(PREDICTIONS, REFERENCES, wrong)


@pytest.mark.parametrize("wrong", [{}, {"a": 1}, {("a",): 2.0}, OrderedDict(document_frequency={}, ref_len=3)])
def test_another_mapping_is_a_value_error(wrong):
    with pytest.raises(ValueError, match="no table of document frequencies"):
        DocumentFrequencies.of(wrong)


@pytest.mark.parametrize("key", list(TABLES["words"]().to_dict()))
def test_a_mapping_that_lacks_a_key_is_a_value_error_that_names_it(key):
    content = table_of(REFERENCES).to_dict()
    del content[key]
    with pytest.raises(ValueError, match=f"lacks.*{key}"):
        DocumentFrequencies.of(content)


@pytest.mark.parametrize("form", [0, 2, "1", None])
def test_another_format_is_a_value_error(form):
    with pytest.raises(ValueError, match="format 1"):
        DocumentFrequencies.of({**table_of(REFERENCES).to_dict(), "format": form})


@pytest.mark.parametrize("num_images", [0, -3])
def test_a_mapping_with_no_images_is_a_value_error(num_images):
    with pytest.raises(ValueError, match="num_images"):
        DocumentFrequencies.of({**table_of(REFERENCES).to_dict(), "num_images": num_images})


# --- pickles ----------------------------------------------------------------------------------------------------

GRAMS = {("a",): 3.0, ("kite",): 2.0, ("a", "kite"): 2.0, ("a", "kite", "flies"): 1.0, ("caf\u00e9",): 1.0}


def from_pickle(tmp_path, content, protocol=2, **options):
    content = content if isinstance(content, bytes) else pickle.dumps(content, protocol)
    options = {"tokenizer": "whitespace", **options}
    return DocumentFrequencies.from_pickle(write(tmp_path / "df.p", content), **options)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("kind", [dict, OrderedDict, Counter, lambda grams: defaultdict(float, grams)])
def test_both_shapes_of_pickle_are_read(tmp_path, protocol, kind):
    wrapped = {"document_frequency": kind(GRAMS), "ref_len": 4}
    for table in (
        from_pickle(tmp_path, wrapped, protocol),
        from_pickle(tmp_path, kind(GRAMS), protocol, num_images=4),
        from_pickle(tmp_path, {**wrapped, "ref_len": 4.0}, protocol, num_images=4),
    ):
        assert (table.num_images, table.n, table.tokenizer, table.stem) == (4, 3, "whitespace", False)
        assert {gram: table[gram] for gram in GRAMS} == GRAMS


PYTHON_2_PROTOCOL_0 = (
    b"(dp0\nS'ref_len'\np1\nL4L\nsS'document_frequency'\np2\nccollections\ndefaultdict\np3\n(c__builtin__\nfloat\np4\n"
    b"tp5\nRp6\n(S'a'\np7\ntp8\nF3.0\ns(g7\nV\\u732b\np9\ntp10\nF2.0\ns(S'caf\\xc3\\xa9'\np11\ntp12\nI1\nss."
)
PYTHON_2_PROTOCOL_2 = (
    b"\x80\x02ccollections\ndefaultdict\nq\x00c__builtin__\nfloat\nq\x01\x85q\x02Rq\x03U\x01aq\x04\x85q\x05"
    b"G@\x08\x00\x00\x00\x00\x00\x00sh\x04X\x03\x00\x00\x00\xe7\x8c\xab\x86q\x06G@\x00\x00\x00\x00\x00\x00\x00s"
    b"U\x05caf\xc3\xa9\x85q\x07K\x01s."
)


def test_a_pickle_that_python_2_wrote_is_read(tmp_path):
    for content, options in ((PYTHON_2_PROTOCOL_0, {}), (PYTHON_2_PROTOCOL_2, {"num_images": 4})):
        table = from_pickle(tmp_path, content, **options)
        assert (table.num_images, table["a"], table["a", "\u732b"], table["caf\u00e9"]) == (4, 3, 2, 1)


def test_a_pickle_scores_as_the_table_that_it_was_made_of(tmp_path):
    grams = {gram: float(df) for gram, df in brute_force(REFERENCES, 4).items()}
    table = from_pickle(tmp_path, {"document_frequency": defaultdict(float, grams), "ref_len": 5})
    expected = similarity(PREDICTIONS, REFERENCES)
    np.testing.assert_allclose(similarity(PREDICTIONS, REFERENCES, table), expected, rtol=0, atol=1e-12)
    table.save(tmp_path / "table.npz")
    again = similarity(PREDICTIONS, REFERENCES, str(tmp_path / "table.npz"))
    np.testing.assert_allclose(again, expected, rtol=0, atol=1e-12)


def test_a_pickle_of_word_indices_is_read_as_ids(tmp_path):
    content = {"document_frequency": {("12", "0"): 2.0, ("12",): 2.0}, "ref_len": 4}
    table = from_pickle(tmp_path, content, tokenizer="none", end_token=0)
    assert (table[12], table[12, 0], table.tokenizer, table.end_token) == (2, 2, "none", 0)
    found = similarity([[12]], [[[12]]], table, tokenizer="none", end_token=0, n=2)
    np.testing.assert_allclose(found, [[1, 1]], rtol=0, atol=1e-12)


def test_a_gram_without_its_beginning_is_read(tmp_path):
    table = from_pickle(tmp_path, {("a", "b", "c"): 2.0}, num_images=5)
    assert (table["a", "b", "c"], table["a", "b"], table["a"], table["b"]) == (2, 0, 0, 0)


@pytest.mark.parametrize("content", [GRAMS, {"document_frequency": GRAMS}])
def test_a_pickle_without_n_asks_for_it_and_names_40504(tmp_path, content):
    with pytest.raises(ValueError, match="pass num_images.*40504"):
        from_pickle(tmp_path, content)


def test_another_n_than_that_of_the_pickle_is_a_value_error(tmp_path):
    with pytest.raises(ValueError, match="num_images is 5, but .* was made of 4 images"):
        from_pickle(tmp_path, {"document_frequency": GRAMS, "ref_len": 4}, num_images=5)


class Malicious:
    """Unpickled in the ordinary way, it makes a file."""

    def __init__(self, path, function=os.system):
        self.path, self.function = path, function

    def __reduce__(self):
        return self.function, (f"touch {self.path}",)


def test_the_malicious_pickle_of_these_tests_would_run(tmp_path):
    pickle.loads(pickle.dumps(Malicious(tmp_path / "ran")))
    assert (tmp_path / "ran").exists()


PLACES = {
    "whole": lambda bad: bad,
    "value": lambda bad: {"document_frequency": {("a",): bad}, "ref_len": 3},
    "key": lambda bad: {("a", bad): 1.0},
    "ref_len": lambda bad: {"document_frequency": GRAMS, "ref_len": bad},
    "default": lambda bad: {"document_frequency": GRAMS, "ref_len": 3, "more": [[{"deep": (bad,)}]]},
}


@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("place", PLACES)
def test_a_malicious_pickle_is_refused_and_runs_nothing(tmp_path, protocol, place):
    content = PLACES[place](Malicious(tmp_path / "ran"))
    with pytest.raises(ValueError, match=r"the pickle asks for (posix|nt)\.system"):
        from_pickle(tmp_path, content, protocol, num_images=3)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("name", ["eval", "exec", "getattr", "__import__", "open", "type", "map", "compile"])
@pytest.mark.parametrize("module", ["builtins", "__builtin__"])
def test_other_builtins_are_refused(tmp_path, module, name):
    with pytest.raises(ValueError, match=f"asks for {module}.{name}"):
        from_pickle(tmp_path, f"c{module}\n{name}\n(S'1'\ntR.".encode(), num_images=3)


@pytest.mark.parametrize("name", ["dict.fromkeys", "str.format", "__init__.__globals__"])
def test_an_attribute_of_an_allowed_class_is_refused(tmp_path, name):
    # Protocol 4 allows dotted names.
    content = b"\x80\x04\x8c\x08builtins\x8c" + bytes([len(name)]) + name.encode() + b"\x93."
    with pytest.raises(ValueError, match="the pickle asks for builtins"):
        from_pickle(tmp_path, content, num_images=3)


def test_copy_reg_is_refused(tmp_path):
    content = b"ccopy_reg\n_reconstructor\n(c__builtin__\nobject\nc__builtin__\nobject\nNtR."
    with pytest.raises(ValueError, match="asks for copy_reg._reconstructor"):
        from_pickle(tmp_path, content, num_images=3)


@pytest.mark.parametrize("content", [[1], 5, None, "text", ("a",)])
def test_a_pickle_of_something_else_is_a_value_error(tmp_path, content):
    with pytest.raises(ValueError, match="expected a dict of document frequencies"):
        from_pickle(tmp_path, content, num_images=3)


@pytest.mark.parametrize("gram", ["a", 5, (), (("a",),), (None,), (1.5,)])
def test_a_pickle_whose_keys_are_no_grams_is_a_value_error(tmp_path, gram):
    with pytest.raises(ValueError, match="expected a tuple of tokens"):
        from_pickle(tmp_path, {gram: 1.0}, num_images=3)


@pytest.mark.parametrize("inner", [[1], None, "text", 5])
def test_a_pickle_whose_document_frequency_is_no_dict_is_a_value_error(tmp_path, inner):
    with pytest.raises(ValueError, match="document"):
        from_pickle(tmp_path, {"document_frequency": inner, "ref_len": 3})


@pytest.mark.parametrize("frequency", [None, float("nan"), float("inf"), "x", [1]])
def test_a_pickle_whose_frequency_is_no_number_is_refused(tmp_path, frequency):
    with pytest.raises((ValueError, TypeError)):
        from_pickle(tmp_path, {("a",): frequency}, num_images=3)


@pytest.mark.parametrize("num_images", [0, -1, 1.5])
def test_a_pickle_with_an_impossible_n_is_a_value_error(tmp_path, num_images):
    with pytest.raises(ValueError, match="num_images|N"):
        from_pickle(tmp_path, GRAMS, num_images=num_images)
    with pytest.raises(ValueError, match="num_images|N|ref_len"):
        from_pickle(tmp_path, {"document_frequency": GRAMS, "ref_len": num_images})


@pytest.mark.parametrize("content", [b"", b"no pickle", b"\xff", pickle.dumps(GRAMS, 2)[:-4], b"h\x05.", b"Pname\n."])
def test_a_file_that_is_no_pickle_is_a_value_error(tmp_path, content):
    with pytest.raises(ValueError, match=r"df\.p"):
        from_pickle(tmp_path, content, num_images=3)


def test_a_missing_pickle_is_an_os_error():
    with pytest.raises(OSError, match="missing.p"):
        DocumentFrequencies.from_pickle(str(Path("no") / "missing.p"), num_images=3)


def test_sample_scores_of_a_table_are_on_the_scale():
    table = table_of(REFERENCES)
    statistics = sample_statistics(
        ["a red kite in the sky"], [["a red kite in the sky"]], tokenizer="whitespace", document_frequencies=table
    )
    assert sample_scores(statistics)["cider"] == pytest.approx([10.0], abs=1e-12)

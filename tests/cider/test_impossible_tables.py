"""Tables and options that no corpus can have made are refused, or score what is right, and never a wrong number."""

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.cider.document_frequencies import DocumentFrequencies
from metrics.cider.reward import CiderReward
from metrics.cider.scoring import VARIANTS, length_penalty, sample_statistics

REFERENCES = [["a cat sits", "the cat"], ["a dog runs", "a dog"], ["a kite"]]
TABLE = DocumentFrequencies.from_references(REFERENCES)
ONE_IMAGE = "document_frequencies are a table of a single image: every idf is"


def changed(**values):
    return {**TABLE.to_dict(), **values}


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_table_of_one_image_is_the_error_of_corpus(variant, load_metric, tmp_path):
    cider = load_metric("cider")
    table = cider.document_frequencies([["a b c"]])
    table.save(tmp_path / "one.npz", final=True)
    for frequencies in (table, table.to_dict(), str(tmp_path / "one.npz")):
        with pytest.raises(ValueError, match=ONE_IMAGE):
            cider.compute(predictions=["a b"], references=[["a b"]], variant=variant, document_frequencies=frequencies)
        with pytest.raises(ValueError, match=ONE_IMAGE):
            cider.reward(frequencies, variant)
    # Of two such tables one is made that scores.
    assert TABLE.merge(table).num_images == 4
    both = table.merge(cider.document_frequencies([["d e"]]))
    results = cider.compute(predictions=["a b"], references=[["a b"]], variant=variant, document_frequencies=both)
    assert results["cider"] == pytest.approx(5.0)


@pytest.mark.parametrize(
    "frequencies, wrong",
    [
        ([3, 1, 1, 4, 1, 1, 1], "of order 1 is 4, expected 0 to num_images=3"),
        ([3, 1, 1, -1, 1, 1, 1], "of order 1 is -1, expected 0 to num_images=3"),
        # Made narrower this one would be 1.
        ([3, 1, 1, (1 << 32) + 1, 1, 1, 1], "of order 1 is 4294967297, expected 0 to num_images=3"),
    ],
)
def test_frequencies_that_no_images_can_have(frequencies, wrong, tmp_path):
    assert len(TABLE.levels[0][0]) == len(frequencies)
    table = changed(frequencies_1=np.array(frequencies))
    with pytest.raises(ValueError, match=wrong):
        DocumentFrequencies.of(table)
    with pytest.raises(ValueError, match=wrong):
        sample_statistics(["a cat"], [["a cat"]], document_frequencies=table)
    with pytest.raises(ValueError, match=wrong):
        CiderReward(table)


def test_a_wrong_number_of_images_does_not_pass(tmp_path):
    with pytest.raises(ValueError, match="of order 1 is 3, expected 0 to num_images=2: is the number of images right"):
        DocumentFrequencies.of(changed(num_images=2))
    grams = {("a",): 30.0, ("a", "cat"): 7, ("cat",): 12}
    (tmp_path / "df.p").write_bytes(pickle.dumps(grams, 2))
    assert DocumentFrequencies.from_pickle(str(tmp_path / "df.p"), 30)["a"] == 30
    with pytest.raises(ValueError, match="of order 1 is 30, expected 0 to num_images=29"):
        DocumentFrequencies.from_pickle(str(tmp_path / "df.p"), 29)
    for frequency in (-1.0, 5.0e9):
        (tmp_path / "df.p").write_bytes(pickle.dumps({**grams, ("a", "cat"): frequency}, 2))
        with pytest.raises(ValueError, match=f"of order 2 is {frequency:.0f}, expected 0 to num_images=40"):
            DocumentFrequencies.from_pickle(str(tmp_path / "df.p"), 40)
    (tmp_path / "df.p").write_bytes(pickle.dumps({**grams, ("a", "cat"): 2.5}, 2))
    with pytest.raises(ValueError, match=r"frequency of \('a', 'cat'\) is 2.5, expected a whole number"):
        DocumentFrequencies.from_pickle(str(tmp_path / "df.p"), 40)


@pytest.mark.parametrize(
    "end_token, references, found",
    [
        (1, REFERENCES, "int 1, expected str, as the captions are texts"),
        ("<eos>", [[[1, 2]], [[3]]], "str '<eos>', expected int, as they are token ids"),
    ],
)
def test_an_end_token_that_no_caption_has(end_token, references, found, load_metric, tmp_path):
    cider, kind = load_metric("cider"), isinstance(references[0][0], str)
    predictions = [group[0] for group in references]
    with pytest.raises(TypeError, match=f"end_token is {found}"):
        cider.compute(predictions=predictions, references=references, end_token=end_token)
    with pytest.raises(TypeError, match=f"end_token is {found}"):
        cider.document_frequencies(references, end_token=end_token)
    with pytest.raises(TypeError, match=f"end_token is {found}"):
        DocumentFrequencies.of(changed(tokenizer="ptb" if kind else "none", end_token=end_token))
    (tmp_path / "df.p").write_bytes(pickle.dumps({("1",): 1.0}, 2))
    with pytest.raises(TypeError, match=f"end_token is {found}"):
        DocumentFrequencies.from_pickle(str(tmp_path / "df.p"), 2, "ptb" if kind else "none", end_token)


@pytest.mark.parametrize("sigma", [5e-324, 1e-300, 1e-160, 1e160, 1e308])
def test_a_sigma_of_any_size(sigma):
    wanted = sample_statistics(["a cat sits", "a dog"], REFERENCES[:2], "cider", document_frequencies=TABLE)
    of_length = [np.array([0.0, 1.0, -40.0]), 1.0 if sigma > 1 else np.array([1.0, 0.0, 0.0])]
    assert length_penalty(of_length[0], sigma).tolist() == np.broadcast_to(of_length[1], 3).tolist()
    found = sample_statistics(["a cat sits", "a dog"], REFERENCES[:2], sigma=sigma, document_frequencies=TABLE)
    reward = CiderReward(TABLE, sigma=sigma).scores(["a cat sits", "a dog"], REFERENCES[:2])
    assert np.isfinite(found["similarity"]).all()
    np.testing.assert_allclose(reward, found["similarity"].mean(1) * 10, rtol=0, atol=1e-12)
    if sigma > 1:
        np.testing.assert_allclose(found["similarity"], wanted["similarity"], rtol=0, atol=1e-12)
    else:
        # Only a reference of the same length counts: one of two, word by word the candidate.
        np.testing.assert_allclose(found["similarity"][:, :2], 0.5, rtol=0, atol=1e-12)


@given(st.integers(-60, 60), st.floats(0.01, 1e3))
def test_the_penalty_is_the_gaussian(difference, sigma):
    wanted = math.exp(-(difference**2) / (2 * sigma**2))
    assert length_penalty(np.array([float(difference)]), sigma)[0] == pytest.approx(wanted, rel=1e-10, abs=1e-300)

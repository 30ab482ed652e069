"""The reward is CIDEr with a fixed table, in whatever batch; TRL's call, SCST's form; what a wrong call is told."""

import json
import pickle
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.cider import packed_vectors
from metrics.cider import reward as module
from metrics.cider.document_frequencies import DocumentFrequencies
from metrics.cider.reward import CiderReward
from metrics.cider.scoring import sample_scores, sample_statistics

ROOT = Path(__file__).resolve().parents[2]
WORDS = ["a", "the", "dog", "dogs", "cat", "runs", "running", "on", "grass", "red", "hydrant", "Two", "kids", "don't"]
CAPTION = st.lists(st.sampled_from(WORDS), max_size=9).map(" ".join)
SAMPLES = st.lists(st.tuples(CAPTION, st.lists(CAPTION, min_size=1, max_size=4)), min_size=1, max_size=12)
CORPORA = SAMPLES.filter(lambda corpus: len(corpus) > 1)


def random_captions(seed, count):
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randrange(1, 12))) + "." for _ in range(count)]


TRAINING = [random_captions(seed, 5) for seed in range(40)]
TABLE = DocumentFrequencies.from_references(TRAINING)
CANDIDATES = random_captions(-1, 150)
REFERENCES = [TRAINING[i % 40][: 1 + i % 5] for i in range(150)]


def expected(candidates, references, table=TABLE, scale=10.0, **options):
    statistics = sample_statistics(candidates, references, document_frequencies=table, **options)
    return sample_scores(statistics, scale)["cider"]


# The same values as the evaluation


@pytest.mark.parametrize("variant", ["cider_d", "cider", "cider_r"])
@pytest.mark.parametrize("size", [1, 7, 64, 150])
def test_equal_to_the_evaluation_in_any_batch(variant, size):
    reward = CiderReward(TABLE, variant)
    found = [
        value
        for start in range(0, 150, size)
        for value in reward(completions=CANDIDATES[start : start + size], references=REFERENCES[start : start + size])
    ]
    wanted = expected(CANDIDATES, REFERENCES, variant=variant)
    assert np.abs(found - wanted).max() < 1e-12
    assert wanted.max() > 1
    assert all(type(value) is float for value in found)


@settings(deadline=None, max_examples=60)
@given(CORPORA, SAMPLES, st.sampled_from(["cider_d", "cider"]), st.integers(1, 5), st.booleans())
def test_equal_for_any_captions(corpus, samples, variant, n, stem):
    table = DocumentFrequencies.from_references([references for _, references in corpus], n, stem=stem)
    reward = CiderReward(table, variant, n, stem=stem, sigma=2.0, scale=1.0, cache_size=3)
    candidates, references = map(list, zip(*samples))
    wanted = expected(candidates, references, table, 1.0, variant=variant, n=n, stem=stem, sigma=2.0)
    for _ in range(2):
        assert np.abs(reward.scores(candidates, references) - wanted).max() < 1e-12
    assert [abs(reward.scores([c], [r])[0] - w) < 1e-12 for c, r, w in zip(candidates, references, wanted)]


@pytest.mark.parametrize(
    "options",
    [
        {"tokenizer": "char"},
        {"tokenizer": "whitespace", "end_token": "<eos>"},
        {"end_token": "<eos>", "stem": True},
        {"tokenizer": str.split},
        {"n": 2, "sigma": 3.0},
    ],
    ids=str,
)
def test_equal_with_options(options):
    made = {key: value for key, value in options.items() if key != "sigma"}
    table = DocumentFrequencies.from_references(TRAINING, **made)
    found = CiderReward(table, **options).scores(CANDIDATES, REFERENCES)
    assert np.abs(found - expected(CANDIDATES, REFERENCES, table, **options)).max() < 1e-12


def test_a_saved_table_gives_the_same(tmp_path, load_metric):
    TABLE.save(tmp_path / "table.npz", final=True)
    wanted = expected(CANDIDATES, REFERENCES)
    for reward in (
        CiderReward(str(tmp_path / "table.npz")),
        CiderReward(TABLE.to_dict()),
        load_metric("cider").reward(TABLE),
    ):
        assert np.abs(reward.scores(CANDIDATES, REFERENCES) - wanted).max() < 1e-12


def test_from_a_dataset_to_the_rewards_of_its_evaluation(load_metric):
    import datasets

    cider, dataset = load_metric("cider"), datasets.Dataset.from_dict({"captions": TRAINING})
    table = cider.document_frequencies(dataset["captions"])
    results = cider.compute(predictions=CANDIDATES[:40], references=dataset["captions"], per_sample=True)
    reward = cider.reward(table, references="captions")
    found = [reward(completions=CANDIDATES[i : i + 8], captions=TRAINING[i : i + 8]) for i in range(0, 40, 8)]
    assert np.abs(np.concatenate(found) - results["per_sample"]["cider"]).max() < 1e-12


def test_a_table_of_other_images_and_an_unknown_word():
    table = DocumentFrequencies.from_references([["zebras graze"], ["a zebra"]])
    candidates, references = ["qwerty dog", "zebras graze"], [["qwerty dog runs"], ["zebras graze"]]
    found = CiderReward(table).scores(candidates, references)
    assert found == pytest.approx(expected(candidates, references, table), abs=1e-12)
    assert found.min() > 1


def test_empty_captions_score_0():
    found = CiderReward(TABLE)(completions=["", "a dog", ""], references=[["a dog"], [""], ["", ""]])
    assert found == [0.0, 0.0, 0.0]


def test_one_reference_without_a_list():
    assert CiderReward(TABLE)(completions=["a dog"], references=["a dog"]) == CiderReward(TABLE)(
        completions=["a dog"], references=(("a dog",),)
    )


def test_what_is_kept_stays_bounded_and_changes_nothing(monkeypatch):
    wanted = expected(CANDIDATES, REFERENCES)
    reward = CiderReward(TABLE, cache_size=5)
    for _ in range(3):
        assert np.abs(reward.scores(CANDIDATES, REFERENCES) - wanted).max() < 1e-12
        assert len(reward._groups) == 5


def test_many_tokens(monkeypatch):
    for where in (module, packed_vectors):
        monkeypatch.setattr(where, "BITS", 8)
    monkeypatch.setattr(module, "_MOST_TOKENS", 100)
    general = []
    original = CiderReward._general_similarity
    monkeypatch.setattr(
        CiderReward, "_general_similarity", lambda self, *rows: general.append(len(rows[0])) or original(self, *rows)
    )
    reward = CiderReward(TABLE)
    for start in range(0, 1200, 40):
        # New words all the time: the numbering begins anew.
        candidates = [f"a dog word{start + i}" for i in range(40)]
        assert reward.scores(candidates, REFERENCES[:40]) == pytest.approx(expected(candidates, REFERENCES[:40]))
        assert len(reward._encoder) < 256
    assert not general
    # More in one batch than there are numbers, among completions and among references.
    candidates = [" ".join(f"w{i}x{j}" for j in range(30)) for i in range(10)]
    for pair in ((candidates, REFERENCES[:10]), (CANDIDATES[:10], [[text] for text in candidates])):
        assert reward.scores(*pair) == pytest.approx(expected(*pair), abs=1e-12)
    assert general == [10, 10]
    assert reward.scores(CANDIDATES, REFERENCES) == pytest.approx(expected(CANDIDATES, REFERENCES), abs=1e-12)


# Token ids


END = 2
ID_TRAINING = [[[3 + (5 * i + 3 * j + k * k) % 9 for k in range(4 + j)] for j in range(3)] for i in range(9)]
ID_TABLE = DocumentFrequencies.from_references(ID_TRAINING, tokenizer="none", end_token=END)


@pytest.mark.parametrize("variant", ["cider_d", "cider_r"])
def test_ids_are_cut_off_at_their_end(variant):
    reward = CiderReward(ID_TABLE, variant, tokenizer="none", end_token=END)
    wanted = expected([[5, 6, 7]], ID_TRAINING[:1], ID_TABLE, variant=variant, tokenizer="none", end_token=END)[0]
    kinds = [[5, 6, 7, END], [5, 6, 7, END, 0, 0], (5, 6, 7, END, 9), np.array([5, 6, 7, END, 0])]
    assert reward.scores(kinds, ID_TRAINING[:1] * 4) == pytest.approx([wanted] * 4, abs=1e-12)
    assert reward(completions=["x"], completion_ids=[[5, 6, 7, END]], references=ID_TRAINING[:1]) == [
        pytest.approx(wanted, abs=1e-12)
    ]


def test_a_sample_that_does_not_end_lacks_the_end():
    reward = CiderReward(ID_TABLE, tokenizer="none", end_token=END)
    whole = ID_TRAINING[0][0]
    with_end, without = reward.scores([[*whole, END], whole], [[whole]] * 2)
    assert with_end == pytest.approx(10)
    assert without < with_end
    # With a table of captions without ends there is none to have.
    table = DocumentFrequencies.from_references(ID_TRAINING, tokenizer="none")
    assert CiderReward(table, tokenizer="none").scores([whole], [[whole]]) == pytest.approx([10])


def test_tensors_of_ids():
    torch = pytest.importorskip("torch")
    reward = CiderReward(ID_TABLE, tokenizer="none", end_token=END)
    samples = torch.tensor([[[5, 6, END, 0], [7, 8, 9, END]], [[3, 4, 5, 6], [9, END, 0, 0]]])
    greedy = torch.tensor([[5, 6, 7, END], [3, END, 0, 0]])
    found = reward.self_critical(samples, greedy, ID_TRAINING[:2])
    flat = reward.scores(samples.reshape(4, 4).tolist(), [group for group in ID_TRAINING[:2] for _ in range(2)])
    base = reward.scores(greedy.tolist(), ID_TRAINING[:2])
    assert np.array(found) == pytest.approx(flat.reshape(2, 2) - base[:, None], abs=1e-12)


# SCST, TRL


def test_self_critical():
    reward = CiderReward(TABLE)
    samples = [CANDIDATES[:3], [], CANDIDATES[3:4]]
    found = reward.self_critical(samples, CANDIDATES[10:13], REFERENCES[:3])
    assert [len(part) for part in found] == [3, 0, 1]
    base = expected(CANDIDATES[10:13], REFERENCES[:3])
    assert found[0] == pytest.approx(expected(CANDIDATES[:3], REFERENCES[:1] * 3) - base[0], abs=1e-12)
    assert found[2] == pytest.approx(expected(CANDIDATES[3:4], REFERENCES[2:3]) - base[2], abs=1e-12)
    with pytest.raises(ValueError, match="samples of 2 images and 3 baselines"):
        reward.self_critical(samples[:2], CANDIDATES[10:13], REFERENCES[:3])
    with pytest.raises(TypeError, match=r"samples\[0\] is str 'a dog'"):
        reward.self_critical(["a dog"], CANDIDATES[:1], REFERENCES[:1])


def test_the_call_of_trl():
    reward = CiderReward(TABLE, references="captions")
    assert reward.__name__ == "cider_d_reward"
    wanted = pytest.approx(expected(CANDIDATES[:2], REFERENCES[:2]), abs=1e-12)
    beside = {"image_id": [1, 2], "trainer_state": object(), "log_extra": print, "captions": REFERENCES[:2]}
    assert reward(prompts=["p", "p"], completions=CANDIDATES[:2], completion_ids=[[1], [2]], **beside) == wanted
    chats = [[{"role": "assistant", "content": text}] for text in CANDIDATES[:2]]
    assert reward(prompts=None, completions=chats, **beside) == wanted
    parts = [
        [{"role": "user", "content": "?"}, {"role": "assistant", "content": [{"type": "text", "text": text}]}]
        for text in CANDIDATES[:2]
    ]
    assert reward(completions=parts, **beside) == wanted


CALL = {"role": "assistant", "content": None, "tool_calls": [{}]}
TOOL = {"role": "tool", "content": "a cat sits on a mat"}
AGENTS = {
    "tool call": ([CALL], ""),
    "tool call without content": ([{"role": "assistant", "tool_calls": [{}]}], ""),
    "nothing": ([], ""),
    "tool speaks last": ([{"role": "assistant", "content": "a cat"}, TOOL], "a cat"),
    "answer after the tool": ([CALL, TOOL, {"role": "assistant", "content": "a dog"}], "a dog"),
    "call after the answer": ([{"role": "assistant", "content": "a cat"}, TOOL, CALL], ""),
    "parts": ([{"role": "assistant", "content": [{"type": "image"}, {"text": "a "}, {"text": "cat"}]}, TOOL], "a cat"),
    "no role": ([{"content": "a cat"}], "a cat"),
}


@pytest.mark.parametrize("messages, text", AGENTS.values(), ids=AGENTS)
def test_what_an_agent_says_is_the_assistants_text(messages, text):
    reward = CiderReward(TABLE)
    found = reward(completions=[messages, "a dog"], references=[["a cat sits on a mat", "a dog"], ["a dog"]])
    assert found == reward(completions=[text, "a dog"], references=[["a cat sits on a mat", "a dog"], ["a dog"]])
    assert (found[0] == 0.0) == (text == "")


@pytest.mark.parametrize("gaps", [[1], [0, 2], [0, 1, 2]], ids=str)
def test_rows_of_other_tasks_have_no_reward(gaps):
    reward, wanted = CiderReward(TABLE), expected(CANDIDATES[:3], REFERENCES[:3])
    references = [None if i in gaps else group for i, group in enumerate(REFERENCES[:3])]
    found = reward(
        completions=[CANDIDATES[0], [{"role": "assistant", "content": CANDIDATES[1]}], CANDIDATES[2]],
        references=references,
    )
    assert [value is None for value in found] == [i in gaps for i in range(3)]
    assert all(value is None or value == pytest.approx(wanted[i], abs=1e-12) for i, value in enumerate(found))


def test_rows_of_other_tasks_among_ids():
    reward = CiderReward(ID_TABLE, tokenizer="none", end_token=END)
    ids = [[5, 6, 7, END], [1], []]
    found = reward(completions=["", "", ""], completion_ids=ids, references=[ID_TRAINING[0], None, ID_TRAINING[0]])
    assert found == [reward(completion_ids=ids[:1], references=ID_TRAINING[:1])[0], None, 0.0]


def test_pickled_for_another_process(tmp_path):
    reward = CiderReward(TABLE)
    wanted = reward.scores(CANDIDATES, REFERENCES).tolist()
    kept = pickle.dumps(reward)
    assert len(kept) < 2 * len(pickle.dumps(TABLE)) + 1000
    (tmp_path / "reward.pickle").write_bytes(kept)
    code = (
        "import pickle, sys, json; reward = pickle.load(open(sys.argv[1], 'rb'));"
        "print(json.dumps(reward.scores(*json.load(sys.stdin)).tolist()))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "reward.pickle")],
        cwd=ROOT,
        text=True,
        input=json.dumps([CANDIDATES, REFERENCES]),
        capture_output=True,
        timeout=60,
    )
    assert json.loads(result.stdout) == wanted, result.stderr


# Wrong calls


@pytest.mark.parametrize(
    "options, message",
    [
        ({"n": 3}, "were made with n=4, this call has n=3"),
        ({"tokenizer": "13a"}, "tokenizer='ptb', this call has tokenizer='13a'"),
        ({"tokenizer": "none"}, "tokenizer='ptb', this call has tokenizer='none'"),
        ({"stem": True}, "stem=False, this call has stem=True"),
        ({"end_token": "<eos>"}, "end_token=None, this call has end_token='<eos>'"),
        ({"variant": "cider-d"}, "variant is 'cider-d'"),
        ({"sigma": 0}, "sigma is 0"),
        ({"cache_size": 0}, "cache_size is 0"),
    ],
)
def test_a_table_made_otherwise(options, message, load_metric):
    for make in (CiderReward, load_metric("cider").reward):
        with pytest.raises(ValueError, match=message):
            make(TABLE, **options)


def test_no_table():
    with pytest.raises(ValueError, match="document_frequencies is 'corpus', expected a table"):
        CiderReward("corpus")
    with pytest.raises(TypeError, match="document_frequencies is int"):
        CiderReward(3)


@pytest.mark.parametrize(
    "completions, references, error, message",
    [
        (["a", 5], [["a"]] * 2, TypeError, r"completions\[1\] is int 5, expected str or a list of chat messages"),
        (
            [[{"role": "assistant"}]],
            [["a"]],
            TypeError,
            r"last message in completions\[0\] is dict .* expected a content",
        ),
        (
            ["a", [{"role": "user", "content": "b"}]],
            [["a"]] * 2,
            TypeError,
            r"completions\[1\] has messages of \['user'\], expected one of 'assistant'",
        ),
        (
            [[{"role": "assistant", "content": ["a"]}]],
            [["a"]],
            TypeError,
            r"completions\[0\] is dict .* list of parts",
        ),
        (["a", ["b"]], [["a"]] * 2, TypeError, r"completions\[1\] is list \['b'\], expected str or a list of chat"),
        (["a", None], [["a"], None], TypeError, r"completions\[1\] is None"),
        (["a", "b"], [None], ValueError, "2 predictions and 1 references"),
        (None, [["a"]], TypeError, "completions is None"),
        (["a"], [["a"], ["b"]], ValueError, "1 predictions and 2 references"),
        ([], [], ValueError, "is empty, expected at least one completion"),
        (
            ["a"] * 80,
            [["a"]] * 70 + [["b", 7]] + [["a"]] * 9,
            TypeError,
            r"references\[70\]\[1\] is int 7, expected str",
        ),
        (["a"] * 80, [["a"]] * 70 + [[]] + [["a"]] * 9, ValueError, r"references\[70\] is an empty list"),
        (["a"] * 80, [["a"]] * 70 + [[["x"]]] + [["a"]] * 9, TypeError, r"references\[70\]\[0\] is list"),
        (["a"] * 3, [["a"], None, [None]], TypeError, r"references\[2\]\[0\] is None"),
        (["a"] * 3, [None, None, ["b", 7]], TypeError, r"references\[2\]\[1\] is int 7, expected str"),
        (["a"] * 2, [["a"], [{}]], TypeError, r"references\[1\]\[0\] is dict"),
        (["a"] * 2, [[[1, 2]]] * 2, TypeError, r"is list \[1, 2\], expected str with tokenizer=ptb"),
    ],
)
def test_wrong_items_are_named(completions, references, error, message):
    reward = CiderReward(TABLE)
    reward(completions=["a"], references=[["a"]])
    with pytest.raises(error, match=message):
        reward(completions=completions, references=references)


def test_texts_and_ids_for_the_other_tokenizer():
    with pytest.raises(TypeError, match=r"completions\[0\] is str 'a', expected token ids with tokenizer=none"):
        CiderReward(ID_TABLE, tokenizer="none", end_token=END).scores(["a"], [["a"]])
    with pytest.raises(TypeError, match=r"completions\[0\] is list \[1, 2\], expected str with tokenizer=ptb"):
        CiderReward(TABLE).scores([[1, 2]], [["a"]])


def test_a_missing_column():
    with pytest.raises(ValueError, match=r"no column 'references' of references, expected it among \['captions'\]"):
        CiderReward(TABLE)(completions=["a"], captions=[["a"]])

"""What is kept between calls: used where it is given, right under several threads, copies and interrupts."""

import copy
import json
import pickle
import random
import subprocess
import sys
import threading
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest

from metrics.bleu4 import scoring as bleu4
from metrics.cider import document_frequencies
from metrics.cider import scoring as cider
from metrics.cider.document_frequencies import DocumentFrequencies
from metrics.cider.reward import CiderReward
from metrics.scale.batches import BatchStatistics, join
from metrics.scale.frequencies import BatchFrequencies
from metrics.utils import ngrams, nouns, perceptron_tagger, t5
from metrics.utils.ngrams import Encoder
from metrics.utils.perceptron_tagger import PerceptronTagger
from metrics.utils.t5 import T5Encoder
from tests.sharding import captions, columns
from tests.stress import rounds

ROOT = Path(__file__).resolve().parents[2]
THREADS = 8
WORDS = "a the dog cat runs on green grass red two kids sits mat park".split()
TRAINING = [[" ".join(random.Random(10 * i + j).choices(WORDS, k=8)) for j in range(3)] for i in range(30)]
TABLE = DocumentFrequencies.from_references(TRAINING)
COPIES = {"copy": copy.copy, "deepcopy": copy.deepcopy, "pickle": lambda kept: pickle.loads(pickle.dumps(kept))}


@pytest.fixture
def switching():
    """Threads take turns as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def in_threads(function, items):
    """What a function makes of each item in a thread of its own, begun together; the first error is raised."""
    found, start = [None] * len(items), threading.Barrier(len(items))

    def work(place):
        start.wait()
        try:
            found[place] = function(items[place])
        except Exception as error:
            found[place] = error

    threads = [threading.Thread(target=work, args=(place,)) for place in range(len(items))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in found:
        if isinstance(result, Exception):
            raise result
    return found


def _scores(reward, batch, size=8):
    """Rewards of a batch, a few completions at a time."""
    parts = (slice(start, start + size) for start in range(0, len(batch[0]), size))
    return np.concatenate([reward.scores(batch[0][part], batch[1][part]) for part in parts])


def _tags(tagger, texts):
    """Tags of texts, a few at a time."""
    return list(chain(*(tagger.tag(texts[start : start + 3]) for start in range(0, len(texts), 3))))


def _compute(metric, inputs):
    return metric.compute(**inputs)


def new_captions(name, number):
    """Captions in which every one has two words that no other has."""
    rng = random.Random(name)
    texts = [[*rng.choices(WORDS, k=6), f"{name}i{i}", f"{name}j{i}"] for i in range(number)]
    return [" ".join(rng.sample(text, len(text))) for text in texts]


# An encoder that has seen nothing is one


@pytest.mark.parametrize("options", [{"metric": "bleu4"}, {"metric": "cider", "document_frequencies": TABLE}])
def test_batches_of_a_shard_share_one_encoder(options, monkeypatch):
    rows = captions(50)
    parts = [columns(rows[start : start + 10]) for start in range(0, 50, 10)]
    alone = join(map(BatchStatistics(**options), parts))
    kept = BatchStatistics(**options).with_encoder()
    made = []
    for module in (bleu4, cider):
        monkeypatch.setattr(module, "Encoder", lambda *settings: made.append(settings) or Encoder(*settings))
    for name, values in join(map(kept, parts)).items():
        np.testing.assert_allclose(values, alone[name], rtol=0, atol=1e-12)
    assert made == [] and len(kept._encoder) > 10


def test_batches_of_references_share_one_encoder(monkeypatch):
    made, kept = [], BatchFrequencies().with_encoder()
    monkeypatch.setattr(document_frequencies, "Encoder", lambda *settings: made.append(settings) or Encoder(*settings))
    tables = [kept.table({"references": TRAINING[start : start + 6]}) for start in range(0, 30, 6)]
    merged = tables[0]
    for table in tables[1:]:
        merged = merged.merge(table)
    assert made == [] and merged["dog"] == TABLE["dog"] and len(merged) == len(TABLE)


def test_an_encoder_without_a_length_is_not_asked_for_one():
    class Empty(list):
        """Is false, as what has seen nothing yet is."""

        def lengths(self, texts):
            return {text: 1 for text in texts}

        def states(self, lengths):
            return {text: np.ones((1, 2), np.float32) for text in lengths}

    from metrics.entity_score.scoring import Entities, sample_statistics

    found = sample_statistics(found=Entities([["dog"]], [[["cat"]]]), encoder=Empty())
    assert found["similarity"].tolist() == [1.0]


# Threads


@pytest.mark.stress
@pytest.mark.parametrize("kind", ["texts", "ids"])
def test_one_reward_in_many_threads(kind, switching):
    number_of = {}

    def ids(text):
        return [number_of.setdefault(word, len(number_of)) for word in text.split()]

    def as_kind(text):
        return text if kind == "texts" else ids(text)

    tokenizer, training = "ptb" if kind == "texts" else "none", [list(map(as_kind, group)) for group in TRAINING]
    table = DocumentFrequencies.from_references(training, tokenizer=tokenizer)
    for turn in range(rounds(3, 50)):
        reward, batches = CiderReward(table, tokenizer=tokenizer, cache_size=200), []
        for name in (f"t{turn}n{place}" for place in range(THREADS)):
            texts = new_captions(name, 32)
            batches.append(
                ([as_kind(text) for text in texts], [[as_kind(text), as_kind(f"the {text} too")] for text in texts])
            )
        wanted = [CiderReward(table, tokenizer=tokenizer).scores(*batch) for batch in batches]
        score = partial(_scores, reward)
        found = in_threads(score, batches)
        # Once more in this thread: what is kept is right too.
        for values in (found, list(map(score, batches))):
            np.testing.assert_allclose(values, wanted, rtol=0, atol=1e-12)


@pytest.mark.stress
def test_one_reward_whose_numbering_begins_anew_in_threads(switching, monkeypatch):
    from metrics.cider import reward as module

    monkeypatch.setattr(module, "_MOST_TOKENS", 400)
    for turn in range(rounds(1, 20)):
        reward = CiderReward(TABLE)
        batches = [
            (texts, [[text, "a dog"] for text in texts])
            for texts in (new_captions(f"r{turn}n{i}", 40) for i in range(THREADS))
        ]
        wanted = [CiderReward(TABLE).scores(*batch) for batch in batches]
        np.testing.assert_allclose(in_threads(partial(_scores, reward), batches), wanted, rtol=0, atol=1e-12)


@pytest.mark.stress
@pytest.mark.parametrize("options", [{}, {"tokenizer": str.split}, {"stem": True, "end_token": "<e>"}], ids=str)
def test_one_encoder_in_many_threads(options, switching):
    for turn in range(rounds(3, 50)):
        encoder = Encoder(**options)
        texts = [new_captions(f"e{turn}n{place}", 60) for place in range(THREADS)]
        found = in_threads(encoder.encode, texts)
        vocabulary = encoder.vocabulary
        assert len(set(vocabulary)) == len(vocabulary)
        for own, (tokens, lengths) in zip(texts, found):
            alone = Encoder(**options)
            wanted, wanted_lengths = alone.encode(own)
            assert lengths.tolist() == wanted_lengths.tolist()
            assert [vocabulary[token] for token in tokens] == [alone.vocabulary[token] for token in wanted]


@pytest.mark.stress
def test_batches_of_a_shard_in_threads(switching):
    for turn in range(rounds(2, 20)):
        batches = [columns(captions(20, seed=THREADS * turn + place)) for place in range(THREADS)]
        for statistics_of in (BatchStatistics("bleu4"), BatchStatistics("cider", document_frequencies=TABLE)):
            kept = statistics_of.with_encoder()
            found = in_threads(kept, batches)
            for statistics, batch in zip(found, batches):
                for name, values in statistics_of(batch).items():
                    np.testing.assert_allclose(statistics[name], values, rtol=0, atol=1e-12)


@pytest.mark.stress
@pytest.mark.parametrize("most_words", [50_000, 300])
def test_one_tagger_in_many_threads(most_words, nltk_data, switching, monkeypatch):
    # With a small vocabulary what has been learned is forgotten now and then, too.
    monkeypatch.setattr(perceptron_tagger, "_MOST_WORDS", most_words)
    nltk_tagger = nouns._nltk().tagger._nltk
    for turn in range(rounds(3, 50)):
        texts = [[text.split() for text in new_captions(f"w{turn}n{place}", 30)] for place in range(THREADS)]
        wanted = [[[tag for _, tag in nltk_tagger.tag(tokens)] for tokens in own] for own in texts]
        tag = partial(_tags, PerceptronTagger(nltk_tagger))
        assert in_threads(tag, texts) == wanted
        assert list(map(tag, texts)) == wanted


@pytest.mark.stress
def test_entities_first_asked_for_in_threads(nltk_data, switching):
    for turn in range(rounds(1, 10)):
        texts = [new_captions(f"f{turn}n{place}", 10) for place in range(THREADS)]
        wanted = list(map(nouns.entities, texts))
        nouns._nltk.cache_clear()
        assert in_threads(nouns.entities, texts) == wanted
        assert nouns._nltk.cache_info().misses == 1


@pytest.mark.stress
def test_one_metric_object_in_many_threads(load_metric, switching):
    metrics = [load_metric("bleu4"), load_metric("cider")]
    rows = [columns(captions(30, seed=seed)) for seed in range(THREADS)]
    inputs = [{"predictions": row["prediction"], "references": row["references"]} for row in rows]
    for metric in metrics:
        compute = partial(_compute, metric)
        wanted = list(map(compute, inputs))
        for _ in range(rounds(1, 20)):
            assert in_threads(compute, inputs) == wanted


FIRST_USE = """
import json, sys, threading
import numpy as np
sys.setswitchinterval(1e-6)
from metrics.entity_score.scoring import Entities, sample_statistics
from metrics.entity_score._shared import T5Encoder

found = Entities([["dog"], ["river"]], [[["guitar", "man"]], [["river", "park"]]])
threads, results, start = int(sys.argv[2]), [], threading.Barrier(int(sys.argv[2]))

def first_use():
    start.wait()
    encoder = T5Encoder(sys.argv[1], device="cpu")
    values = sample_statistics(found=found, encoder=encoder)["entity_score"].tolist()
    results.append((id(encoder._parts.model), [round(value, 5) for value in values]))

workers = [threading.Thread(target=first_use) for _ in range(threads)]
[worker.start() for worker in workers]
[worker.join() for worker in workers]
print(json.dumps([len(results), len(set(map(repr, results)))]))
"""


@pytest.mark.stress
def test_a_t5_model_first_used_in_threads(t5_folder):
    for turn in range(rounds(2, 12)):
        threads = 2 + 2 * (turn % 2)
        done = subprocess.run(
            [sys.executable, "-c", FIRST_USE, str(t5_folder), str(threads)],
            cwd=ROOT,
            text=True,
            capture_output=True,
            timeout=300,
        )
        assert done.stdout and json.loads(done.stdout) == [threads, 1], done.stderr[-2000:]


@pytest.mark.stress
def test_one_t5_model_in_many_threads(t5_folder, switching):
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(t5_folder)
    model = transformers.T5EncoderModel.from_pretrained(t5_folder).eval()
    t5.forget_models()
    kept = T5Encoder(str(t5_folder), device="cpu")

    def states(make, texts):
        encoder = make()
        for _ in range(20):
            assert list(encoder.lengths(["a dog " * 300]).values()) == [t5.MAX_TOKENS]
        return encoder.states(encoder.lengths(texts))

    of = partial(T5Encoder.of, tokenizer, model)
    for turn in range(rounds(1, 25)):
        texts = [new_captions(f"s{turn}n{place}", 6) for place in range(THREADS)]
        wanted = [states(of, own) for own in texts]
        # A loaded encoder, and encoders of one tokenizer, which is set to a length and back by each.
        for make in (lambda: kept, of):
            for own, values in zip(wanted, in_threads(partial(states, make), texts)):
                assert own.keys() == values.keys()
                for text in own:
                    np.testing.assert_allclose(values[text], own[text], rtol=0, atol=5e-6)


def test_a_folder_with_new_weights_is_another_model(tmp_path, t5_folder):
    from tests import tiny_models

    for seed in (1, 2):
        tiny_models.write_t5(tmp_path, t5_folder.parent / "no vocabulary here", seed=seed)
        found = T5Encoder(str(tmp_path), device="cpu").states({"dog": 2})["dog"]
        t5.forget_models()
        fresh = T5Encoder(str(tmp_path), device="cpu").states({"dog": 2})["dog"]
        np.testing.assert_array_equal(found, fresh)


# Copies


@pytest.mark.parametrize("options", [{}, {"tokenizer": "whitespace"}, {"stem": True, "end_token": "<e>"}], ids=str)
@pytest.mark.parametrize("how", COPIES)
def test_a_copy_of_an_encoder_has_its_numbers_and_goes_on_alone(how, options):
    encoder, texts = Encoder(**options), new_captions("c", 5)
    before = encoder.encode(texts)
    copied = COPIES[how](encoder)
    assert copied.vocabulary == encoder.vocabulary
    copied.encode(["running zebras"])
    np.testing.assert_array_equal(copied.encode(texts)[0], before[0])
    assert len(encoder) < len(copied)
    with pytest.raises(TypeError, match="captions are token ids, expected texts"):
        copied.encode([[1]])


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_of_a_reward_goes_on_alone(how):
    reward, texts = CiderReward(TABLE), new_captions("c", 5)
    wanted = reward.scores(texts, [[text] for text in texts])
    copied = COPIES[how](reward)
    copied.scores(["zebras run"], [["zebras"]])
    for one in (copied, reward):
        np.testing.assert_allclose(one.scores(texts, [[text] for text in texts]), wanted, rtol=0, atol=1e-12)
    assert len(reward._encoder) < len(copied._encoder)


@pytest.mark.parametrize("how", COPIES)
def test_a_copy_of_a_tagger_goes_on_alone(how, nltk_data):
    tagger = PerceptronTagger(nouns._nltk().tagger._nltk)
    texts = [text.split() for text in new_captions("c", 5)]
    wanted = tagger.tag(texts)
    copied = COPIES[how](tagger)
    copied.tag([["zebras", "run"]])
    assert copied.tag(texts) == tagger.tag(texts) == wanted
    assert "zebras" not in tagger._ids


@pytest.mark.parametrize("how", ["deepcopy", "pickle"])
def test_a_copy_of_a_t5_encoder_has_no_states(how, t5_folder):
    encoder = T5Encoder(str(t5_folder), device="cpu")
    wanted = encoder.states({"dog": 2})["dog"]
    copied = COPIES[how](encoder)
    assert copied._parts.cache.get("dog", 2) is None
    np.testing.assert_array_equal(copied.states({"dog": 2})["dog"], wanted)


# Interrupts


def _raised(error):
    if error is not None:
        raise error


def test_an_encoder_that_was_interrupted_is_right_afterwards(monkeypatch):
    class Interrupted(ngrams._Numbering):
        def __missing__(self, word):
            if word == "stop":
                raise KeyboardInterrupt
            return super().__missing__(word)

    encoder = Encoder("whitespace")
    encoder._pieces._words = words = Interrupted(encoder._words)
    encoder._words = encoder._numbers = words
    # A tokenizer that makes three words of a chunk, of which the last one interrupts it.
    encoder._pieces._split_chunk = lambda chunk: tuple(chunk.split("-"))
    with pytest.raises(KeyboardInterrupt):
        encoder.encode(["a-b c-d-stop"])
    tokens, lengths = encoder.encode(["e-f", "a-b"])
    assert list(map(encoder.vocabulary.__getitem__, tokens)) == ["e", "f", "a", "b"]
    assert lengths.tolist() == [2, 2]


def test_a_tagger_that_was_interrupted_is_right_afterwards(nltk_data, monkeypatch):
    tagger = PerceptronTagger(nouns._nltk().tagger._nltk)
    texts = [text.split() for text in new_captions("i", 5)]
    wanted, rows = tagger.tag(texts), tagger._rows
    for calls in range(1, 9):
        tagger._forget_words()
        # Every place where the words' tables grow is interrupted once.
        outcomes = chain([None] * (calls - 1), [KeyboardInterrupt], repeat(None))
        interrupted = Mock(side_effect=lambda *args, outcomes=outcomes: _raised(next(outcomes)) or rows(*args))
        monkeypatch.setattr(tagger, "_rows", interrupted)
        with pytest.raises(KeyboardInterrupt):
            tagger.tag([["zebras", "run"]])
        monkeypatch.setattr(tagger, "_rows", rows)
        assert tagger.tag(texts) == wanted

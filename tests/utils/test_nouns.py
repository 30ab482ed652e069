"""Entities: tokens, tags and stems equal to NLTK's on real captions and odd texts; and data that are not there."""

import csv
import json
import random
import time
from itertools import product

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from metrics.utils import nouns, perceptron_tagger
from metrics.utils.nouns import entities, tokenize
from metrics.utils.perceptron_tagger import PerceptronTagger
from tests import tiny_models
from tests.stress import rounds

nltk = pytest.importorskip("nltk")

ODD_TEXTS = [
    "",
    " ",
    ".",
    "a.",
    "A man. A dog.",
    "a man with a. the man",
    "a man speaks. on a stage",
    "dogs. cats. birds",
    "He can't, gonna go. I cannot see",
    "wanna go",
    "gimme that. lemme see, gotta go",
    "Gonna-be stars",
    "wanna. go",
    "Mr. Smith went to Washington D.C. on Jan. 5. He left.",
    "the u.s. flag",
    "3.14 is pi, 1,000 is not",
    "in 1999.",
    "It's 5 p.m. now. The clock's hands move",
    "5. dogs",
    "no. 5 bus",
    "a co. makes cars",
    "e.g. a dog. i.e. a cat",
    "wait... what? yes! ok.",
    'he said "stop" (twice) -- then left',
    "t-shirt and top-left corner. end",
    "double  blank",
    "tab\tand\nnewline. end\n",
    "trailing blank ",
    "comma ,space",
    "a,b",
    "end,",
    "x. , y",
    "café crème. naïve résumé",
    "日本語 の テキスト。",
    "emoji 😀 dog",
    "ALL CAPS TEXT WITH A DOG. AND A CAT.",
    "-START- dog -END-",
    "1234 12 !YEAR 2nd",
    "a-b-c -d e- --",
    "o'clock 'tis 'twas d'ye more'n",
    "a" * 300,
    "b. edelman went. o. ludcke too",
    "kan sas. kan. sas",
    "dog.cat",
    "a man.",
    "the end. B",
    "z. b. c. d",
]
PIECES = [
    "a",
    "dog",
    "Man",
    "the",
    "runs",
    "gonna",
    "cannot",
    "t-shirt",
    "1999",
    "2nd",
    "dr",
    "etc",
    "U.S",
    "b",
    "I",
    "it's",
    "'tis",
    "London",
    "co",
    "red",
    "of",
    "sits",
    "x" * 9,
    "é",
    "-",
    "--",
    '"',
    "(",
    "microphones",
]


def stems_of(tagged):
    stem = nltk.stem.PorterStemmer().stem
    return {stem(word) for word, tag in tagged if "NN" in tag}


def check(texts):
    tokens = [nltk.word_tokenize(text) for text in texts]
    assert [tokenize(text) for text in texts] == tokens
    tagged = [nltk.pos_tag(words) for words in tokens]
    assert nouns._nltk().tagger.tag(tokens) == [[tag for _, tag in words] for words in tagged]
    found = entities(texts)
    assert found == list(map(stems_of, tagged))
    return found


def test_odd_texts(nltk_data):
    check(ODD_TEXTS)
    assert entities([]) == []


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from(PIECES), st.sampled_from([" ", ". ", ", ", "! ", ".", "  "])), max_size=12
        ).map(lambda parts: "".join(map("".join, parts)).strip()),
        max_size=4,
    )
)
@example([" dog. b. edelman"])
def test_made_up_texts(nltk_data, texts):
    check(texts)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.text(max_size=5), max_size=8), max_size=4))
def test_any_tokens(nltk_data, texts):
    assert nouns._nltk().tagger.tag(texts) == [[tag for _, tag in nltk.pos_tag(tokens)] for tokens in texts]


def test_thousands_of_captions(shared, nltk_data):
    with open(shared / "data" / "audiocaps" / "captions_test.csv", encoding="utf-8", newline="") as file:
        audio = [row[-1] for row in csv.reader(file)][1:]
    coco = json.loads((shared / "data" / "coco" / "captions_val2017.json").read_text())["annotations"]
    rng = random.Random(3)
    paragraphs = [". ".join(text.lower() for text in rng.sample(audio, rng.randint(4, 7))) for _ in range(200)]
    texts = [*paragraphs, *audio[:1000], *(row["caption"] for row in coco[:1500])]
    found = check(texts)
    joined = nouns._nltk().joined_by_period
    assert sum(nouns.is_plain(text, joined) for text in texts) > 0.8 * len(texts)
    order = rng.sample(range(len(texts)), 500)
    assert entities([texts[i] for i in order]) == [found[i] for i in order]


def test_tags_cross_sentences(shared, nltk_data):
    """Tagged sentence by sentence, one paragraph in three has other nouns."""
    with open(shared / "data" / "audiocaps" / "captions_test.csv", encoding="utf-8", newline="") as file:
        audio = [row[-1].lower() for row in csv.reader(file)][1:]
    texts = [". ".join(audio[start : start + 5]) for start in range(0, 200, 5)]
    flat = check(texts)
    apart = [
        stems_of(
            tagged for sentence in nltk.sent_tokenize(text) for tagged in nltk.pos_tag(nltk.word_tokenize(sentence))
        )
        for text in texts
    ]
    assert sum(ours != other for ours, other in zip(flat, apart)) > 5


def test_a_small_vocabulary_gives_the_same(nltk_data, monkeypatch):
    monkeypatch.setattr(perceptron_tagger, "_MOST_WORDS", 12)
    monkeypatch.setattr(perceptron_tagger, "_TEXTS_AT_ONCE", 2)
    monkeypatch.setattr(perceptron_tagger, "_MOST_PLACES", 20)
    tagger = PerceptronTagger(nltk.tag.perceptron.PerceptronTagger())
    tokens = [nltk.word_tokenize(text) for text in ODD_TEXTS]
    for _ in range(2):
        assert tagger.tag(tokens) == [[tag for _, tag in nltk.pos_tag(words)] for words in tokens]


LONG = ["a", "A7", "é", "y", "ational", "a-", "-", "a.", "a,", "'", '"', "a'", "?", "cannot", "日", "a. ", "I. "]


def seconds(text):
    start = time.process_time()
    entities([text])
    return time.process_time() - start


@pytest.mark.stress
def test_long_words_take_linear_time(nltk_data):
    """Eight times the text takes about eight times the processor's time (quadratic would be 64)."""
    short = rounds(1_000, 8_000)
    entities(["a dog"])
    slow = {}
    for piece, end in product(LONG, ["", ". a dog"][: rounds(1, 2)]):
        texts = [piece * (size // len(piece)) + end for size in (short, 8 * short)]
        # What is slow three times, not once on a busy machine.
        if not any(seconds(texts[1]) < 20 * seconds(texts[0]) + 0.03 for _ in range(3)):
            slow[piece + end] = list(map(seconds, texts))
    assert slow == {}


def test_long_words_are_those_of_nltk(nltk_data):
    check([piece * 100 + end for piece in LONG for end in ("", ". a dog")])
    check(["a" * 64_000, "a dog. " * 3 + "b" * 9_999])


def test_a_long_text_beside_short_ones_is_tagged_alone(nltk_data, monkeypatch):
    shapes, grid = [], PerceptronTagger._grid
    monkeypatch.setattr(perceptron_tagger, "_MOST_PLACES", 10_000)
    monkeypatch.setattr(
        PerceptronTagger, "_grid", lambda self, texts: shapes.append((len(texts), len(texts[0]))) or grid(self, texts)
    )
    texts = [["dog"] * 5_000, *[["a", "dog"]] * 300]
    assert nouns._nltk_parts().tagger.tag(texts)[1] == ["DT", "NN"]
    assert all(rows * words <= 10_000 for rows, words in shapes) and sum(rows for rows, _ in shapes) == 301


def made_tagger(weights, tags):
    tagger = nltk.tag.perceptron.PerceptronTagger(load=False)
    tagger.model.weights, tagger.classes = weights, set(tags)
    tagger.model.classes = tagger.classes
    return tagger


@pytest.mark.parametrize(
    "weights",
    [
        # 0.1 + 0.2 > 0.3 in floats, though the sums are equal; then a true tie; then weights that are no thousandths.
        {"bias": {"NN": 0.1}, "i word dog": {"NN": 0.2}, "i suffix dog": {"VB": 0.3}},
        {"bias": {"NN": 0.3}, "i word dog": {"VB": 0.3}},
        {"bias": {"NN": 0.0004}, "i word dog": {"VB": 0.0002}},
        {},
    ],
)
def test_equal_sums_are_decided_as_nltk_does(weights):
    tagger = made_tagger(weights, ["NN", "VB", "DT"])
    assert PerceptronTagger(tagger).tag([["dog", "x"], []]) == [[tag for _, tag in tagger.tag(["dog", "x"])], []]


def test_the_float_sum_decides():
    weights = {"bias": {"NN": 0.1}, "i word dog": {"NN": 0.2}, "i suffix dog": {"VB": 0.3}}
    assert PerceptronTagger(made_tagger(weights, ["NN", "VB"])).tag([["dog"]]) == [["NN"]]


@pytest.fixture
def no_data(tmp_path, monkeypatch):
    """NLTK looks in an empty folder, which is also where it downloads to."""
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    return tmp_path


def test_missing_data_are_downloaded_once(no_data, monkeypatch, tmp_path):
    asked = []

    def download(resource, download_dir, quiet, print_error_to):
        asked.append((resource, quiet))
        if len(asked) == 1:
            tiny_models.write_nltk_data(no_data, no_data / "none")
        return True

    monkeypatch.setattr(nltk, "download", download)
    for _ in range(2):
        punkt, tagger = nouns._find_data()
        assert tagger.tag(["a", "guitar"])[1][1] == "NN"
    assert asked == [(resource, True) for resource in nouns.RESOURCES]


def test_no_network(no_data, monkeypatch):
    def download(resource, download_dir, quiet, print_error_to):
        print_error_to.write(f"[nltk_data] Error loading {resource}: no route to host\n")
        return False

    monkeypatch.setattr(nltk, "download", download)
    with pytest.raises(OSError) as caught:
        nouns._find_data()
    for part in (*nouns.RESOURCES, "no route to host", "python -m nltk.downloader", "NLTK_DATA"):
        assert part in str(caught.value)


def test_data_that_nltk_refuses(monkeypatch):
    def load():
        raise PermissionError("Security Violation: several hard links")

    monkeypatch.setattr(nouns, "_load_data", load)
    with pytest.raises(OSError, match="punkt_tab and averaged_perceptron_tagger_eng cannot be loaded .*hard links"):
        nouns._find_data()


def test_without_nltk(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "nltk.stem.porter", None)
    nouns._nltk.cache_clear()
    with pytest.raises(ImportError, match="entities need NLTK: pip install nltk"):
        entities(["a dog"])

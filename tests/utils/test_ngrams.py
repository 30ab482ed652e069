"""n-gram counts against collections.Counter, and encoding by chunks against splitting whole texts."""

from collections import Counter
from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.stem.porter import PorterStemmer

from metrics.utils import ngrams
from metrics.utils.ngrams import Encoder, caption_counts, count_ngrams
from metrics.utils.tokenizing import resolve

NAMED = ("ptb", "13a", "whitespace", "char")
captions_of_numbers = st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=1, max_size=6)


def encode(captions, *args, **options):
    encoder = Encoder(*args, **options)
    return *encoder.encode(captions), encoder.vocabulary


def oracle(captions, order):
    """(n-gram, caption) -> count, by slicing."""
    return Counter(
        (tuple(caption[i : i + order]), row)
        for row, caption in enumerate(captions)
        for i in range(len(caption) - order + 1)
    )


def names_of(orders):
    """The tokens of every n-gram, order by order, by following `parent` and `last`."""
    names = [[()]]
    for order in orders:
        names.append([names[-1][p] + (t,) for p, t in zip(order.parent.tolist(), order.last.tolist())])
    return names[1:]


def counted(orders):
    return [
        {
            (names[gram], caption): count
            for gram, caption, count in zip(order.gram.tolist(), order.caption.tolist(), order.times.tolist())
        }
        for order, names in zip(orders, names_of(orders))
    ]


def count(captions, n, vocabulary_size=None):
    tokens = np.array(list(chain.from_iterable(captions)), np.int32)
    lengths = np.array([len(caption) for caption in captions], np.int64)
    return count_ngrams(tokens, lengths, n, vocabulary_size or int(tokens.max(initial=0)) + 1)


@settings(max_examples=60, deadline=None)
@given(captions_of_numbers, st.integers(1, 6))
def test_counts_are_those_of_a_counter(captions, n):
    orders = count(captions, n)
    assert len(orders) == n
    assert counted(orders) == [oracle(captions, order) for order in range(1, n + 1)]


@settings(max_examples=60, deadline=None)
@given(captions_of_numbers)
def test_every_gram_and_every_entry_stands_once(captions):
    for names, order in zip(names_of(orders := count(captions, 4)), orders):
        assert len(set(names)) == len(names)
        pairs = list(zip(order.gram.tolist(), order.caption.tolist()))
        assert pairs == sorted(set(pairs))


@settings(max_examples=60, deadline=None)
@given(captions_of_numbers)
def test_entries_behind_num_repeated_occur_once_in_all_captions(captions):
    for order in count(captions, 4):
        for place in range(order.num_repeated, len(order.gram)):
            assert order.times[place] == 1
            assert np.count_nonzero(order.gram == order.gram[place]) == 1


@settings(max_examples=60, deadline=None)
@given(captions_of_numbers, st.data())
def test_heads_begin_another_gram_or_another_sample(captions, data):
    steps = [data.draw(st.integers(0, 1)) for _ in captions]
    sample = np.cumsum([0, *steps[1:]], dtype=np.int32)
    tokens = np.array(list(chain.from_iterable(captions)), np.int32)
    for order in count_ngrams(tokens, np.array(list(map(len, captions))), 3, 4, sample):
        pairs = list(zip(order.gram.tolist(), sample[order.caption].tolist()))[: order.num_repeated]
        expected = [place for place, pair in enumerate(pairs) if place == 0 or pair != pairs[place - 1]]
        assert order.heads.tolist() == expected


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(st.integers(0, 3), max_size=6), min_size=1, max_size=3))
def test_the_sort_without_packing_counts_the_same(captions):
    # 2^58 * (up to 18 n-grams): no room for the position beside the key in an int64.
    assert counted(count(captions, 4, vocabulary_size=1 << 58)) == counted(count(captions, 4))


@pytest.mark.parametrize("high", [5, 1 << 40, 1 << 61])
def test_sort_by_gram_is_a_stable_sort_for_keys_of_any_size(high):
    keys = np.random.default_rng(0).integers(0, 5, 1000) + high
    positions = np.arange(1000) * 3
    packs = int(keys.max()).bit_length() + int(positions[-1]).bit_length() <= 63
    assert packs == (high < 1 << 61)
    sorted_keys, sorted_positions = ngrams._sort_by_gram(keys.copy(), positions.copy())
    expected = sorted(zip(keys.tolist(), positions.tolist()))
    assert list(zip(sorted_keys.tolist(), sorted_positions.tolist())) == expected


@pytest.mark.parametrize("captions", [[[]], [[], [], []], [[7], []], [[], [7]]])
def test_empty_captions_have_no_grams(captions):
    assert counted(count(captions, 3)) == [oracle(captions, order) for order in (1, 2, 3)]


def test_a_caption_of_one_token_many_times():
    assert counted(count([[0] * 50], 6)) == [{((0,) * k, 0): 51 - k} for k in range(1, 7)]


def test_grams_do_not_cross_captions():
    assert counted(count([[0, 1], [2, 3]], 2))[1] == {((0, 1), 0): 1, ((2, 3), 1): 1}


@pytest.mark.parametrize("scale", [1, -1, 1 << 40, -(1 << 62)])
def test_token_ids_of_any_size_and_sign(scale):
    captions = [[1 * scale, 2 * scale, 1 * scale], [2 * scale], []]
    tokens, lengths, vocabulary = encode(captions)
    assert [vocabulary[t] for t in tokens] == [1 * scale, 2 * scale, 1 * scale, 2 * scale]
    assert lengths.tolist() == [3, 1, 0]


def test_token_ids_above_int64_are_kept():
    tokens, _, vocabulary = encode([[1 << 80, 5, 1 << 80]])
    assert [vocabulary[t] for t in tokens] == [1 << 80, 5, 1 << 80]


TEXTS = [
    "A man's dog (brown) isn't here.",
    "he got 1 1/2 cups",
    "1 1/2",
    "call (555) 123-4567 now",
    "the sign reads K.",
    "They met in St. Louis. The dog ran",
    "wait . . . what",
    "rock 'n' roll , y'all",
    '<img src="a b"> tag',
    "a\r\nb\u2028c\x0bd\x0ce\x85f\x1cg\x1dh",
    "a\u00a0b\u3000c\u200bd\ufeffe",
    "one-\ntwo - three-",
    "&quot;quoted&quot; &amp; &lt;b&gt; AT&T",
    "he said &quot ; so",
    "\ud800 lone \udfff surrogate",
    "\U0001f600 \U0001f600grin",
    "  spaces   all  over  ",
    "",
    " ",
    "\n",
    "cannot gonna 'tis",
    "3.5, 4,000 and 5.",
    "2-3 -4 5-",
    "一个女人在攀爬岩壁",
    "Ünïcödé İstanbul ﬁne",
    "<skipped> word",
    "end .",
    "Calif.  The",
    "X. The X.",
    "w/ 5'10\" $5 US$ 20 10% 25°C",
]


def decode(tokens, lengths, vocabulary):
    ends = np.cumsum(lengths)
    return [[vocabulary[t] for t in tokens[end - size : end]] for end, size in zip(ends, lengths)]


@pytest.mark.parametrize("name", NAMED)
def test_encoding_a_corpus_equals_splitting_each_text(name):
    assert decode(*encode(TEXTS, name)) == [list(resolve(name).split(text)) for text in TEXTS]


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("text", TEXTS)
def test_encoding_one_text_equals_splitting_it(name, text):
    assert decode(*encode([text], name)) == [list(resolve(name).split(text))]


pieces = [
    "a",
    "Dog",
    "1",
    "1/2",
    "3.5",
    "-",
    "--",
    ".",
    ",",
    "K.",
    "The",
    "'s",
    "n't",
    "(",
    ")",
    "&amp;",
    "&",
    "...",
    "'",
    '"',
    "’",
    "$5",
    "<b",
    ">",
    "http://x",
    "mr.",
    "@u",
    "#t",
    ":)",
    "é",
    "中",
    "\U0001f600",
    "555",
    "4567",
]
blanks = ["", " ", "  ", "\n", "\r\n", "\t", "\xa0", "\u2028", "\x0b", "\x85", "\x1c"]
odd_text = st.lists(st.tuples(st.sampled_from(pieces), st.sampled_from(blanks)), max_size=8).map(
    lambda pairs: "".join(piece + blank for piece, blank in pairs)
)


@pytest.mark.parametrize("name", NAMED)
@settings(max_examples=80, deadline=None)
@given(texts=st.lists(odd_text | st.text(max_size=12), min_size=1, max_size=4))
def test_encoding_equals_splitting_for_generated_texts(name, texts):
    assert decode(*encode(texts, name)) == [list(resolve(name).split(text)) for text in texts]


@pytest.mark.parametrize("name", NAMED)
def test_texts_beyond_one_block_are_encoded_alike(name, monkeypatch):
    whole = decode(*encode(TEXTS, name))
    monkeypatch.setattr(ngrams, "_BLOCK", 3)
    assert decode(*encode(TEXTS, name)) == whole


@pytest.mark.parametrize("options", [{}, {"stem": True}, {"end_token": "<eos>"}, {"stem": True, "end_token": "dog"}])
@pytest.mark.parametrize("name", NAMED)
def test_an_encoder_used_in_parts_gives_what_one_call_gives(name, options):
    encoder, found = Encoder(name, **options), []
    for start in range(0, len(TEXTS), 5):
        parts = encoder.encode(TEXTS[start : start + 5])
        found += decode(*parts, encoder.vocabulary)
    assert found == decode(*encode(TEXTS, name, **options))


@pytest.mark.parametrize(
    "captions, end_token",
    [
        (["a b", "", "c"], "<eos>"),
        (["a b", "", "c"], "a"),
        ([[1, 2], [], [3]], 0),
        ([[1, 2], [], [3]], 1),
        ([[1, 2], [], [3]], np.int64(1)),
    ],
)
def test_end_token_closes_every_caption(captions, end_token):
    plain = decode(*encode(captions, "whitespace"))
    assert decode(*encode(captions, "whitespace", end_token=end_token)) == [[*c, end_token] for c in plain]


@pytest.mark.parametrize(
    "captions, end_token, expected",
    [
        (["a b", ""], 1, "int 1, expected str, as the captions are texts"),
        (["a b", ""], b"a", "bytes b'a', expected str"),
        ([[1, 2]], "<eos>", "str '<eos>', expected int, as they are token ids"),
        ([[1, 2]], True, "bool True, expected int"),
        ([[]], "", "str '', expected int"),
    ],
)
def test_an_end_token_of_another_kind_is_refused(captions, end_token, expected):
    with pytest.raises(TypeError, match=f"end_token is {expected}"):
        encode(captions, end_token=end_token)


@pytest.mark.parametrize(
    "first, second, message",
    [
        (["a b"], [[3]], "captions are token ids, expected texts as those before"),
        ([[1, 2]], ["c"], "captions are texts, expected token ids as those before"),
    ],
)
def test_texts_and_ids_do_not_meet_in_one_encoder(first, second, message):
    encoder = Encoder()
    encoder.encode([])
    encoder.encode(first)
    with pytest.raises(TypeError, match=message):
        encoder.encode(second)
    assert encoder.encode(first)[0].tolist() == [0, 1]


def test_end_token_that_is_a_word_shares_its_number():
    tokens, _, vocabulary = encode(["stop here stop"], "whitespace", end_token="stop")
    assert tokens.tolist() == [0, 1, 0, 0]
    assert vocabulary == ["stop", "here"]


def test_stems_are_those_of_nltk():
    texts = ["Ponies running happily", "relational conditions , dying skies", "a generously knitted sweaters' s", ""]
    stem = PorterStemmer().stem
    assert decode(*encode(texts, stem=True)) == [[stem(w) for w in resolve("ptb").split(text)] for text in texts]


def test_stemming_nothing_is_nothing():
    tokens, lengths, vocabulary = encode(["", ""], stem=True)
    assert (tokens.tolist(), lengths.tolist(), vocabulary) == ([], [0, 0], [])


def test_end_token_is_not_stemmed():
    assert decode(*encode(["running"], stem=True, end_token="endings")) == [["run", "endings"]]


def test_stem_of_token_ids_is_refused():
    with pytest.raises(ValueError, match="stem=True needs texts"):
        encode([[1, 2]], stem=True)


def test_texts_with_tokenizer_none_are_refused():
    with pytest.raises(ValueError, match="takes token ids, found texts"):
        encode(["a b"], "none")


def test_a_candidate_stands_before_its_references():
    counts = caption_counts(["a", "b c"], [["d", "e f g"], ["h"]], 4, Encoder("whitespace"))
    assert counts.sample.tolist() == [0, 0, 0, 1, 1]
    assert counts.length.tolist() == [1, 1, 3, 2, 1]
    assert counts.vocabulary == list("adefgbch")
    assert len(counts.orders) == 4

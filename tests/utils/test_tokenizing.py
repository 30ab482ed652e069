"""Tokenizers by name against sacrebleu and plain Python, and what may stand in for a name."""

import functools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from metrics.utils.ngrams import Encoder
from metrics.utils.tokenizing import Tokenizer, resolve

TEXTS_13A = [
    "",
    "The dog's bone.",
    "a, b. c.d 1.5 1,000 1.a a.1 ,5 5,",
    "2-3 x-y 4-x -5 6 - 7-",
    "&quot;x&quot; &amp;lt; &lt;b&gt; AT&T",
    "line one\nline two-\nthree",
    "<skipped> gone <skipped",
    "(a) [b] {c} ~d ^e `f _g @h #i $j %k *l +m =n |o \\p /q",
    'say "hi" don\'t',
    "é ü 中文。 …",
    "tab\tand\r\nreturn\u2028sep",
    "3.14.15 ... !? :;",
    ".5 5. . ,",
]


@pytest.fixture(scope="module")
def sacrebleu_13a():
    return Tokenizer13a()


@pytest.mark.parametrize("text", TEXTS_13A)
def test_13a_is_sacrebleus(text, sacrebleu_13a):
    assert resolve("13a").split(text) == sacrebleu_13a(text).split()


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet="aB1 .,-\n&;ampltgquo<>'\"(/é ", max_size=25) | st.text(max_size=15))
def test_13a_is_sacrebleus_for_generated_texts(text):
    assert resolve("13a").split(text) == Tokenizer13a()(text).split()


def test_13a_keeps_case_and_punctuation():
    assert resolve("13a").split("A Cat, sat.") == ["A", "Cat", ",", "sat", "."]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=20))
def test_char_is_every_character_but_blanks(text):
    assert resolve("char").split(text) == [character for character in text if not character.isspace()]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=20))
def test_whitespace_is_str_split(text):
    assert resolve("whitespace").split(text) == text.split()


def test_ptb_lowers_and_drops_punctuation():
    assert resolve("ptb").split("A man, a dog.") == ["a", "man", "a", "dog"]


@pytest.mark.parametrize("name", ["ptb", "13a", "whitespace", "char", "none"])
def test_a_named_tokenizer_knows_its_name(name):
    assert resolve(name).name == name


def test_none_splits_nothing():
    assert resolve("none") == Tokenizer("none", None, None)


def by_comma(text):
    return text.split(",")


class ByComma:
    def __call__(self, text):
        return text.split(",")


@pytest.mark.parametrize(
    "tokenizer, name",
    [
        (by_comma, "callable:by_comma"),
        (str.split, "callable:str.split"),
        (ByComma(), "callable:ByComma"),
        (functools.partial(str.split, sep=","), "callable:partial"),
    ],
)
def test_a_callable_is_named_after_its_qualified_name(tokenizer, name):
    assert resolve(tokenizer).name == name


def test_a_callable_splits_the_text():
    encoder = Encoder(by_comma)
    tokens, lengths = encoder.encode(["a b,c", "c"])
    assert (tokens.tolist(), lengths.tolist(), encoder.vocabulary) == ([0, 1, 1], [2, 1], ["a b", "c"])


def test_a_callable_may_return_a_tuple():
    encoder = Encoder(lambda text: tuple(text.split()))
    assert encoder.encode(["a b"])[0].tolist() == [0, 1]
    assert encoder.vocabulary == ["a", "b"]


@pytest.mark.parametrize(
    "wrong",
    [lambda t: t, lambda t: None, lambda t: [1, 2], lambda t: iter(t.split()), lambda t: [None], lambda t: {"a": 1}],
    ids=["str", "None", "ints", "iterator", "list-of-None", "dict"],
)
def test_a_callable_that_returns_something_else_is_a_type_error(wrong):
    with pytest.raises(TypeError, match="expected a list of str"):
        Encoder(wrong).encode(["a b"])


@pytest.mark.parametrize("name", ["PTB", "", "intl", "split"])
def test_an_unknown_name_is_a_value_error_that_lists_the_names(name):
    with pytest.raises(ValueError, match=r"'ptb', '13a', 'whitespace', 'char', 'none'"):
        resolve(name)


@pytest.mark.parametrize("wrong", [None, 5, ["ptb"]])
def test_neither_name_nor_callable_is_a_type_error(wrong):
    with pytest.raises(TypeError, match="expected a name or a callable"):
        resolve(wrong)

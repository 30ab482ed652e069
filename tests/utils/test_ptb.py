"""Tests of the Penn Treebank tokenizer: behaviours, agreement with gold pairs, the chunk contract, hostile input."""

import gzip
import os
import time
from collections import Counter
from functools import lru_cache
from itertools import chain, product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.utils.ptb import PUNCTUATION, _lex_line, chunk_tokens, ptb
from tests.stress import rounds

SHARED = Path(os.environ.get("METRICS_SHARED", Path(__file__).resolve().parents[2] / "../shared"))
GOLD = SHARED / "gold" / "ptb"

# Text and tokens, joined by blanks. Every value was confirmed with the original program.
EXAMPLES = [
    # contractions and clitics
    ("She doesn't know he can't swim.", "she does n't know he ca n't swim"),
    ("It's theirs, they're sure, I'd've gone", "it 's theirs they 're sure i 'd 've gone"),
    ("a dog’s ball isn’t here", "a dog 's ball is n't here"),
    ("WE'LL shouldn't've", "we 'll should n't 've"),
    ("the girls' kite", "the girls kite"),
    # assimilations
    ("Cannot gonna gotta wanna gimme lemme", "can not gon na got ta wan na gim me lem me"),
    ("'Twas dark, 'tis late", "'t was dark 't is late"),
    ("cannots", "cannots"),
    # other apostrophes
    ("two o'clock, O'Neil's ma'am d'arc c'mon", "two o'clock o'neil 's ma'am d'arc c'mon"),
    ("fish'n'chips with 'em 'til '85 the '70s y'all", "fish 'n' chips with 'em 'til '85 the '70s y' all"),
    ("Moloka'i and Ka'u", "moloka'i and ka'u"),
    # quotes vanish, except those that are no English quotes
    ("the sign says \"GO\" and 'stop' “now” «ici»", "the sign says go and stop now ici"),
    ("„hallo", "„ hallo"),
    # brackets stay
    ("a cat (black) on a mat [sic] {x}", "a cat -lrb- black -rrb- on a mat -lsb- sic -rsb- -lcb- x -rcb-"),
    ("-LRB- a -RRB-", "-lrb- a -rrb-"),
    # periods
    ("A red bus. The road.The end", "a red bus the road.the end"),
    ("Mr. Fox lives on Elm St. near Mt. Hood", "mr. fox lives on elm st. near mt. hood"),
    ("made in the U.S.A. at 5 p.m.", "made in the u.s.a. at 5 p.m."),
    ("bus no. 7 says no. No. Never.", "bus no. 7 says no no never"),
    ("Wash. state, a car wash.", "wash. state a car wash"),
    ("vitamin A. She drinks", "vitamin a she drinks"),
    ("George W. Fox", "george w. fox"),
    ("the town centre., near non-U.S. bases", "the town centre. near non-u.s. bases"),
    ("so what... ok.... yes…", "so what ok yes"),
    # rows of marks
    ("Wow!! Really?! Yes! ok?", "wow !! really ?! yes ok"),
    ("** -- ----- __ \x23\x23 @@", "** ----- __ \x23\x23 @@"),
    # hyphens and dashes
    ("black-and-white t-shirt snake_case a--b – c—d -", "black-and-white t-shirt snake_case a b c d"),
    # numbers
    ("1,200 10:30 3.5 1.2.3 -4 +5 .5 7th 4x4 10.5-inch", "1,200 10:30 3.5 1.2.3 -4 +5 .5 7th 4x4 10.5-inch"),
    ("10:30pm 6'2\" 50% $5 US$7 £3 €2 9¢ 20°C", "10:30 pm 6 2 50 % $ 5 us$ 7 \x23 3 $ 2 9 cents 20 ° c"),
    ("1/2 cup, 2 3/4 cups, ½ and 4/15/2011", "1/2 cup 2 3/4 cups 1/2 and 4/15/2011"),
    ("a 2 1/2-inch nail", "a 2 1/2 inch nail"),
    ("call (206) 555-0199", "call -lrb-206-rrb- 555-0199"),
    # slashes and ampersands
    ("he/she and/or w/ w/o 24/7", "he/she and/or w / w/o 24/7"),
    ("salt & pepper, AT&T, R&amp;B, x &lt; y", "salt & pepper at&t r&b x < y"),
    # web
    ("see http://ab.org/x?y=1, www.ab.org or ab.com.", "see http://ab.org/x?y=1 www.ab.org or ab.com"),
    ("mail me@ab.org @user_1 \x23tag1 cat.jpg", "mail me@ab.org @user_1 \x23tag 1 cat.jpg"),
    ('<unk> <s> </s> <b>x</b> <img src="q">', '<unk> <s> </s> <b> x </b> <img src="q">'),
    ("a < b <|end|>", "a < b < | end | >"),
    ("C++ and C\x23 code, 1.png", "c++ and c\x23 code 1.png"),
    ("hi :) bye :-( hey ^_^ :D", "hi :-rrb- bye :--lrb- hey ^_^ :d"),
    # scripts
    ("Ein Café, наш дом。 猫在睡觉 हिन्दी", "ein café наш дом 。 猫在睡觉 हिन्दी"),
    ("soft\xadhyphen zero\u200bwidth x² ﬁn İ", "softhyphen zero width x ² ﬁn i̇"),
    ("a 😀 smile 👍🏽", "a smile"),
]

# Kinds of words that depend on what touches them, by the same program.
KINDS = [
    ("cannot/do what I can't; gonna's and wanna'll", "cannot/do what i ca n't gonna 's and wanna 'll"),
    (
        "plan B. Here's one. Plan C. NOW go. From K. ThE end, L. A. here",
        "plan b. here 's one plan c now go from k the end l. a. here",
    ),
    ("\\*\\* a\\*b \\** c", "\\*\\* a \\* b \\* * c"),
    ("pro-, anti-/pro- and xpro- but pro-war", "pro- anti- / pro- and xpro but pro-war"),
    ("http://localhost:8080/a, http://x and https://ab's", "http://localhost:8080/a http / / x and https://ab's"),
    (
        "see Ab.com/x1 and ab.com/x1 and “ab.net” or x&y.org and *.COM.",
        "see ab.com / x1 and ab.com/x1 and “ab.net or x&y.org and *.com",
    ),
    ("versions 3.x, 2.X. and (4.x) 3.y 1st.x 5.a.x", "versions 3.x 2.x and -lrb- 4 x -rrb- 3 y 1st.x 5.a.x"),
    ("Inc.Y Inc.Yb Dr.Y Inc.-y Inc.-yb road.-side a,-b,-c", "inc. y inc.yb dr.y inc. y inc.-yb road.-side a,-b c"),
    ("U.S.-U.K. x-U.S.Army U.S.3 1,-3.5", "u.s.-u.k. x-u.s. army u.s. 3 1,-3 .5"),
    (
        "5-o'clock x_O’Brien c’est c'estx cap’ns li'ls somethin's",
        "5-o'clock x_o’brien c’est c'est x cap’n s li'l s somethin 's",
    ),
    ("l'Keisha la’S la'Sa da’Vinci y'Day éa'Kim", "l'keisha la 's la'sa da’vinci y day éa'kim"),
    ("don`th isn'tx in`to cann't éisn't isn‘t", "do n`th is n'tx i n`to cann t éisn t is n`t"),
    ("’em ’til ’sx ’real 'real ’90s '90S '85s ‘em", "’em ’til 's x 're al real ’90s '90s 85s em"),
    ("“‘a’” ’” «“ „“ b'' ''s ''em", "``` a ''' ''' ```` „`` b s em"),
    (
        "('') (x_x) (~.~) (^_^ -_^) <_> x_^ (xx)y",
        "-lrb-''-rrb- -lrb-x_x-rrb- -lrb-~.~-rrb- -lrb- ^_^ -_^ -rrb- <_> x_^ -lrb-xx-rrb- y",
    ),
    (":[ :] :{ ;-] =( :(", ":[ :] :{ ;-] =-lrb- :-lrb-"),
    ("⁻³⁻ ²³₂₃ x⁺₂ (²³)", "⁻³ ⁻ ²³ ₂₃ x ⁺₂ -lrb- ²³ -rrb-"),
    ("1/2-h6 a-b5/c a/b-c5 5-x6/7", "1/2-h 6 a-b5 / c a/b-c 5 5-x6 / 7"),
    ("MFG. Mfg. pTe. PTE. PTE. Ltd PTY. Limited PTYS. Ltd", "mfg mfg. pte. pte pte. ltd pty. limited ptys ltd"),
    ("Invt. attys. supts. AZ. aZ. Az. Sfc. PPTE.", "invt. attys. supts. az. az az. sfc. ppte"),
    ("d's J'd L'll y's o'll o'lla j'sab", "d 's j 'd l 'll y 's o 'll o'lla j sab"),
    ("'n' 'n: ’n: \"'n\" 'n", "'n' n ’n n 'n"),
    ("me@ab.org, y x@b.c. y", "me@ab.org, y x@b.c y"),
    ("d`angelo B‘real ma`am x-d`angelo o`ll", "d`angelo b‘real ma`am x-d`angelo o`ll"),
    ("wanna'sé O'1st d'10 O'o", "wanna 's é o'1st d'10 o'o"),
    ("report feb.K. A 1st in the U.S. A", "report feb. k a 1st in the u.s. a"),
    ("&quot; &QUOT; &Apos; &CDQ; &NBSP;", "&quot; &apos; &cdq;"),
]

# Made-up captions with the tokens of the original program: a header, then caption and tokens by line (a third column
# keeps what an earlier state of this tokenizer gave).
CASES = [
    tuple(line.split("\t")[:2])
    for line in (Path(__file__).parent / "ptb.tsv").read_text(encoding="utf-8").splitlines()[1:]
]


@pytest.mark.parametrize(("text", "expected"), EXAMPLES + KINDS + CASES)
def test_behaviour(text, expected):
    assert ptb(text) == expected.split()


@pytest.fixture(scope="module")
def gold():
    """Gives the gold lines by source: pairs of a caption and its tokens."""
    if not GOLD.is_dir():
        pytest.skip(f"no gold pairs at {GOLD}")
    columns = []
    for name in ("sources", "captions", "tokens"):
        with gzip.open(GOLD / f"{name}.txt.gz", "rt", encoding="utf-8", newline="\n") as file:
            columns.append(file.read().removesuffix("\n").split("\n"))
    pairs = {}
    for source, caption, tokens in zip(*columns, strict=True):
        pairs.setdefault(source, []).append((caption, tokens.split()))
    return pairs


def test_gold(gold):
    wrong = {source: [text for text, tokens in pairs if ptb(text) != tokens] for source, pairs in gold.items()}
    assert {source: texts[:3] for source, texts in wrong.items() if texts} == {}


def test_chunks_make_up_gold_lines(gold):
    alone, cached = Counter(), lru_cache(maxsize=None)(chunk_tokens)
    for source, pairs in gold.items():
        for text, _ in pairs[::2]:
            chunks = text.split()
            found = [cached(chunk) for chunk in chunks]
            if None not in found:
                assert list(chain.from_iterable(found)) == _lex_line(" ".join(chunks))
                alone[source] += 1
    assert alone["coco_val2017"] > 0.99 * len(gold["coco_val2017"][::2])


# Pieces that meet in awkward ways.
PIECES = st.sampled_from(
    "a A I The no. No. K. U.S. st. wash. cannot don't 'n 'tis '05 ' \" ( ) (555) (555)123 123-4567 1 12 1/2 1/2-in ½ "
    "3/4/5 -5 . .. .5 , < <a <img > /> <b> </b <! & &amp; &lt; @ @a \x23a :) :( :- ; = - -- --- ! ?! a.b a.b. "
    "http://a.b x@y.z PTY. Ltd inc. pro- \u2018 \u201d '' x_ ~ (~ 3.x .com * \u2074 la'K n`t "
    "\u2019s \xad \u200b 😀 \ud800 é 中 \u0301 \x00 $ US$ / a/b \\ * _ ^_^ :D c++ t. x1.".split(" ")
)


@given(st.lists(st.tuples(PIECES, st.sampled_from(["", "", " ", "  ", "\u2028"])), max_size=8))
def test_chunks_make_up_awkward_lines(pieces):
    check_contract("".join(chain.from_iterable(pieces)))


@given(st.text())
def test_chunks_make_up_any_text(text):
    check_contract(text)


def check_contract(text):
    chunks = text.split()
    whole = _lex_line(" ".join(chunks))
    found = [chunk_tokens(chunk) for chunk in chunks]
    if None not in found:
        assert list(chain.from_iterable(found)) == whole
    assert ptb(text) == whole
    assert not PUNCTUATION.intersection(whole)
    assert [token.split() for token in whole] == [[token] for token in whole]


@pytest.mark.parametrize("chunk", "K. feb.K. a.b.-café-N.Y. no. PTY. <img <!a< (555) 1/2-inch".split())
def test_chunks_that_need_neighbours(chunk):
    assert chunk_tokens(chunk) is None


@pytest.mark.parametrize("blank", ["\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x85", "\u2028", "\u2029", "\xa0", "\t"])
def test_line_breaks_are_blanks(blank):
    assert ptb(f"A cat.{blank}It sits{blank}") == ["a", "cat", "it", "sits"]


@pytest.mark.parametrize("text", ["", " ", "\n", ".", "\ud800", "\x00\x07", "😀"])
def test_texts_without_tokens(text):
    assert ptb(text) == []


@pytest.mark.parametrize("text", ["a \ud83d b", "a \x07 b", "a 😀 b", "a\u200bb", "a \U0001d400 b"])
def test_unlisted_characters_separate(text):
    assert ptb(text) == ["a", "b"]


@pytest.mark.parametrize("other", [None, 5, b"a", ["a"]])
def test_other_types(other):
    with pytest.raises(TypeError, match=type(other).__name__):
        ptb(other)


# Pieces that are slow when they are repeated, or were: the starts of alternatives that go on, and of repeats.
HOSTILE = """
    a 5 . , - ' " ( ) < > & @ / \\ * # : ; ! ? _ ~ ^ = + $ | \xe9 \U0001f600 \u201c \u2019 ` \xb2 \u207b \u2026 A.1.
    A.1 1.a. a.1, 1,a, a. a.a. A. a.a a,a 1, 1. 1.1 1,1 1:1 a- a-a a-1. -a .a. ,. .- a.- a,- 1/ 1/2 1/2- a/ a/b- a_
    -_ http:// http://a https://a. http://| www. www.a. www.a.b/ a@ a@. a@b. @a @. .com a.com a.com/ a.com| &a &a.
    *a. \u201ca. \u201c.com <a <! </a <a< <a=" <a='b <a="b" &am &# &#1 a&a A& A&A A+ a' a'a n't an't n't' 'n 'em '9
    ''' \u2019\u2019 \u2019s 's d' d'a o'b- y' la'K cannot cannot/ cannot' x.-y inc. inc.- inc.y no. no.5 (5 (55)
    (555)1 (~ (~_ ~_ :- :( :-( ?! .. .... -- ----- __ \\* pro- pro-/ B.The 3.x 3. x_ a\xad \xad 1\xad \u0130 \u4e2d
    \u0301 a.b!c? a!a U.S.- u.s a.a.a.
""".split()

# What stands behind the repeated piece may make a long attempt fail at its end.
ENDS = ["", ">", "@", ".com", ")", "-U.S.", "'", "/x", '"']


@pytest.mark.stress
def test_linear_time():
    """Eight times the text takes about eight times the processor's time (quadratic would be 64)."""
    slow, short = {}, rounds(2_000, 10_000)
    for end, piece in product(ENDS[: rounds(2, len(ENDS))], HOSTILE):
        texts = [piece * (size // len(piece)) + end for size in (short, 8 * short)]
        if not takes_linear_time(*texts):
            slow[piece, end] = [least_seconds(text) for text in texts]
    assert slow == {}


def takes_linear_time(short, long):
    # what is slow three times, not once on a busy machine
    return any(least_seconds(long, 1) < 20 * least_seconds(short, 1) + 0.03 for _ in range(3))


def least_seconds(text, times=3):
    found = []
    for _ in range(times):
        start = time.process_time()
        ptb(text)
        found.append(time.process_time() - start)
    return min(found)

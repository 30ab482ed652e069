"""The answer normalisers of the official VQA evaluation and of EvalAI's TextVQA server, with all their quirks.

Both lose marks, periods, articles, and write numbers as digits and contractions with apostrophes. They are kept as
they are, mistakes included, because published numbers were made with them; the card lists what surprises people.
The official code is Python 2, whose digits are 0 to 9; EvalAI's is Python 3, whose digits are those of all scripts.

The tables are protocol data of GT-Vision-Lab/VQA (PythonEvaluationTools/vqaEvaluation/vqaEval.py), which comes with
this notice: Copyright (c) 2014, Aishwarya Agrawal. All rights reserved. Redistribution and use in source and binary
forms, with or without modification, are permitted provided that the following conditions are met: 1. Redistributions
of source code must retain the above copyright notice, this list of conditions and the following disclaimer.
2. Redistributions in binary form must reproduce the above copyright notice, this list of conditions and the following
disclaimer in the documentation and/or other materials provided with the distribution. THIS SOFTWARE IS PROVIDED BY THE
COPYRIGHT HOLDERS AND CONTRIBUTORS "AS IS" AND ANY EXPRESS OR IMPLIED WARRANTIES, INCLUDING, BUT NOT LIMITED TO, THE
IMPLIED WARRANTIES OF MERCHANTABILITY AND FITNESS FOR A PARTICULAR PURPOSE ARE DISCLAIMED. IN NO EVENT SHALL THE
COPYRIGHT OWNER OR CONTRIBUTORS BE LIABLE FOR ANY DIRECT, INDIRECT, INCIDENTAL, SPECIAL, EXEMPLARY, OR CONSEQUENTIAL
DAMAGES (INCLUDING, BUT NOT LIMITED TO, PROCUREMENT OF SUBSTITUTE GOODS OR SERVICES; LOSS OF USE, DATA, OR PROFITS; OR
BUSINESS INTERRUPTION) HOWEVER CAUSED AND ON ANY THEORY OF LIABILITY, WHETHER IN CONTRACT, STRICT LIABILITY, OR TORT
(INCLUDING NEGLIGENCE OR OTHERWISE) ARISING IN ANY WAY OUT OF THE USE OF THIS SOFTWARE, EVEN IF ADVISED OF THE
POSSIBILITY OF SUCH DAMAGE. The code is our own.
"""

import re
from collections.abc import Callable
from functools import lru_cache

# Marks that are deleted or become blanks. All others stay, also ' : $ % & * and what is not ASCII.
MARKS = ';/[]"{}()=+\\_-><@`,?!'
ARTICLES = frozenset(("a", "an", "the"))
NUMBER_WORDS = {
    **{"none": "0", "zero": "0", "one": "1", "two": "2", "three": "3", "four": "4", "five": "5", "six": "6"},
    **{"seven": "7", "eight": "8", "nine": "9", "ten": "10"},
}

# word=contraction. Words with a capital never meet a lower-cased text; somebody'd loses its apostrophe.
_CONTRACTIONS = """
aint=ain't arent=aren't cant=can't couldve=could've couldnt=couldn't couldn'tve=couldn't've couldnt've=couldn't've
didnt=didn't doesnt=doesn't dont=don't hadnt=hadn't hadnt've=hadn't've hadn'tve=hadn't've hasnt=hasn't havent=haven't
hed=he'd hed've=he'd've he'dve=he'd've hes=he's howd=how'd howll=how'll hows=how's Id've=I'd've I'dve=I'd've Im=I'm
Ive=I've isnt=isn't itd=it'd itd've=it'd've it'dve=it'd've itll=it'll let's=let's maam=ma'am mightnt=mightn't
mightnt've=mightn't've mightn'tve=mightn't've mightve=might've mustnt=mustn't mustve=must've neednt=needn't
notve=not've oclock=o'clock oughtnt=oughtn't ow's'at='ow's'at 'ows'at='ow's'at 'ow'sat='ow's'at shant=shan't
shed've=she'd've she'dve=she'd've she's=she's shouldve=should've shouldnt=shouldn't shouldnt've=shouldn't've
shouldn'tve=shouldn't've somebody'd=somebodyd somebodyd've=somebody'd've somebody'dve=somebody'd've
somebodyll=somebody'll somebodys=somebody's someoned=someone'd someoned've=someone'd've someone'dve=someone'd've
someonell=someone'll someones=someone's somethingd=something'd somethingd've=something'd've
something'dve=something'd've somethingll=something'll thats=that's thered=there'd thered've=there'd've
there'dve=there'd've therere=there're theres=there's theyd=they'd theyd've=they'd've they'dve=they'd've theyll=they'll
theyre=they're theyve=they've twas='twas wasnt=wasn't wed've=we'd've we'dve=we'd've weve=we've werent=weren't
whatll=what'll whatre=what're whats=what's whatve=what've whens=when's whered=where'd wheres=where's whereve=where've
whod=who'd whod've=who'd've who'dve=who'd've wholl=who'll whos=who's whove=who've whyll=why'll whyre=why're whys=why's
wont=won't wouldve=would've wouldnt=wouldn't wouldnt've=wouldn't've wouldn'tve=wouldn't've yall=y'all yall'll=y'all'll
y'allll=y'all'll yall'd've=y'all'd've y'alld've=y'all'd've y'all'dve=y'all'd've youd=you'd youd've=you'd've
you'dve=you'd've youll=you'll youre=you're youve=you've
"""
CONTRACTIONS = dict(pair.split("=") for pair in _CONTRACTIONS.split())

_WORDS = {**CONTRACTIONS, **NUMBER_WORDS, **dict.fromkeys(ARTICLES, "")}
_ANY_MARK = re.compile(f"[{re.escape(MARKS)}]")
_DIGIT_COMMA = re.compile(r"[0-9],[0-9]")
# The official look-behind is mistyped, so that only what follows a period counts.
_PERIOD = re.compile(r"\.(?![0-9])")
_PERIOD_OF_PYTHON_3 = re.compile(r"\.(?!\d)")
# re.UNICODE stands where re.sub takes the number of replacements: only so many periods go.
_MOST_PERIODS = 32
# To Python 2 the Mongolian vowel separator is a blank, and letters become small one by one, wherever they stand.
_VOWEL_SEPARATOR = "\u180e"
_AS_PYTHON_2 = str.maketrans({"\u0130": "i", "\u03a3": "\u03c3", _VOWEL_SEPARATOR: " "})


def clean(text: str) -> str:
    """Line feeds and tabs become blanks; blanks at the ends go.

    >>> clean(" two\\tdogs\\n")
    'two dogs'
    """
    text = text.replace("\n", " ").replace("\t", " ").strip()
    # Blanks of both kinds may take turns.
    while _VOWEL_SEPARATOR in text[:1] + text[-1:]:
        text = text.strip(_VOWEL_SEPARATOR).strip()
    return text


def process_punctuation(text: str) -> str:
    """Deletes marks or makes them blanks, and deletes periods that no digit follows.

    A mark is deleted everywhere when it stands next to a blank anywhere, or when a comma stands between two digits
    anywhere; otherwise it becomes a blank.

    >>> process_punctuation("red,white"), process_punctuation("red, white"), process_punctuation("10,000-20,000")
    ('red white', 'red white', '1000020000')
    """
    without = _without_marks(text)
    return _PERIOD.sub("", without, count=_MOST_PERIODS) if "." in without else without


def _without_marks(text: str) -> str:
    without = text
    if _ANY_MARK.search(text):
        everywhere = _DIGIT_COMMA.search(text) is not None
        for mark in filter(text.__contains__, MARKS):
            next_to_blank = f"{mark} " in text or f" {mark}" in text
            without = without.replace(mark, "" if everywhere or next_to_blank else " ")
    return without


def process_words(text: str) -> str:
    """Lower case, number words as digits, no articles, contractions with their apostrophes.

    >>> process_words("The two dogs dont")
    "2 dogs don't"
    """
    if not text.isascii():
        text = text.translate(_AS_PYTHON_2)
    return _known_words(text.lower().split())


def _known_words(words: list[str]) -> str:
    return " ".join(filter(None, map(_WORDS.get, words, words)))


def official(text: str) -> str:
    """The official normaliser: `clean`, `process_punctuation`, `process_words`.

    >>> official("A t-shirt."), official("none"), official("1.5.")
    ('t shirt', '0', '1.5')
    """
    return process_words(process_punctuation(clean(text)))


def punctuation_only(text: str) -> str:
    """What the evaluation did to answers until 2021-03-11.

    >>> punctuation_only("the Cat.")
    'the Cat'
    """
    return process_punctuation(text)


def evalai(text: str) -> str:
    """EvalAI's normaliser for TextVQA: commas and question marks go first, 's becomes a word, then the official one.

    >>> evalai("McDonald's, 1,000?")
    "mcdonald 's 1000"
    """
    text = text.lower().replace(",", "").replace("?", "").replace("'s", " 's")
    text = _without_marks(text.replace("\n", " ").replace("\t", " ").strip())
    return _known_words(_PERIOD_OF_PYTHON_3.sub("", text, count=_MOST_PERIODS).split())


def stemmed_words(text: str) -> str:
    """Every word between blanks as its Porter stem; case, marks and blanks stay.

    >>> stemmed_words("riding horses")
    'ride hors'
    """
    return " ".join(map(_porter(), text.split(" ")))


@lru_cache(maxsize=1)
def _porter() -> Callable[[str], str]:
    from nltk.stem.porter import PorterStemmer  # Stems alone need it.

    stem = PorterStemmer().stem
    # Answers share few words.
    return lru_cache(maxsize=100_000)(lambda word: stem(word, to_lowercase=False))

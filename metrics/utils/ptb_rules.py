"""The two expressions by which the tokenizer of captions (`ptb.py`) cuts a line, made from the tables.

`master` matches one token after another; its alternatives stand in such an order that the first that matches is the
longest reading. `needs_neighbours` finds what makes a chunk between blanks depend on the text around it.

Text is matched in outline: see `outline`. Repeats have bounds wherever a failed attempt could be repeated from the
next token, which would take quadratic time on hostile text.
"""

import re
from collections.abc import Iterable
from functools import cache

from .ptb_tables import (
    ABBREVIATIONS,
    ANY_APOSTROPHE_INSIDE,
    APOSTROPHE_FIRST,
    APOSTROPHE_INSIDE,
    APOSTROPHE_LAST,
    ASSIMILATIONS,
    CAPITALIZED_ABBREVIATIONS,
    COMPANY_ABBREVIATIONS,
    COMPANY_WORDS,
    FILE_EXTENSIONS,
    FINAL_ABBREVIATIONS,
    MIXED_CASE_ABBREVIATIONS,
    MIXED_CASE_FINAL_ABBREVIATIONS,
    NUMBER_ABBREVIATIONS,
    PREFIXES,
    QUOTES,
    SENTENCE_STARTERS,
    SYMBOLS,
    WORD_MARKS,
)

# --- Outlines and parts of expressions --------------------------------------------------------------------------


def _class_of_table(table: str) -> str:
    """Gives the inside of a character class for a table of hexadecimal code points and ranges."""
    entries = ([re.escape(chr(int(bound, 16))) for bound in entry.split("-")] for entry in table.split())
    return "".join("-".join(bounds) for bounds in entries)


class _Outlines(dict):
    """Translation table under which all letters beyond ASCII, and the marks in words, look alike.

    No rule tells them apart, and a class of three ranges compiles and matches much faster than one of hundreds.
    Letters beyond the Basic Multilingual Plane stay as they are: unlisted characters, like emoji.
    """

    def __missing__(self, code: int) -> int:
        is_letter = 0x7F < code < 0x10000 and chr(code).isalpha() or code in _mark_codes()
        self[code] = ord(_ANY_LETTER) if is_letter else code
        return self[code]


@cache
def _mark_codes() -> frozenset[int]:
    bounds = ([int(bound, 16) for bound in entry.split("-")] for entry in WORD_MARKS.split())
    return frozenset(code for entry in bounds for code in range(entry[0], entry[-1] + 1))


def outline(text: str) -> str:
    """Gives the text that the expressions match, character by character in place of `text`."""
    return text if text.isascii() else text.translate(_OUTLINES)


def _either(*patterns: str) -> str:
    """Gives a group that matches one of the patterns, the first that fits."""
    return "(?:" + "|".join(patterns) + ")"


def _words(words: Iterable[str]) -> str:
    """Gives a group that matches one of the words in any case, the longest that fits.

    One alternative per initial: the engine skips alternatives by their first character, but not within `(?i:...)`.
    Where they are many, a look at the first character spares all of them.
    """
    tails: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        tails.setdefault(word[0], []).append(re.escape(word[1:]))
    initials = "".join(first + first.upper() for first in tails)
    by_initial = (f"[{first}{first.upper()}](?i:{'|'.join(rest)})" for first, rest in tails.items())
    return (f"(?=[{initials}])" if len(tails) > 4 else "") + _either(*by_initial)


_ANY_LETTER = "\u00e9"
_OUTLINES = _Outlines()
_LETTER = f"A-Za-z{_ANY_LETTER}"
# A soft hyphen may stand between characters of a word, and disappears.
_CHAR = rf"{_LETTER}\d\xad"
_ASCII = "[A-Za-z0-9]"
_END = f"(?![{_CHAR}])"
_HASH = r"\x23"

# --- Apostrophes ------------------------------------------------------------------------------------------------

_CURLY = "(?:[\u2019\x92]|&apos;)"
APOSTROPHE = "(?:['\u2019\x92]|&apos;)"
# Inside words, opening quotes and backticks serve too.
_INNER = "(?:['\u2019\x92`\u2018\u201b\x91]|&apos;)"
_CLITICS = "(?i:s|d|m|ll|re|ve)"
# A word ends in front of what looks like a clitic, even if a quote turns out to start there.
_AT_CLITIC = f"{APOSTROPHE}{_CLITICS}"
# A straight apostrophe in front of a longer word is a quote, a curly one is not.
_CLITIC = _either(f"'{_CLITICS}(?![A-Za-z])", f"{_CURLY}{_CLITICS}")

# Contractions: the word in front of n't, and n't itself. With more letters (don'ts) it is not spelled anew.
_NOT = f"[nN]{_INNER}[tT]"
_NEGATED = f"[A-Za-z]{{0,40}}[A-MO-Za-mo-z](?={_NOT})"
_NEGATION = f"{_NOT}(?![{_LETTER}])"
_LONGER_NEGATION = f"{_NOT}[{_LETTER}]+"

# d'angelo, l'oreal; not d'll, which ends in a clitic.
_ELIDED = rf"[dloDLO](?!{APOSTROPHE}(?i:ll|re|ve){_END}){_INNER}[{_LETTER}\d][{_CHAR}]+"
_APOSTROPHE_WORD = _either(
    # o'brien-smith; n'est; names with a capital (m'vila)
    f"{_ELIDED}(?:[-_][{_CHAR}]+)*",
    f"[nA-HJ-XZ](?!{APOSTROPHE}(?i:ll|re|ve)(?![{_LETTER}])){_INNER}[{_LETTER}]{{2,}}",
    f"[oO]{_INNER}[oO]",
    # between vowels (hawai'i, qu'il), between a vowel and a capital (la'keisha, if written with a capital)
    f"[{_LETTER}]{{1,40}}[aeiouyAEIOUY](?!{_AT_CLITIC}(?![{_LETTER}])){_INNER}[aeiouA-Z][{_LETTER}]*",
    _words(APOSTROPHE_INSIDE),
    _words(ANY_APOSTROPHE_INSIDE).replace("'", APOSTROPHE),
    # elided articles (d' j' l') and y'all
    f"[dDjJlL](?!{_AT_CLITIC}){APOSTROPHE}",
    f"[yY](?!{_AT_CLITIC}){APOSTROPHE}(?=[{_LETTER}])",
)
_APOSTROPHE_END = f"{_words(APOSTROPHE_LAST)}(?!{_AT_CLITIC}){APOSTROPHE}"
_APOSTROPHE_START = _either(
    f"{APOSTROPHE}[nN]{APOSTROPHE}",
    # a straight apostrophe in front of n and something else is a quote, which is longer
    r"'[nN](?=\s)",
    f"{_CURLY}[nN]",
    f"{APOSTROPHE}{_words(APOSTROPHE_FIRST)}",
    # years: the '90s; '05 only at the end of a chunk
    rf"{APOSTROPHE}\d(?:0[sS]|\d(?=\s))",
    # 't is, 't was
    "'[tT](?=(?i:is|was))",
)
_QUOTE_PAIR = f"[{''.join(QUOTES)}]{{2}}"

# --- Words ------------------------------------------------------------------------------------------------------

# Words: letters and digits of any script, joined by single hyphens or underscores (t-shirt, snake_case, 5-o'clock).
_WORD = rf"[{_LETTER}\d][{_CHAR}]*(?:[-_\u058a\u2010\u2011](?:{_ELIDED}|[{_CHAR}]+))*"
# Any word keeps a period in front of a mark that does not begin a sentence (the city centre., near).
_KEPT_PERIOD = r"(?:\.(?=[,;:]))?"
# Periods, `!` and `?` without a blank glue words (end.start, what?yes); the first character must be a letter.
_CHAIN = rf"[{_LETTER}][{_CHAR}]*(?:[.!?][{_LETTER}][{_CHAR}]*)+"
_ACRONYM = r"[A-Za-z](?:\.[A-Za-z])+\."
# A hyphen joins what periods and commas stand in (10.5-inch, calif.-based, 1,-3), and acronyms (u.s.-based, non-u.s.).
_HYPHEN_PART = f"-(?:{_ACRONYM}|{_ASCII}+)"
# The literal hyphen after the repeat lets the engine skip to where one is.
_HYPHENATED = f"{_ASCII}[A-Za-z0-9.,]{{1,127}}{_HYPHEN_PART}(?:{_HYPHEN_PART})*"
_HYPHENATED_ACRONYM = f"{_ASCII}+(?:-{_ASCII}+)*-{_ACRONYM}(?:{_HYPHEN_PART})*"
# At most two slashes (he/she/they); hyphenated parts are letters after the hyphen.
_SLASH_PART = f"{_ASCII}+(?:-[A-Za-z]+)*"
_SLASHED = rf"{_SLASH_PART}(?:\\?/{_SLASH_PART}){{1,2}}"
_AMPERSAND = r"(?i:s&p-500)|[A-Z]+(?:(?:&(?:amp;)?|\+)[A-Z]+)+"
_ACCENT_ENTITY = f"[{_CHAR}]*(?:&[aeiouAEIOU](?:acute|grave|uml);[{_CHAR}]*)+"
_PREFIX = f"{_words(PREFIXES)}-(?![{_CHAR}])"

# One letter, or a hyphen and one character, after a final abbreviation: it is as long as a chain of both would be.
_AFTER_FINAL = _either(
    rf"[{_LETTER}](?![{_CHAR}]|[.!?][{_LETTER}]|-{_ASCII}|{_AT_CLITIC})",
    rf"-{_ASCII}(?!{_ASCII}|-{_ASCII}|(?:\.[A-Za-z])+\.)",
)
_CAPITALIZED = [f"{word[0]}(?i:{word[1:]})" for word in CAPITALIZED_ABBREVIATIONS]
_FINAL = _either(_words(FINAL_ABBREVIATIONS), *_CAPITALIZED, MIXED_CASE_FINAL_ABBREVIATIONS)
_FINAL_ABBREVIATION = rf"{_FINAL}\.(?={_AFTER_FINAL})"
_ABBREVIATION = _either(
    rf"{_either(_words(ABBREVIATIONS), _FINAL, MIXED_CASE_ABBREVIATIONS)}\.(?![{_LETTER}])",
    rf"{COMPANY_ABBREVIATIONS}\.(?= {COMPANY_WORDS})",
    rf"{_words(NUMBER_ABBREVIATIONS)}\.(?= ?\d)",
)
_STARTERS = "|".join(f"{word[0]}(?i:{word[1:]})" for word in SENTENCE_STARTERS)
_INITIAL = _either(rf"[A-Za-z](?=\. (?:{_STARTERS})\s)", rf"[A-Za-z]\.(?![{_LETTER}])")

_WHOLE_ASSIMILATION = _words(pair.replace(" ", "") for pair in ASSIMILATIONS)
# A longer word, or one in front of a clitic, is not cut.
_AFTER_ASSIMILATION = rf"{_END}(?![-_][{_CHAR}]|\.[,;:]|\\?/{_ASCII}|{_AT_CLITIC})"
_ASSIMILATION = _either(
    *(
        rf"{_words([first])}(?={_words([second])}{_AFTER_ASSIMILATION})|(?<=(?i:{first})){_words([second])}{_END}"
        for first, second in map(str.split, ASSIMILATIONS)
    )
)

# --- Numbers: a sign only counts where no word goes on, which the order of the master expression sees to ---------

_DECIMAL = r"\d*(?:[.:,\xad\u066b\u066c]\d+)+"
_SIGNED = rf"[-+](?:{_DECIMAL}|\d+)"
_DATE = r"\d{1,2}(?:/\d{1,2}-|-\d{1,2}/)\d{2,4}"
_FRACTION = r"\d{1,4}\\?[/\u2044]\d{1,4}"
_MIXED_FRACTION = rf"\d{{1,4}}[- ]{_FRACTION}"
_PHONE = r"\(\d{2,3}\) ?\d{3,4}[- ]?\d{4,5}"
_RAISED = r"[\u207a\u207b\u208a\u208b]?(?:[\u2070\xb9\xb2\xb3\u2074-\u2079]+|[\u2080-\u2089]+)"

# --- Web. `_URL_CHAR` is what may stand in an address, `_URL_LAST` what may end one ------------------------------

# (a line has no other blanks than these two; classes of categories like \s match several times as slowly)
_NOT_URL = r' \n"<>|(){}'
_URL_CHAR = f"[^{_NOT_URL}]"
_URL_LAST = rf"[^{_NOT_URL}.!?,\-]"
_FULL_URL = f"(?i:https?)://{_URL_CHAR}+{_URL_LAST}"
_WWW_HOST = rf"(?i:www)\.(?:[^{_NOT_URL}.,/:;!?'&$]{{1,63}}\.){{1,8}}[A-Za-z]{{2,4}}{_END}"
_PATH = rf'/[^ \n"<>|()]+{_URL_LAST}'
# Names of hosts hold no digit, capital or mark of ASCII, but everything else: quotes, bullets and stars too.
_NOT_HOST = r" \n0-9!\"$'(),./:;<=>?@\[\\\]^_`{|}A-Z\-"
_HOST = rf"(?:[^{_NOT_HOST}]{{1,63}}\.){{1,8}}(?i:com|net|org|edu)"
_HOST_WITH_SIGN = rf"(?=[a-z{_ANY_LETTER}.]{{1,63}}[^{_NOT_HOST}a-z{_ANY_LETTER}]){_HOST}"
_EMAIL = rf"<?{_ASCII}{_URL_CHAR}{{0,63}}@(?:[^{_NOT_URL}.]+\.)*[^{_NOT_URL}.]+>?"
_FILE_NAME = rf"[{_LETTER}\d]+(?:\.[{_LETTER}\d]+){{0,8}}\.{_words(FILE_EXTENSIONS)}"
_FILE = _either(rf"(?=\d){_FILE_NAME}(?=[\s.,!?])", rf"(?!\d){_FILE_NAME}(?=[\s.,!?])(?![.!?][{_LETTER}])")
_TAG_NAME = "[A-Za-z][A-Za-z0-9.:_-]*"
_TAG_VALUE = "\"[^\"]{0,255}\"|'[^']{0,255}'"
_TAG = _either(
    f"</{_TAG_NAME} ?>",
    "<[!?][^>]{1,255}>",
    f"<{_TAG_NAME}(?: {_TAG_NAME}(?: ?= ?(?:{_TAG_VALUE}))?)* ?/?>",
)

# --- Signs ------------------------------------------------------------------------------------------------------

_SMILEY = rf"[<>]?[:;=][-o*']?[()DPdpO\\{{@|\[\]](?!{_ASCII})"
_EYE_SIGNS = "-~'^=<>"
_EYE = f"[{_EYE_SIGNS}x]"
_FACE = rf"\({_EYE}[._-]?{_EYE}\)|{_EYE}_{_EYE}"
_RUN = rf"[!?]{{2,}}|\*+|(?:\\\*)+|{_HASH}{{2,}}|@{{2,}}|__+|-{{5,}}|<<|>>"
_DROPPED = r"''|\.{3,5}|-{2,4}(?!-)|&(?:quot|apos|(?i:nbsp|mdash|ndash|md));"
_KEPT_ENTITY = rf"&(?:{_HASH}\d+|[A-Z]{{2}}|(?i:[oc]dq|amp|lt|gt|quot|apos));"

# --- The master expression --------------------------------------------------------------------------------------

# What starts with a letter or digit. Named groups need a change of spelling. The order is the rule: of two readings
# the longer stands first. Looking ahead, a cheap test spares most words whole families of alternatives.
_FROM_WORD = _either(
    # most words: nothing longer can start with letters and a blank
    f"(?!{_WHOLE_ASSIMILATION})[A-Za-z]+(?=\\s)",
    *(_EMAIL, _FULL_URL, f"(?:{_WWW_HOST}|{_HOST}){_PATH}", _WWW_HOST, _HOST_WITH_SIGN),
    # words with periods
    f"(?=[{_CHAR}]+[.,!?])"
    + _either(
        *(
            _FINAL_ABBREVIATION,
            _HYPHENATED,
            f"{_ACRONYM}(?![{_LETTER}])",
            _FILE,
            _ABBREVIATION,
            _CHAIN + _KEPT_PERIOD,
            _INITIAL,
        )
    ),
    # words with apostrophes
    f"(?=[{_LETTER}]{{1,60}}['\u2019`\u2018\u201b\x91\x92&])"
    + _either(_APOSTROPHE_WORD, _NEGATED, f"(?P<negation>{_NEGATION})", _LONGER_NEGATION, _APOSTROPHE_END),
    # words with other signs: at&t, us$, c++, c\x23 and f\x23, pro-
    *(f"(?P<amp>{_AMPERSAND})", r"[A-Z]+\$", rf"[cC]\+\+|[cCfF]{_HASH}", _PREFIX, f"x_[{_EYE_SIGNS}]"),
    *(_ASSIMILATION, _DATE, _MIXED_FRACTION, _SLASHED, _FRACTION),
    *(_HYPHENATED_ACRONYM, _ACCENT_ENTITY, _DECIMAL, _WORD + _KEPT_PERIOD),
)

# What starts with anything else.
_SIGN = rf"'\u2019\x92()\[\]{{}}.,:;!?\-\u066b\u066c{_class_of_table(SYMBOLS)}"
_FROM_SIGN = _either(
    # most brackets and marks: nothing longer can start with them and what follows here
    *(r"[)\[\]{}]", r"\((?![\d\^\-=~><'x])", r"[.,:;!?&](?=\s)"),
    *(_HOST, f"(?P<tag>{_TAG})", _EMAIL, f"(?P<drawn>{_PHONE}|{_SMILEY}|{_FACE})"),
    *("@[A-Za-z_][A-Za-z0-9_]*", f"{_HASH}[{_LETTER}]+", "-(?i:[lr][rsc]b)-", f"(?P<quotes>{_QUOTE_PAIR})"),
    *(f"(?=['\u2019\x92&])(?P<clitic>{_CLITIC})", _APOSTROPHE_START, _DECIMAL, _SIGNED, _RAISED, _ACCENT_ENTITY),
    *(_RUN, f"(?P<drop>{_DROPPED})", _KEPT_ENTITY, rf"[()\[\]{{}}{_class_of_table(SYMBOLS)}]"),
)
# What is neither starts nothing but hosts and pairs of quotes: it is dropped, as single quotes are.
_FROM_OTHER = _either(_HOST, f"(?P<other_quotes>{_QUOTE_PAIR})")


# The two expressions are compiled at first use, not at import.
@cache
def master() -> re.Pattern[str]:
    """Gives the expression that matches the next token of a line in outline; a group's name says how to spell it."""
    return re.compile(f"(?=[{_LETTER}\\d]){_FROM_WORD}|(?=[{_SIGN}]){_FROM_SIGN}|(?=[^{_SIGN}]){_FROM_OTHER}")


# What a chunk holds when its tokens may depend on what follows or precedes it. All alternatives of the master
# expression that reach over a blank have their counterpart here.
_NEEDS_NEIGHBOURS = (
    # the start of a tag with blanks inside
    "<[A-Za-z/][^<>]*$|<[!?][^>]{0,255}$",
    # the area code of a phone number
    r"\(\d{2,3}\)(?:\d{3,4})?$",
    # the second part of a mixed fraction with something attached (1 1/2-inch)
    r"^\d{1,4}\\?[/\u2044](?:\d{5}|\d+[^\d.,;:!?)])",
    # abbreviations that look for a number or a word, initials that look for the start of a sentence
    rf"(?<![{_CHAR}])(?:{_words(NUMBER_ABBREVIATIONS)}|{COMPANY_ABBREVIATIONS})\.$",
    r"(?:^|[^A-Za-z0-9.])[A-Za-z]\.$",
    # the same behind a period, unless the chunk is an acronym (feb.K. is none)
    r"^(?![(\[]*[A-Za-z](?:\.[A-Za-z])+\.$).*\.[A-Za-z]\.$",
)


@cache
def needs_neighbours() -> re.Pattern[str]:
    """Gives the expression that finds, in the outline of a chunk without blanks, what needs its neighbours."""
    return re.compile("|".join(_NEEDS_NEIGHBOURS))

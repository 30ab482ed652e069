# Generated from metrics/utils/ptb.py by make fix-copies: edit it there.
"""Penn Treebank tokens of image captions, as the COCO caption evaluation counts them.

COCO's evaluation tokenizes captions and references with a Penn Treebank tokenizer, lower-cases the tokens and
drops those in `PUNCTUATION`. Published CIDEr and BLEU values depend on that tokenization (a plain `split` costs more
than 20 CIDEr points), so this module reproduces it in pure Python: `ptb` turns one caption into its tokens.

It was written from observed behaviour only: pairs of captions and expected tokens, and the outputs of the original
program on made-up inputs. No third-party source was read or translated.

The filter removes quotes, periods, ellipses, commas, colons, semicolons, dashes and single `!` or `?`. It keeps, as
the original does, brackets (as `-lrb-` ...), `!!`, `?!` and every other symbol. So this lexer decides where tokens
end, and leaves out what would only change the shape of a dropped one: which way a quote opens, how a row of periods
is grouped, whether a period that ends both an abbreviation and a sentence counts twice.

One master expression scans a line; its alternatives stand in such an order that the first that matches is the longest
reading. Most chunks between blanks read the same in any company: `chunk_tokens` gives their tokens, and a cache turns
a corpus into dictionary look-ups. Only a line with a chunk that needs its neighbours is scanned as a whole.
"""

import re
from collections.abc import Iterable
from functools import cache, lru_cache

# Tokens that COCO's evaluation drops. Its list names brackets in upper case only, so lower-cased ones stay.
PUNCTUATION = frozenset(["''", "'", "``", "`", ".", "?", "!", ",", ":", "-", "--", "...", ";"])

# Longer chunks are not cached: they hardly recur, and would leave the memory of the cache without a bound.
_MAX_CACHED_CHUNK = 64
_CACHE_SIZE = 1 << 17

# --- Data -------------------------------------------------------------------------------------------------------

# Words that keep their final period, in any case. Single letters and chains like u.s. need no list.
_ABBREVIATIONS = """
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thurs fri
    ala ariz calif colo conn ct dak fla ga ind kan kans ky md mich minn mo mont neb nev okla penn tenn va vt wis wisc
    wyo mr mrs ms messrs mme mlle dr drs prof profs rev hon pres gov govs sen sens rep reps atty supt insp treas
    adm brig capt cmdr col comdr cpl ens gen lieut lt maj pfc pvt sgt spc adj adv alex wm jos jr sr esq
    bros inc corp co cos cie ltd plc pty bhd assoc asst bancorp intl natl mfg mtg univ dept elec
    st ste ave blvd rd rt bldg ft mt ext tel etc al seq vs cf est sq sys ph.d ph
""".split()

# Words that keep it only when written with a capital: in lower case they are words of their own (ill, wash).
_CAPITALIZED_ABBREVIATIONS = "Ark Del Ill La Mass Miss Ore Pa Tex Wash".split()

# Words that keep it only in front of a number (no. 5).
_NUMBER_ABBREVIATIONS = "art ca fig figs no nos op pp prop".split()

# One-word spellings of two words, with a blank where they are cut.
_ASSIMILATIONS = "can not|gim me|gon na|got ta|lem me|wan na".split("|")

# Words whose apostrophe begins no clitic: inside, at the end, at the start.
_APOSTROPHE_INSIDE = "c'mon cap'n e'er li'l ma'am ma'ams nat'l o'clock o'clocks s'mores".split()
_APOSTROPHE_LAST = "dunkin somethin ol".split()
_APOSTROPHE_FIRST = "cause em n till til".split()

# A file name may start with a digit when it ends like this. Others are words joined by periods.
_FILE_EXTENSIONS = """
    bat bmp c cgi class cpp dll doc docx exe gif gz h htm html jar java jpeg jpg mov mp3 pdf php pl png ppt ps py sql
    tar txt wav xml zip
""".split()

# Capitalized words that start sentences: the letter and period before them are no initial (plan b. The ...).
_SENTENCE_STARTERS = """
    A About According Additionally After An As At But Earlier He Her Here However If In It Last Many More Now Once
    One Other Our Since She So Some Such That The Their Then There These They This We What When While Yet You
    AN HE IN THE
""".split()

_BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}
_DRAW_BRACKETS = str.maketrans(_BRACKETS)

# Tokens that are spelled differently in the output. U+0080 is the euro of Windows code page 1252.
_SPELLINGS = {
    **_BRACKETS,
    **{"\u00a3": "\x23", "\u00a2": "cents", **dict.fromkeys("\u20ac\x80\u00a4\u20a0", "$")},
    **{"\u00bc": "1/4", "\u00bd": "1/2", "\u00be": "3/4", "\u2153": "1/3", "\u2154": "2/3"},
    **{"&amp;": "&", "&lt;": "<", "&gt;": ">"},
}

# Marks that are parts of words like letters are (accents, vowel signs, modifiers): code points and ranges of them.
_WORD_MARKS = """
    2C2-2C5 2D2-2DF 2E5-2EB 2ED 2EF-36F 375 378-379 384-385 3F6 483-487 55A-55F 591-5BD 5BF 5C1-5C2 5C4-5C5 5C7
    615-61A 64B-65E 670 6D6-6E4 6E7-6ED 6FD-6FE 70F 711 730-74C 7A6-7B0 7EB-7F3 900-903 93C 93E-94E 951-955 962-963
    981-983 9BC 9BE-9C4 9C7-9C8 9CB-9CD 9D7 9E2-9E3 A01-A03 A3C A3E-A4F A81-A83 ABC ABE-ACF B82 BBE-BC2 BC6-BC8
    BCA-BCD C01-C03 C3E-C56 D3E-D44 D46-D48 E31 E34-E3A E47-E4E EB1 EB4-EBC EC8-ECD 1885-1886
"""

# Characters that are tokens of their own. What is neither here nor part of a word only separates (emoji, for one).
_SYMBOLS = """
    23-26 2A-2B 2F 3C-3E 40 5C 5E 5F 7C 7E 80 A1-A9 AC AE-B4 B6-B9 BC-BF D7 F7 37E 387 589 5BE 5C0 5C3 5C6
    5F3-5F4 600-603 606-60C 614 61B 61E-61F 66A 66D 6D4 700-70D 7F6-7F8 964-965 E3F E4F 1FBD 2016-2017 201A 201E-2023
    2030-2038 203B 203E-2042 2044 2070 2074-207E 2080-208E 20A0 20A4 20AC 2100-2101 2103-2106 2108-2109 2114 2116-2118
    211E-2123 2125 2127 2129 212E 213A-213B 2140-2144 214A-214D 214F 2153-215E 2190-2BFF 3001-3002 3012 30FB FF01-FF0F
    FF1A-FF20 FF3B-FF40 FF5B-FF65 FFE0-FFE1 FFE5-FFE6
"""

# --- Building blocks of the master expression -------------------------------------------------------------------


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
    bounds = ([int(bound, 16) for bound in entry.split("-")] for entry in _WORD_MARKS.split())
    return frozenset(code for entry in bounds for code in range(entry[0], entry[-1] + 1))


def _outline(text: str) -> str:
    """Gives the text that the expressions match, character by character in place of `text`."""
    return text if text.isascii() else text.translate(_OUTLINES)


def _either(*patterns: str) -> str:
    """Gives a group that matches one of the patterns, the first that fits."""
    return "(?:" + "|".join(patterns) + ")"


def _words(words: Iterable[str]) -> str:
    """Gives a group that matches one of the words in any case, the longest that fits.

    One alternative per initial: the engine skips alternatives by their first character, but not within `(?i:...)`.
    """
    tails: dict[str, list[str]] = {}
    for word in sorted(words, key=len, reverse=True):
        tails.setdefault(word[0], []).append(re.escape(word[1:]))
    return _either(*(f"[{first}{first.upper()}](?i:{'|'.join(rest)})" for first, rest in tails.items()))


_ANY_LETTER = "\u00e9"
_OUTLINES = _Outlines()
_LETTER = f"A-Za-z{_ANY_LETTER}"
# A soft hyphen may stand between characters of a word, and disappears.
_CHAR = rf"{_LETTER}\d\xad"
_ASCII = "[A-Za-z0-9]"
_END = f"(?![{_CHAR}])"
_APOSTROPHE = "(?:['\u2019\x92]|&apos;)"
_HASH = r"\x23"

# Words: letters and digits of any script, joined by single hyphens or underscores (t-shirt, snake_case).
_WORD = rf"[{_LETTER}\d][{_CHAR}]*(?:[-_\u058a\u2010\u2011][{_CHAR}]+)*"
# Periods, `!` and `?` without a blank glue words (end.start, what?yes); the first character must be a letter.
_CHAIN = rf"[{_LETTER}][{_CHAR}]*(?:[.!?][{_LETTER}][{_CHAR}]*)+"
_ACRONYM = rf"[A-Za-z](?:\.[A-Za-z])+\.{_END}"
# A hyphen after an inner period or comma, or after an acronym (10.5-inch, u.s.-based). Repeats have bounds wherever
# a failed attempt could be repeated from the next token, which would take quadratic time on hostile text.
_HYPHENATED = _either(
    rf"(?:[A-Za-z](?:\.[A-Za-z]){{0,8}}|{_ASCII}{{1,2}})\.(?:-{_ASCII}+)+",
    f"{_ASCII}+(?:[.,]{_ASCII}+){{1,8}}(?:-{_ASCII}+)+",
)
_HYPHENATED_ACRONYM = rf"{_ASCII}+(?:-{_ASCII}+)*-[A-Za-z](?:\.[A-Za-z])+\.{_END}(?:-{_ASCII}+)*"
# At most two slashes (he/she/they); hyphenated parts start with a letter after the hyphen.
_SLASH_PART = f"{_ASCII}+(?:-[A-Za-z]{_ASCII}*)*"
_SLASHED = rf"{_SLASH_PART}(?:\\?/{_SLASH_PART}){{1,2}}"
_AMPERSAND = r"(?i:s&p-500)|[A-Z]+(?:(?:&(?:amp;)?|\+)[A-Z]+)+"
_ACCENT_ENTITY = f"[{_CHAR}]*(?:&[aeiouAEIOU](?:acute|grave|uml);[{_CHAR}]*)+"

# Numbers: a sign only counts where no word goes on, which the order of the master expression sees to.
_DECIMAL = r"\d*(?:[.:,\xad\u066b\u066c]\d+)+"
_SIGNED = rf"[-+](?:{_DECIMAL}|\d+)"
_DATE = r"\d{1,2}(?:/\d{1,2}-|-\d{1,2}/)\d{2,4}"
_FRACTION = r"\d{1,4}\\?[/\u2044]\d{1,4}"
_MIXED_FRACTION = rf"\d{{1,4}}[- ]{_FRACTION}"
_PHONE = r"\(\d{2,3}\) ?\d{3,4}[- ]?\d{4,5}"

# Web. `_URL_CHAR` is what may stand in an address, `_URL_LAST` what may end one.
_NOT_URL = r'\s"<>|(){}'
_URL_CHAR = f"[^{_NOT_URL}]"
_URL_LAST = rf"[^{_NOT_URL}.!?,\-]"
_FULL_URL = rf"(?i:https?)://[^{_NOT_URL}.]{{0,255}}\.{_URL_CHAR}*{_URL_LAST}"
_WWW_HOST = rf"(?i:www)\.(?:[^{_NOT_URL}.,/:;!?'&$]{{1,63}}\.){{1,8}}[A-Za-z]{{2,4}}{_END}"
_HOST = rf"(?:[{_LETTER}]{{1,63}}\.){{1,8}}(?:com|net|org|edu)"
_PATH = f"/{_URL_CHAR}+{_URL_LAST}"
_EMAIL = rf"<?{_ASCII}{_URL_CHAR}{{0,63}}@(?:[^{_NOT_URL}.]+\.)*[^{_NOT_URL}.]+>?"
_FILE = rf"[{_LETTER}\d]+(?:\.[{_LETTER}\d]+){{0,8}}\.{_words(_FILE_EXTENSIONS)}{_END}(?!\.[{_LETTER}])"
_TAG_NAME = "[A-Za-z][A-Za-z0-9.:_-]*"
_TAG_VALUE = "\"[^\"]{0,255}\"|'[^']{0,255}'"
_TAG = _either(
    f"</{_TAG_NAME} ?>",
    "<[!?][^>]{1,255}>",
    f"<{_TAG_NAME}(?: {_TAG_NAME}(?: ?= ?(?:{_TAG_VALUE}))?)* ?/?>",
)

_SMILEY = rf"[<>]?[:;=][-o*']?[()DPdpO\\{{@|\[\]](?!{_ASCII})"
_FACE = r"\(\^\^\)|\(?(?:\^_\^|-_-|=_=|~_~|>_[<>]|<_<|'_')\)?"

_ABBREVIATION = _either(
    rf"{_words(_ABBREVIATIONS)}\.(?![{_LETTER}])",
    *(rf"{word[0]}(?i:{word[1:]})\.(?![{_LETTER}])" for word in _CAPITALIZED_ABBREVIATIONS),
    rf"{_words(_NUMBER_ABBREVIATIONS)}\.(?= ?\d)",
)
# Any word keeps a period in front of a mark that does not begin a sentence (the city centre., near).
_KEPT_PERIOD = r"(?:\.(?=[,;:]))?"
_INITIAL = _either(
    rf"[A-Za-z](?=\. (?:{'|'.join(_SENTENCE_STARTERS)}){_END})",
    rf"[A-Za-z]\.(?![{_LETTER}])",
)

# Contractions: the word in front of n't, and the clitics themselves.
_NEGATED = f"[{_LETTER}]{{1,40}}?(?=[nN](?:{_APOSTROPHE}|[`\u2018\x91])[tT])"
_NEGATION = f"[nN](?:{_APOSTROPHE}|[`\u2018\x91])[tT]"
_CLITIC = f"{_APOSTROPHE}(?i:s|d|m|ll|re|ve)(?![{_LETTER}])"
_APOSTROPHE_WORD = _either(
    # d'angelo, l'oreal, o'brien-smith; n'est; names with a capital (m'vila)
    f"[dloDLO]['\u2019][{_LETTER}]{{2}}[{_CHAR}]*(?:[-_][{_CHAR}]+)*",
    f"[nA-HJ-XZ]['\u2019](?!(?i:ll|re|ve){_END})[{_LETTER}]{{2,}}",
    # between vowels (hawai'i, qu'il)
    "[A-Za-z]{1,40}[aeiouyAEIOUY]['\u2019][aeiouAEIOU][A-Za-z]*",
    _words(_APOSTROPHE_INSIDE) + _END,
    _words(_APOSTROPHE_LAST) + "['\u2019]",
    # elided articles (d' j' l') and y'all
    "[dDjJlL]['\u2019]",
    f"[yY]['\u2019](?=[{_LETTER}])",
)
_APOSTROPHE_START = _either(
    "['\u2019][nN]['\u2019]",
    f"'{_words(_APOSTROPHE_FIRST)}{_END}",
    # years: the '90s; '05 only at the end of a chunk
    r"['\u2019]\d\d(?:s|(?=\s))",
    # 't is, 't was
    "'[tT](?=(?i:is|was))",
)

_WHOLE_ASSIMILATION = _words(pair.replace(" ", "") for pair in _ASSIMILATIONS)
_ASSIMILATION = _either(
    *(rf"{_words([first])}(?={_words([second])}{_END}(?![-_][{_CHAR}]|\.[,;:]))|(?<=(?i:{first})){_words([second])}{_END}"
      for first, second in map(str.split, _ASSIMILATIONS))
)  # fmt: skip

_RUN = rf"[!?]{{2,}}|\*+|{_HASH}{{2,}}|@{{2,}}|__+|-{{5,}}|<<|>>"
_DROPPED = r"\.{3,5}|-{2,4}(?!-)|&(?i:quot|apos|nbsp|mdash|ndash|md);"
_KEPT_ENTITY = rf"&(?:{_HASH}\d+|[A-Z]{{2}}|[oc]dq|(?i:amp|lt|gt));"

# What starts with a letter or digit. Named groups need a change of spelling. The order is the rule: of two readings
# the longer stands first. Looking ahead, a cheap test spares most words whole families of alternatives.
_FROM_WORD = _either(
    # most words: nothing longer can start with letters and a blank
    f"(?!{_WHOLE_ASSIMILATION})[A-Za-z]+(?=\\s)",
    *(_FULL_URL, _EMAIL, f"(?:{_WWW_HOST}|{_HOST}){_PATH}", _WWW_HOST),
    # words with periods
    f"(?=[{_CHAR}]+[.,!?])" + _either(_HYPHENATED, _ACRONYM, _FILE, _ABBREVIATION, _CHAIN + _KEPT_PERIOD, _INITIAL),
    # words with apostrophes
    f"(?=[{_LETTER}]{{1,60}}['\u2019`\u2018\x91\x92&])"
    + _either(_APOSTROPHE_WORD, _NEGATED, f"(?P<negation>{_NEGATION})"),
    # words with other signs: at&t, us$, c++, c\x23 and f\x23
    *(f"(?P<amp>{_AMPERSAND})", r"[A-Z]+\$", rf"[cC]\+\+|[cCfF]{_HASH}"),
    *(_ASSIMILATION, _DATE, _MIXED_FRACTION, _SLASHED, _FRACTION),
    *(_HYPHENATED_ACRONYM, _ACCENT_ENTITY, _DECIMAL, _WORD + _KEPT_PERIOD),
)

# What starts with anything else. A character that is not in `_SIGN` starts nothing: it is dropped, as quotes are.
_SIGN = rf"'\u2019\x92()\[\]{{}}.,:;!?\-\u066b\u066c{_class_of_table(_SYMBOLS)}"
_FROM_SIGN = _either(
    # most brackets and marks: nothing longer can start with them and what follows here
    *(r"[)\[\]{}]", r"\((?![\d\^\-=~><'])", r"&(?![A-Za-z\x23])", r"[.,:;!?](?=\s)"),
    *(f"(?P<tag>{_TAG})", _EMAIL, f"(?P<drawn>{_PHONE}|{_SMILEY}|{_FACE})"),
    *("@[A-Za-z_][A-Za-z0-9_]*", f"{_HASH}[{_LETTER}]+", "-(?i:[lr][rsc]b)-"),
    *(f"(?=['\u2019\x92&])(?P<clitic>{_CLITIC})", _APOSTROPHE_START, _DECIMAL, _SIGNED, _ACCENT_ENTITY),
    *(_RUN, f"(?P<drop>{_DROPPED})", _KEPT_ENTITY, rf"[()\[\]{{}}{_class_of_table(_SYMBOLS)}]"),
)


# The two expressions are compiled at first use, not at import.
@cache
def _master() -> re.Pattern[str]:
    return re.compile(f"(?=[{_LETTER}\\d]){_FROM_WORD}|(?=[{_SIGN}]){_FROM_SIGN}")


# What a chunk holds when its tokens may depend on what follows or precedes it. All alternatives of the master
# expression that reach over a blank have their counterpart here.
_NEEDS_NEIGHBOURS = (
    # the start of a tag with blanks inside
    "<[A-Za-z!?/][^>]*$",
    # the area code of a phone number
    r"\(\d{2,3}\)(?:\d{3,4})?$",
    # the second part of a mixed fraction with something attached (1 1/2-inch)
    r"^\d{1,4}\\?[/\u2044](?:\d{5}|\d+[^\d.,;:!?)])",
    # abbreviations that look for a number, initials that look for the start of a sentence
    rf"(?<![{_CHAR}]){_words(_NUMBER_ABBREVIATIONS)}\.$",
    r"(?:^|[^A-Za-z0-9.]|(?<![A-Za-z])\.)[A-Za-z]\.$",
)


@cache
def _needs_neighbours() -> re.Pattern[str]:
    return re.compile("|".join(_NEEDS_NEIGHBOURS))


_NOT_PLAIN = frozenset(pair.replace(" ", "") for pair in _ASSIMILATIONS)
_KEEP_PERIOD = frozenset(_ABBREVIATIONS + _NUMBER_ABBREVIATIONS).union(map(str.lower, _CAPITALIZED_ABBREVIATIONS))

# --- The lexer --------------------------------------------------------------------------------------------------


def _spell(token: str, kind: str | None) -> str:
    """Gives the output form of a matched piece of text; `kind` is the name of the group that matched it."""
    if kind == "drawn":
        return token.translate(_DRAW_BRACKETS)
    if kind in ("clitic", "negation"):
        return re.sub(_APOSTROPHE, "'", token).translate({0x2018: "`", 0x91: "`"})
    if kind == "amp":
        return token.replace("&amp;", "&")
    return _SPELLINGS.get(token, token).replace("\xad", "")


def _lex_line(line: str) -> list[str]:
    """Gives the tokens of a line whose only blanks are single spaces."""
    tokens = []
    for match in _master().finditer(_outline(line) + "\n"):
        kind, token = match.lastgroup, line[match.start() : match.end()].lower()
        if not token.isalpha():
            token = "" if kind == "drop" else _spell(token, kind)
        if " " in token:
            tokens.extend(token.split(" "))
        elif token and token not in PUNCTUATION:
            tokens.append(token)
    return tokens


def chunk_tokens(chunk: str) -> tuple[str, ...] | None:
    """Gives the tokens of a piece of text without blanks, or None if they may depend on the text around it.

    If no chunk of `text.split()` gives None, the tokens of the chunks in a row are the tokens of the text.

    Args:
        chunk: Text without white space.

    Returns:
        The tokens without punctuation, or None.

    >>> chunk_tokens("don't,")
    ('do', "n't")
    >>> chunk_tokens("no.") is None
    True
    """
    return _cached_split(chunk) if len(chunk) <= _MAX_CACHED_CHUNK else _split_chunk(chunk)


def _split_chunk(chunk: str) -> tuple[str, ...] | None:
    word = chunk[:-1] if chunk[-1:] in (".", ",") else chunk
    if word.isascii() and word.isalpha():
        lowered = word.lower()
        if lowered not in _NOT_PLAIN and (word is chunk or chunk[-1] == "," or _sheds_period(lowered)):
            return (lowered,)
    if _needs_neighbours().search(_outline(chunk)):
        return None
    return tuple(_lex_line(chunk))


def _sheds_period(word: str) -> bool:
    """Tells whether a lower-case word loses a period at its end whatever follows."""
    return len(word) > 1 and word not in _KEEP_PERIOD


_cached_split = lru_cache(maxsize=_CACHE_SIZE)(_split_chunk)


def ptb(text: str) -> list[str]:
    """Gives the tokens by which the COCO caption evaluation compares a caption.

    Every caption stands alone, and all white space counts as blanks, line breaks too: one text, one list of tokens.

    Args:
        text: A caption, in any case and script.

    Returns:
        Lower-cased Penn Treebank tokens without punctuation. No token holds white space.

    Raises:
        TypeError: `text` is no string.

    >>> ptb("A man's T-shirt (it doesn't fit).")
    ['a', 'man', "'s", 't-shirt', '-lrb-', 'it', 'does', "n't", 'fit', '-rrb-']
    """
    if not isinstance(text, str):
        raise TypeError(f"ptb() takes a string, but found {type(text).__name__}: {text!r:.80}")
    chunks = text.split()
    tokens: list[str] = []
    for chunk in chunks:
        found = chunk_tokens(chunk)
        if found is None:
            return _lex_line(" ".join(chunks))
        tokens += found
    return tokens

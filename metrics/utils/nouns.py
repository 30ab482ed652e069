"""Texts -> entities: the Porter stems of their nouns, as the published EntityScore takes them from NLTK.

`word_tokenize` of the whole text, one `pos_tag` over all its tokens, tags with NN in them, stems, no repeats. The
tokenizer's and the tagger's data are looked for first and downloaded only where they are missing. Texts of plain words
take a shorter way through the tokenizer, which gives the same tokens.
"""

import io
import os
import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from threading import RLock
from typing import NamedTuple

from .perceptron_tagger import PerceptronTagger

# Held while NLTK's parts are loaded: it says where data are and loads them by a state that all threads share.
_LOADING = RLock()
RESOURCES = ("punkt_tab", "averaged_perceptron_tagger_eng")
# Stems of longer words are not kept: they hardly recur, and would leave that memory without a bound.
_MAX_KEPT_WORD = 64

# Words, numbers and compounds between single blanks, each perhaps with a comma or a period behind it.
_NOUN_WORD = "[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*"
_PLAIN = re.compile(rf"{_NOUN_WORD}(?:[,.]? {_NOUN_WORD})*\.?")
_TOKENS = re.compile(rf"{_NOUN_WORD}|[,.]")
# From the beginning of a word alone: from every letter it would take time that grows with the square of its length.
_BEFORE_PERIOD = re.compile(r"(?<![A-Za-z0-9-])([A-Za-z0-9-]+)\. ")
# What the Treebank tokenizer takes apart without a mark inside.
_CONTRACTION = re.compile(r"\b(?:cannot|gimme|gonna|gotta|lemme|wanna)\b", re.IGNORECASE)


class _Nltk(NamedTuple):
    """NLTK's parts: sentence splitter, word tokenizer, stemmer with a memory, and the tagger made of its weights."""

    punkt: object
    treebank: object
    stem: object
    tagger: PerceptronTagger
    joined_by_period: frozenset[str]


def entities(texts: Iterable[str]) -> list[frozenset[str]]:
    """Finds the entities of each text.

    Args:
        texts: English texts, such as captions.

    Returns:
        The set of each text's noun stems, lower-cased; empty where it has no noun.

    Raises:
        ImportError: NLTK is not installed.
        OSError: Its data are neither there nor can they be downloaded.
    """
    nltk = _nltk_parts()
    tokenized = [_tokens(text, nltk) for text in texts]
    return [
        frozenset({nltk.stem(token) for token, tag in zip(tokens, tags) if "NN" in tag})
        for tokens, tags in zip(tokenized, nltk.tagger.tag(tokenized))
    ]


def tokenize(text: str) -> list[str]:
    """The tokens of a text, as `nltk.word_tokenize` has them.

    Raises:
        ImportError, OSError: As `entities`.
    """
    return _tokens(text, _nltk_parts())


def nltk_version() -> str | None:
    """The version of NLTK, on whose tokenizer scores depend; None where it is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # Rarely needed.

    try:
        return version("nltk")
    except PackageNotFoundError:
        return None


def _tokens(text: str, nltk: _Nltk) -> list[str]:
    if is_plain(text, nltk.joined_by_period):
        return _TOKENS.findall(text)
    return [token for sentence in nltk.punkt.tokenize(text) for token in nltk.treebank.tokenize(sentence)]


def is_plain(text: str, joined_by_period: frozenset[str] = frozenset()) -> bool:
    """Says whether words, commas and periods of a text are its tokens, whatever Punkt and the Treebank rules look at.

    Every period must end a sentence: one behind the last word does, and one behind a word of two letters or more that
    is neither an abbreviation nor the first word of a collocation.

    Args:
        text: Any text.
        joined_by_period: Such abbreviations and first words, lower-cased.

    >>> is_plain("a man speaks. behind the man, a wall.")
    True
    >>> is_plain("it's 5 p.m."), is_plain("a man with a. the man"), is_plain("dr. Who", frozenset({"dr"}))
    (False, False, False)
    """
    if not _PLAIN.fullmatch(text) or _CONTRACTION.search(text):
        return False
    words = _BEFORE_PERIOD.findall(text)
    return all(len(word) > 1 and word.isalpha() and word.lower() not in joined_by_period for word in words)


def _nltk_parts() -> _Nltk:
    """NLTK's parts, loaded by the first thread that asks while the others wait."""
    with _LOADING:
        return _nltk()


@lru_cache(maxsize=1)
def _nltk() -> _Nltk:
    try:
        from nltk.stem.porter import PorterStemmer  # Stems and entities alone need it.
        from nltk.tokenize import NLTKWordTokenizer
    except ImportError as error:
        raise ImportError("entities need NLTK: pip install nltk") from error
    punkt, tagger = _find_data()
    joined = punkt._params.abbrev_types | {first for first, _ in punkt._params.collocations}
    stem = _remembering(PorterStemmer().stem)
    return _Nltk(punkt, NLTKWordTokenizer(), stem, PerceptronTagger(tagger), frozenset(joined))


def _remembering(stem: Callable[[str], str]) -> Callable[[str], str]:
    kept = lru_cache(maxsize=100_000)(stem)
    return lambda word: (kept if len(word) <= _MAX_KEPT_WORD else stem)(word)


def _find_data() -> tuple:
    """NLTK's sentence splitter and tagger, loaded from where they are, or downloaded once and loaded then."""
    try:
        return _load_data()
    except LookupError:
        pass
    except OSError as error:
        # NLTK refuses folders that are not on its path, and files with several hard links.
        raise _no_data(str(error)) from error
    reason = _download()
    try:
        return _load_data()
    except (LookupError, OSError) as error:
        raise _no_data(reason or str(error)) from error


def _load_data() -> tuple:
    from nltk.tag.perceptron import PerceptronTagger as NltkTagger  # Stems and entities alone need it.
    from nltk.tokenize.punkt import PunktTokenizer

    return PunktTokenizer("english"), NltkTagger()


def _download() -> str:
    """Downloads what is missing, one process at a time; returns what went wrong."""
    import nltk  # Stems and entities alone need it.
    from filelock import FileLock

    said = io.StringIO()
    try:
        folder = nltk.downloader.Downloader().default_download_dir()
        os.makedirs(folder, exist_ok=True)
        with FileLock(os.path.join(folder, "download.lock")):
            try:
                _load_data()
            except LookupError:
                for resource in RESOURCES:
                    nltk.download(resource, download_dir=folder, quiet=True, print_error_to=said)
    except OSError as error:
        return str(error)
    return " ".join(said.getvalue().replace("[nltk_data]", "").split())


def _no_data(reason: str) -> OSError:
    return OSError(
        f"NLTK's data {' and '.join(RESOURCES)} cannot be loaded ({reason[:300]}); run `python -m nltk.downloader "
        f"{' '.join(RESOURCES)}` where there is a network; NLTK_DATA names the folder where it is none of NLTK's own"
    )

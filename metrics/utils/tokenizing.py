"""Tokenizers by name: what splits a caption into the tokens whose n-grams are counted.

A tokenizer is a function `str -> list[str]`. Those here also know how to split one chunk between blanks, so that a
corpus is tokenized by looking its chunks up (chunks repeat, captions do not). `resolve` turns an option into a
`Tokenizer`; any callable can stand in for a name.
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from .ptb import chunk_tokens, ptb


class Tokenizer(NamedTuple):
    """A tokenizer and its name.

    Attributes:
        name: What a signature and a table of document frequencies record.
        split: Text to tokens; None for token ids, which need no splitting.
        split_chunk: A chunk without blanks to its tokens, or None where they depend on its neighbours; None as a
            whole when the tokenizer cannot work chunk by chunk.
    """

    name: str
    split: Callable[[str], list[str]] | None
    split_chunk: Callable[[str], tuple[str, ...] | None] | None


# The rules of NIST's mteval-v13a, in its order: symbols stand alone; a period or comma stands alone unless digits
# are on both sides of it; so does a dash behind a digit.
_SYMBOL_13A = re.compile(r"([{-~\[-` -&(-+:-@/])")
_STOP_AFTER_OTHER = re.compile(r"([^0-9])([.,])")
_STOP_BEFORE_OTHER = re.compile(r"([.,])([^0-9])")
_DASH_AFTER_DIGIT = re.compile(r"([0-9])(-)")
_ENTITIES_13A = (("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">"))


def _split_13a(text: str) -> list[str]:
    """Splits as mteval-v13a does for international text; keeps the case (BLEU's usual setting)."""
    text = text.replace("<skipped>", "").replace("-\n", "").replace("\n", " ")
    for entity, character in _ENTITIES_13A:
        text = text.replace(entity, character)
    text = _SYMBOL_13A.sub(r" \1 ", f" {text} ")
    text = _STOP_AFTER_OTHER.sub(r"\1 \2 ", text)
    text = _STOP_BEFORE_OTHER.sub(r" \1 \2", text)
    return _DASH_AFTER_DIGIT.sub(r"\1 \2 ", text).split()


def _chunk_13a(chunk: str) -> tuple[str, ...] | None:
    # "-\n" joins two lines and an entity may make a new chunk: both need the whole text.
    return None if chunk.endswith("-") or "&" in chunk else tuple(_split_13a(chunk))


def _split_characters(text: str) -> list[str]:
    return list("".join(text.split()))


_TOKENIZERS = {
    tokenizer.name: tokenizer
    for tokenizer in (
        Tokenizer("ptb", ptb, chunk_tokens),
        Tokenizer("13a", _split_13a, _chunk_13a),
        Tokenizer("whitespace", str.split, lambda chunk: (chunk,)),
        Tokenizer("char", _split_characters, tuple),
        Tokenizer("none", None, None),
    )
}


def resolve(tokenizer: str | Callable[[str], list[str]]) -> Tokenizer:
    """Finds a tokenizer by name, or wraps a callable.

    Args:
        tokenizer: "ptb" (COCO's tokenization, lower-cased, without punctuation), "13a" (mteval's, keeps case and
            punctuation), "whitespace", "char" (every character but blanks; for Chinese, Japanese, ...), "none" (token
            ids), or a function `str -> list[str]`.

    Returns:
        The tokenizer with its name; a callable is named `callable:` and its qualified name.

    Raises:
        ValueError: The name is unknown.
        TypeError: It is neither a name nor callable.

    >>> resolve("ptb").split("A man, a plan.")
    ['a', 'man', 'a', 'plan']
    >>> resolve("char").split("一个 女人")
    ['一', '个', '女', '人']
    """
    if isinstance(tokenizer, str):
        if tokenizer not in _TOKENIZERS:
            raise ValueError(f"tokenizer is {tokenizer!r}, expected one of {list(_TOKENIZERS)} or a callable")
        return _TOKENIZERS[tokenizer]
    if not callable(tokenizer):
        raise TypeError(f"tokenizer is {type(tokenizer).__name__}, expected a name or a callable str -> list[str]")
    name = getattr(tokenizer, "__qualname__", type(tokenizer).__qualname__)
    return Tokenizer(f"callable:{name}", tokenizer, None)

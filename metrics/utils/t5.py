"""Words or texts -> states of a T5 encoder, each encoded once and kept; an encoder imports torch and transformers.

The state of a sequence at a position depends on that sequence alone, also behind its end, where padding attends to
the sequence's own tokens. So a batch may hold any sequences, and a longer padding has a shorter one as its beginning.
"""

import os
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from threading import RLock
from typing import NamedTuple

import numpy as np

from .checks import VERSION, describe
from .options import check_options
from .stamps import stamp

DTYPES = ("float32", "bfloat16")
# What t5-base's tokenizer truncates at; others name no length, or 1e30.
MAX_TOKENS = 512
CACHE_BYTES = 2**29
# Of one batch, padding included: a batch of very long sequences is smaller than batch_size.
BATCH_TOKENS = 2**14
_SHOW_PROGRESS_AFTER_SECONDS = 5
# Models kept at one time.
_KEPT_MODELS = 2


class _StateCache:
    """The states that were used last, text -> (positions, width), as many as CACHE_BYTES hold; for all threads."""

    def __init__(self) -> None:
        self._states: OrderedDict[str, np.ndarray] = OrderedDict()
        self._bytes, self._lock = 0, RLock()

    def __reduce__(self) -> tuple:
        # A copy begins without states: they may be half a gigabyte.
        return _StateCache, ()

    def get(self, text: str, length: int) -> np.ndarray | None:
        """The first `length` states of a text, or None where fewer are known."""
        with self._lock:
            states = self._states.get(text)
            if states is None or len(states) < length:
                return None
            self._states.move_to_end(text)
            return states[:length]

    def put(self, text: str, states: np.ndarray) -> None:
        """Keeps states of a text instead of those known, and forgets what was used longest ago."""
        with self._lock:
            self._bytes += states.nbytes - getattr(self._states.pop(text, None), "nbytes", 0)
            self._states[text] = states
            while self._bytes > CACHE_BYTES:
                self._bytes -= self._states.popitem(last=False)[1].nbytes


class _Parts(NamedTuple):
    """A tokenizer, a model in evaluation mode, and the states that it gave last."""

    tokenizer: object
    model: object
    cache: _StateCache


class T5Encoder:
    """The encoder of a T5 model: t5-small ... t5-large, flan-t5-*, or a local folder with weights and tokenizer.

    Model and states are loaded and kept once per process, path, device and type, whatever number of threads asks;
    where a folder's files have changed, anew. Several threads may use one encoder.

    Args:
        model_path: A name on the Hub or a folder.
        device: Such as "cpu" or "cuda:0"; None takes a GPU where there is one.
        dtype: "float32" or "bfloat16" (float16 overflows in T5).
        batch_size: Sequences encoded at once; it changes states by less than 1e-6 in float32.

    Raises:
        ImportError: torch or transformers is not installed.
        OSError: The model or its tokenizer cannot be loaded.
        ValueError: An option is unknown, or the tokenizer is not the model's.
    """

    def __init__(
        self, model_path: str = "t5-base", device: str | None = None, dtype: str = "float32", batch_size: int = 128
    ) -> None:
        check_options(orders={"batch_size": batch_size})
        if dtype not in DTYPES:
            reason = ": T5 overflows in float16" if dtype in ("float16", "fp16", "half") else ""
            raise ValueError(f"dtype is {dtype!r}, expected one of {list(DTYPES)}{reason}")
        if not isinstance(model_path, str | os.PathLike):
            raise TypeError(f"model_path is {describe(model_path)}, expected a name on the Hub or a folder")
        path = os.path.abspath(model_path) if os.path.isdir(model_path) else str(model_path)
        self._parts = _loaded(path, _device(device), dtype)
        self._batch_size = batch_size

    @classmethod
    def of(cls, tokenizer, model, batch_size: int = 128) -> "T5Encoder":
        """An encoder made of a loaded tokenizer and a T5 model; it keeps no state for others.

        Raises:
            ValueError: The tokenizer is not the model's, or the model is float16 or in training mode.
        """
        if model.training:
            raise ValueError("the model is in training mode, expected model.eval(): dropout would change every score")
        if str(model.dtype).removeprefix("torch.") not in DTYPES:
            raise ValueError(f"the model's dtype is {model.dtype}, expected one of {list(DTYPES)}")
        check_tokenizer(tokenizer, model.config.vocab_size, "the tokenizer passed")
        encoder = cls.__new__(cls)
        encoder._parts, encoder._batch_size = _Parts(tokenizer, model, _StateCache()), batch_size
        return encoder

    def lengths(self, texts: Iterable[str]) -> dict[str, int]:
        """Number of tokens of each text, the end token included; at most 512."""
        texts = list(dict.fromkeys(texts))
        return dict(zip(texts, map(len, self._token_ids(texts)))) if texts else {}

    def states(self, lengths: Mapping[str, int]) -> dict[str, np.ndarray]:
        """The last hidden states of texts.

        Args:
            lengths: Text -> number of positions wanted of it. More than it has tokens are those of padding.

        Returns:
            Text -> float32 (positions, width), as the model gives them.

        Raises:
            ValueError: A state is not finite.
        """
        found = {text: self._parts.cache.get(text, length) for text, length in lengths.items()}
        missing = [(length, text) for text, length in lengths.items() if found[text] is None]
        missing.sort(key=lambda item: (-item[0], item[1]))
        for batch in self._batches(missing):
            for (length, text), states in zip(batch, self._encode(batch)):
                # A copy, so that the batch is not kept.
                found[text] = states[:length].copy()
                self._parts.cache.put(text, found[text])
        return found

    def _batches(self, missing: list[tuple[int, str]]) -> Iterable[list[tuple[int, str]]]:
        """Cuts texts that are sorted by length, the longest first, since its share of the memory is known then."""
        from tqdm import tqdm  # Only where something is shown.

        # disable=None: silent where nobody looks at a terminal.
        with tqdm(
            desc="T5 states", total=len(missing), delay=_SHOW_PROGRESS_AFTER_SECONDS, leave=False, disable=None
        ) as bar:
            start = 0
            while start < len(missing):
                size = max(1, min(self._batch_size, BATCH_TOKENS // missing[start][0]))
                yield missing[start : start + size]
                start += size
                bar.update(size)

    def _token_ids(self, texts: list[str]) -> list[list[int]]:
        with _kept().tokenizing:
            return self._parts.tokenizer(texts, truncation=True, max_length=MAX_TOKENS)["input_ids"]

    def _encode(self, batch: list[tuple[int, str]]) -> np.ndarray:
        """States of texts, padded to the longest length that one of them is wanted at."""
        import torch  # Optional, and seconds.

        texts, model = [text for _, text in batch], self._parts.model
        rows = self._token_ids(texts)
        width = max(max(length for length, _ in batch), *map(len, rows))
        ids = torch.tensor([row + [model.config.pad_token_id] * (width - len(row)) for row in rows])
        mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
        with torch.inference_mode():
            encoded = model.encoder(input_ids=ids.to(model.device), attention_mask=mask.to(model.device))
            states = encoded.last_hidden_state.float().cpu().numpy()
        if not np.isfinite(states).all():
            bad = texts[int(np.argmin(np.isfinite(states).all(axis=(1, 2))))]
            raise ValueError(f"the T5 state of {bad!r} is not finite, expected numbers: are the weights intact?")
        return states


def check_tokenizer(tokenizer, vocabulary: int, name: str) -> None:
    """Refuses a tokenizer that is not the model's.

    Where the vocabulary is missing, transformers 5 gives a tokenizer of 104 tokens instead of an error; under it all
    words are the same.

    Args:
        tokenizer: A tokenizer of transformers.
        vocabulary: Number of tokens that the model knows.
        name: What it is called in an error.

    Raises:
        ValueError: It has fewer than half or more than all of the model's tokens, or does not know plain words.
    """
    with _kept().tokenizing:
        ids = tokenizer(["a man", "the dog"])["input_ids"]
    unknown = any(tokenizer.unk_token_id in row for row in ids)
    if unknown or not vocabulary / 2 <= len(tokenizer) <= vocabulary:
        raise ValueError(
            f"{name} has {len(tokenizer)} tokens{' and does not know plain words' if unknown else ''}, expected the "
            f"vocabulary of the model ({vocabulary} tokens): is spiece.model or tokenizer.json missing?"
        )


def _import():
    try:
        import torch  # Optional, and seconds.
        import transformers
    except ImportError as error:
        raise ImportError("T5 states need torch and transformers: pip install torch transformers") from error
    return torch, transformers


def _device(device: str | None) -> str:
    torch, _ = _import()
    if device is None:
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        found = torch.device(device)
    except (RuntimeError, TypeError) as error:
        raise ValueError(f"device is {device!r}, expected such as 'cpu' or 'cuda:0'") from error
    if found.type == "cuda" and not torch.cuda.is_available():
        raise ValueError(f"device is {device!r}, expected 'cpu': torch finds no GPU here")
    return str(found)


class _Kept(NamedTuple):
    """What all encoders of a process share.

    Attributes:
        loading: Held while a model is loaded, which no two threads may do at a time.
        tokenizing: A fast tokenizer is told what length to cut at before it encodes, so two threads may not call one
            at a time.
        models: The models used last, with their tokenizers and states.
    """

    loading: RLock
    tokenizing: RLock
    models: OrderedDict


def _kept() -> _Kept:
    # This module is there more than once in a process: the package's, the one in the metric's folder, the loader's.
    # A model is too large for that, so what is kept has its place in transformers, which is there once.
    return vars(_import()[1]).setdefault(f"_multimodal_metrics_{VERSION}", _Kept(RLock(), RLock(), OrderedDict()))


def forget_models() -> None:
    """Forgets the models that are kept, and their states."""
    _kept().models.clear()


def _loaded(path: str, device: str, dtype: str) -> _Parts:
    """The parts of a model, loaded by the first thread that asks while the others wait."""
    kept = _kept()
    # What the folder holds may change in the life of a process.
    key = path, device, dtype, stamp(path) if os.path.isdir(path) else ()
    with kept.loading:
        if key not in kept.models:
            kept.models[key] = _load(path, device, dtype)
            if len(kept.models) > _KEPT_MODELS:
                kept.models.popitem(last=False)
        kept.models.move_to_end(key)
        return kept.models[key]


def _load(path: str, device: str, dtype: str) -> _Parts:
    torch, transformers = _import()
    try:
        model = transformers.T5EncoderModel.from_pretrained(path)
        tokenizer = transformers.AutoTokenizer.from_pretrained(path)
    except (OSError, ValueError) as error:
        reason = " ".join(str(error).split()).split(". ")[0][:300]
        raise OSError(
            f"the T5 model {path!r} cannot be loaded ({reason}); expected a model that the Hub has or that was "
            "downloaded before, or a folder with its config.json, weights and tokenizer"
        ) from error
    check_tokenizer(tokenizer, model.config.vocab_size, f"the tokenizer of {path!r}")
    return _Parts(tokenizer, model.to(device=device, dtype=getattr(torch, dtype)).eval(), _StateCache())

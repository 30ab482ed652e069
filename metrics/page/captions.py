"""What the pages of the caption metrics share: COCO's files as inputs, and n-grams coloured where both sides agree."""

from collections import Counter
from collections.abc import Callable, Sequence

from ..files.captions import pair_captions
from .bounds import OF_NGRAMS
from .metric_page import Inputs, Page, Upload
from .results import Marked, mark_html, why_html

# Pieces of one kind that an explanation names.
_SHOWN = 12


class CaptionPage(Page):
    """Predictions and references are texts, typed in or of COCO's files."""

    sample, plural = "image", "images"
    hint = "One caption and its references per row; several references are separated by `|`. Rows can be added."
    rows = (
        [
            "a brown dog catches a red frisbee on the beach",
            "A dog jumping to catch a frisbee on a beach. | A brown dog leaps for a red frisbee near the sea. | "
            "The dog catches a red disc on the sand.",
        ],
        [
            "two children play with a kite in a green field",
            "Two kids are flying a kite in a grassy field. | Children running with a colorful kite. | "
            "A boy and a girl fly a kite on the grass.",
        ],
        [
            "a man rides a bicycle down a busy street",
            "A man is riding a bike on a busy city street. | A cyclist rides past cars in traffic. | "
            "A person on a bicycle in the middle of traffic.",
        ],
        [
            "a cat sleeps on a blue sofa",
            "A gray cat sleeping on a laptop computer. | A cat is taking a nap on top of a laptop. | "
            "The cat lies on the keyboard.",
        ],
    )
    uploads = (
        Upload("Results: [{image_id, caption}, ...]", (".json",)),
        Upload("References: COCO's annotations, or {image_id: [caption, ...]}", (".json",)),
    )

    def read_files(self, paths, allow_missing):
        if not all(paths):
            raise ValueError("a file is missing, expected results and references")
        found = pair_captions(*paths, allow_missing)
        return Inputs({"predictions": found.predictions, "references": found.references}, found.ids)


class NgramPage(CaptionPage):
    """The score is made of the n-grams of `options["tokenizer"]` that a caption shares with its references."""

    bounds = OF_NGRAMS

    def encoding(self, options: dict) -> tuple:
        """Arguments of `ngrams.Encoder`."""
        return (options["tokenizer"],)

    def weight(self, inputs: Inputs, options: dict) -> Callable[[tuple], str]:
        """n-gram -> what is said of it beside it."""
        return lambda gram: ""

    def tokens(self, texts: Sequence[str], options: dict) -> list[list[str]]:
        """The tokens that are scored."""
        encoder = self.part("_shared").Encoder(*self.encoding(options))
        numbers, lengths = encoder.encode(texts)
        words, numbers = encoder.vocabulary, iter(numbers.tolist())
        return [[str(words[next(numbers)]) for _ in range(length)] for length in lengths.tolist()]

    def columns(self, inputs, options, results, rows):
        n = self.orders(options)
        predictions, references = inputs.arguments["predictions"], inputs.arguments["references"]
        found = {"caption": [], "missed in it": []}
        for row in rows:
            caption, *others = self.tokens([predictions[row], *references[row]], options)
            found["caption"].append(marked(caption, others, n))
            found["missed in it"].append(Marked((word, "miss") for word in _missed(caption, others)))
        return found

    def explain(self, inputs, options, results, row):
        n, references = self.orders(options), inputs.arguments["references"][row]
        caption, *others = self.tokens([inputs.arguments["predictions"][row], *references], options)
        shown = {"caption": marked(caption, others, n).html()}
        for number, other in enumerate(others, 1):
            shown[f"reference {number}"] = marked(other, [caption], n).html()
        weight = self.weight(inputs, options)
        for order in range(1, n + 1):
            shown[f"{order}-grams"] = _grams_html(caption, others, order, weight)
        legend = Marked([("1", "hit1"), ("2", "hit2"), ("3", "hit3"), ("4", "hit4"), ("none", "miss")]).html()
        return why_html(inputs.names[row], f"words in an n-gram of the other side, by its order: {legend}", shown)


def grams(tokens: Sequence[str], order: int) -> list[tuple]:
    """All n-grams of one order.

    >>> grams(["a", "cat", "sat"], 2)
    [('a', 'cat'), ('cat', 'sat')]
    """
    return [tuple(tokens[start : start + order]) for start in range(len(tokens) - order + 1)]


def marked(tokens: Sequence[str], others: Sequence[Sequence[str]], n: int) -> Marked:
    """Marks every token with the highest order (four at most) of a shared n-gram that it stands in."""
    highest = [0] * len(tokens)
    for order in range(1, min(n, 4) + 1):
        known = {gram for other in others for gram in grams(other, order)}
        for start, gram in enumerate(grams(tokens, order)):
            if gram in known:
                highest[start : start + order] = [order] * order
    return Marked((token, f"hit{order}" if order else "miss") for token, order in zip(tokens, highest))


def _missed(caption: Sequence[str], others: Sequence[Sequence[str]]) -> list[str]:
    """Words of the references that the caption lacks, the most frequent first."""
    counts = Counter(word for other in others for word in dict.fromkeys(other) if word not in caption)
    return [word for word, _ in counts.most_common(_SHOWN)]


def _grams_html(caption: list[str], others: list[list[str]], order: int, weight: Callable[[tuple], str]) -> str:
    own, known = Counter(grams(caption, order)), Counter()
    for other in others:
        known |= Counter(grams(other, order))
    parts = [
        ("matched", "hit2", own & known),
        ("only in the caption", "miss", own - known),
        ("only in references", "", known - own),
    ]
    return "<br>".join(
        f"<small>{name} ({sum(counts.values())}):</small> " + _names(counts, mark, weight)
        for name, mark, counts in parts
        if counts
    )


def _names(counts: Counter, mark: str, weight: Callable[[tuple], str]) -> str:
    pieces = [
        mark_html(" ".join(gram) + (f" ×{count}" if count > 1 else ""), mark, weight(gram))
        for gram, count in counts.most_common(_SHOWN)
    ]
    more = [f"<small>and {len(counts) - _SHOWN} more</small>"] if len(counts) > _SHOWN else []
    return " ".join([*pieces, *more])

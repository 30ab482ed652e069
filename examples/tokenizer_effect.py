"""What each tokenizer does to CIDEr-D and BLEU-4: the fifth human caption scored against the first four.

    python -m examples.tokenizer_effect --data FOLDER

The folder holds coco/captions_val2017.json, flickr8k/ (captions and the list of test pictures) and
audiocaps/captions_test.csv, or some of them.
"""

import csv
import re
import string
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

from examples import flickr8k
from examples.output import is_there, make_parser, new_figure, print_table, save_figure, write_csv
from metrics.bleu4 import scoring as bleu4
from metrics.cider import scoring as cider
from metrics.files.captions import captions_by_image
from metrics.utils.ngrams import Encoder, caption_counts
from metrics.utils.ptb import PUNCTUATION
from metrics.utils.tokenizing import resolve

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def lower_split(text: str) -> list[str]:
    """Lower-cases and splits at blanks."""
    return text.lower().split()


def lower_13a(text: str) -> list[str]:
    """mteval's 13a of the lower-cased text; punctuation stays."""
    return resolve("13a").split(text.lower())


def without_punctuation(text: str) -> list[str]:
    """Deletes ASCII punctuation, lower-cases and splits at blanks."""
    return text.lower().translate(_NO_PUNCTUATION).split()


def word_characters(text: str) -> list[str]:
    r"""The runs of `\w` in the lower-cased text."""
    return re.findall(r"\w+", text.lower())


def treebank(text: str) -> list[str]:
    """nltk's Treebank tokens, lower-cased, without the punctuation that COCO's evaluation leaves out."""
    from nltk.tokenize import TreebankWordTokenizer

    return [token for token in map(str.lower, TreebankWordTokenizer().tokenize(text)) if token not in PUNCTUATION]


# What the rows are called -> the tokenizer; the first is what the others are compared with.
TOKENIZERS: dict[str, str | Callable[[str], list[str]]] = {
    "ptb (COCO's)": "ptb",
    "nltk Treebank, lower, filter": treebank,
    "no punctuation, lower": without_punctuation,
    r"\w+, lower": word_characters,
    "13a, lower": lower_13a,
    "split, lower": lower_split,
    "split": "whitespace",
}


def read_coco(folder: Path) -> list[list[str]]:
    """The captions of each picture of COCO val2017, in the order of the file."""
    return list(captions_by_image(str(folder / "coco/captions_val2017.json")).values())


def read_audiocaps(folder: Path) -> list[list[str]]:
    """The captions of each clip of AudioCaps' test set."""
    groups = defaultdict(list)
    with open(folder / "audiocaps/captions_test.csv", encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            groups[row["youtube_id"], row["start_time"]].append(row["caption"])
    return list(groups.values())


SETS: dict[str, tuple[str, Callable[[Path], list[list[str]]]]] = {
    "COCO val2017": ("coco/captions_val2017.json", read_coco),
    "Flickr8k test": ("flickr8k", lambda folder: flickr8k.read_test_captions(folder / "flickr8k")),
    "AudioCaps test": ("audiocaps/captions_test.csv", read_audiocaps),
}


def fifth_against_four(groups: list[list[str]], tokenizer: str | Callable[[str], list[str]]) -> tuple[float, float]:
    """CIDEr-D (0..10) and BLEU-4 without smoothing (0..1) of each item's fifth caption against its first four.

    Raises:
        ValueError: An item has fewer than five captions.
    """
    for item, group in enumerate(groups):
        if len(group) < 5:
            raise ValueError(f"item {item} has {len(group)} captions, expected at least 5")
    predictions, references = [group[4] for group in groups], [group[:4] for group in groups]
    counts = caption_counts(predictions, references, 4, Encoder(tokenizer))
    similarity = cider.sample_statistics(tokenizer=tokenizer, counts=counts)
    matches = bleu4.sample_statistics(counts=counts)
    return cider.score(similarity)["cider"], bleu4.score(matches, smoothing=False)["bleu4"]


def draw_picture(rows: list[list], path: Path) -> None:
    """How far each tokenizer moves CIDEr-D and BLEU-4, one marker for each set."""
    figure, axes = new_figure(9, 3.2, num_panels=2)
    if figure is None:
        return
    names = list(dict.fromkeys(row[0] for row in rows))
    for axis, title, column in ((axes[0], "CIDEr-D", 4), (axes[1], "BLEU-4", 5)):
        for label, marker in zip(names, "o^x"):
            chosen = [row for row in rows if row[0] == label]
            axis.plot(
                [row[column] * 100 for row in chosen],
                [row[1] for row in chosen],
                f"k{marker}",
                label=label,
                fillstyle="none",
            )
        axis.axvline(0, color="gray", linewidth=1)
        axis.invert_yaxis()
        axis.set(title=title, xlabel="change against ptb (score x 100)")
    axes[1].tick_params(labelleft=False)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    save_figure(figure, path)


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the table, writes the CSV and the picture."""
    options = make_parser(__doc__.splitlines()[0], "").parse_args(arguments)
    rows = []
    for name, (place, read) in SETS.items():
        if not is_there(options.data / place, f"{name} in the table of tokenizers"):
            continue
        groups = read(options.data)
        scores = {label: fifth_against_four(groups, tokenizer) for label, tokenizer in TOKENIZERS.items()}
        own = next(iter(scores.values()))
        rows += [[name, label, *found, found[0] - own[0], found[1] - own[1]] for label, found in scores.items()]
    if not rows:
        return
    header = ["set", "tokenizer", "cider_d", "bleu4", "cider_d_change", "bleu4_change"]
    print_table([name.replace("_", " ") for name in header], rows)
    write_csv(options.output / "tokenizer_effect.csv", header, rows)
    draw_picture(rows, options.output / "tokenizer_effect.png")


if __name__ == "__main__":
    main()

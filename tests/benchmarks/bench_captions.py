"""Time and memory of CIDEr and BLEU-4 from raw captions to score, next to the packages that compute the same.

Run from the root of the repository, with as many of the peers installed as there are (java for pycocoevalcap):

    pip install sacrebleu nltk pycocoevalcap bleuscore
    python -m tests.benchmarks.bench_captions --aac-python OTHER_ENVIRONMENT/bin/python

A contender runs in a process of its own in every round: it imports, loads the captions and says that it is ready; this
process then lets it start, and watches its memory and that of its children (java). Missing peers are reported.
aac-metrics holds NumPy below 2, which breaks pyarrow beside it, so that it needs an environment of its own, with
pycocoevalcap (for its jar) and without datasets.
"""

import argparse
import json
import os
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import types
from collections.abc import Callable
from datetime import date
from pathlib import Path

from tests.benchmarks.measuring import RESULTS, ROOT, machine, measure, serve, take_turns, versions, write_section

SEED = 20260101
NUM_REFERENCES = 5
PACKAGES = "evaluate datasets numpy pycocoevalcap sacrebleu nltk bleuscore".split()
AAC_PACKAGES = "aac-metrics numpy torch".split()

Scorer = Callable[[list[str], list[list[str]]], float]


# Captions


def read_coco(path: Path) -> list[list[str]]:
    """The first five captions of every image of COCO's annotation file, images in order of id."""
    captions = {}
    for annotation in json.loads(path.read_text(encoding="utf-8"))["annotations"]:
        captions.setdefault(annotation["image_id"], []).append((annotation["id"], annotation["caption"]))
    return [[caption for _, caption in sorted(captions[image])][:NUM_REFERENCES] for image in sorted(captions)]


def read_flickr8k(path: Path) -> list[list[str]]:
    """The five captions of every image of Flickr8k.token.txt (one name is misspelt, so that two have fewer)."""
    captions = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, caption = line.split("\t")
        captions.setdefault(name.split("#")[0], []).append(caption)
    return [group for group in captions.values() if len(group) == NUM_REFERENCES]


def made_up_word(rng: random.Random) -> str:
    """A word whose rank follows a power law without an end, so that new words never stop coming."""
    rank, word = int(rng.paretovariate(0.3)), ""
    while rank:
        rank, syllable = divmod(rank, 85)
        word += "bdfgklmnprstvwxzj"[syllable // 5] + "aeiou"[syllable % 5]
    return word


def made_up_captions(number: int, rng: random.Random) -> list[list[str]]:
    """Images with five captions each, where there is no real data: half of a caption's words are the image's own."""
    groups = []
    for _ in range(number):
        topic = [made_up_word(rng) for _ in range(8)]
        groups.append(
            [
                " ".join(rng.choice(topic) if rng.random() < 0.5 else made_up_word(rng) for _ in range(10))
                for _ in range(NUM_REFERENCES)
            ]
        )
    return groups


def read_captions(size: int, rng: random.Random) -> tuple[list[list[str]], str]:
    """Captions of at most `size` images, and where they are from."""
    data = Path(os.environ.get("METRICS_SHARED") or ROOT.parent / "shared") / "data"
    coco, flickr8k = data / "coco" / "captions_val2017.json", data / "flickr8k" / "Flickr8k.token.txt"
    if not coco.exists() or not flickr8k.exists():
        return made_up_captions(size, rng), "made-up captions (words follow a power law)"
    groups, source = read_coco(coco), "COCO val2017"
    if size > len(groups):
        groups, source = groups + read_flickr8k(flickr8k), "COCO val2017 and Flickr8k"
    return groups[:size], source


def perturb(caption: str, rng: random.Random) -> str:
    """Replaces two random words."""
    words = caption.split()
    for place in rng.sample(range(len(words)), min(2, len(words))):
        words[place] = made_up_word(rng)
    return " ".join(words)


def make_data(size: int, path: Path) -> dict:
    """Writes `size` samples with one candidate and five references, and describes them.

    Candidates are of two kinds in turn: the image's own fifth caption (whose place among the references is taken by a
    caption of another image), and a caption of another image.
    """
    rng = random.Random(SEED)
    groups, source = read_captions(size, rng)
    images = list(groups)
    while len(images) < size:
        images.extend([perturb(caption, rng) for caption in group] for group in groups[: size - len(images)])
    predictions, references = [], []
    for place, group in enumerate(images):
        other = images[(place + rng.randrange(1, size)) % size][0]
        predictions.append(group[-1] if place % 2 == 0 else other)
        references.append([*group[:-1], other] if place % 2 == 0 else group)
    path.write_text(json.dumps({"predictions": predictions, "references": references}), encoding="utf-8")
    repeats = f", {size - len(groups):,} of them repeats with two words per caption replaced"
    words = {word for group in references for caption in group for word in caption.lower().split()}
    text = f"{source}: {size:,} images{repeats if size > len(groups) else ''}; {len(words):,} distinct words"
    return {"size": size, "path": str(path), "captions": size + sum(map(len, references)), "text": text}


# Contenders: each function imports what it needs, and returns the function that is measured.


def ours(name: str, key: str) -> Scorer:
    """This repository's module."""
    import evaluate

    metric = evaluate.load(f"metrics/{name}")
    return lambda predictions, references: metric.compute(predictions=predictions, references=references)[key]


def pycocoevalcap_scorer(name: str) -> Scorer:
    """PTBTokenizer (two runs of java) and the scorer, as COCOEvalCap calls them."""
    from pycocoevalcap.bleu.bleu import Bleu
    from pycocoevalcap.cider.cider import Cider
    from pycocoevalcap.tokenizer.ptbtokenizer import PTBTokenizer

    def score(predictions, references):
        tokenizer = PTBTokenizer()
        gts = tokenizer.tokenize({i: [{"caption": text} for text in group] for i, group in enumerate(references)})
        res = tokenizer.tokenize({i: [{"caption": text}] for i, text in enumerate(predictions)})
        if name == "cider":
            return Cider().compute_score(gts, res)[0]
        return Bleu(4).compute_score(gts, res, verbose=0)[0][3]

    return score


def aac_metrics_scorer(name: str) -> Scorer:
    """aac-metrics with its own tokenization; it finds the tokenizer's jar in pycocoevalcap rather than fetch it.

    Its audio model, which no caption metric uses, is left out where it cannot be imported (torchaudio without CUDA);
    it refuses a java above 13, with which its tokenizer works.
    """
    import pycocoevalcap.tokenizer

    try:
        import msclap  # noqa: F401
    except (ImportError, OSError):
        sys.modules["msclap"] = types.ModuleType("msclap")
        sys.modules["msclap"].CLAP = None
    from aac_metrics.functional import bleu, cider_d
    from aac_metrics.utils import tokenization

    tokenization.check_java_path = lambda path: True
    jar = next(Path(pycocoevalcap.tokenizer.__path__[0]).glob("stanford-corenlp-*.jar"))
    cache = Path(os.environ["BENCH_FOLDER"])
    (cache / "aac-metrics" / "stanford_nlp").mkdir(parents=True, exist_ok=True)
    shutil.copy(jar, cache / "aac-metrics" / "stanford_nlp")
    paths = {"cache_path": str(cache), "tmp_path": str(cache)}

    def score(predictions, references):
        # It refuses newlines, of which COCO has a few.
        candidates = [text.replace("\n", " ") for text in predictions]
        candidates = tokenization.preprocess_mono_sents(candidates, **paths)
        groups = [[text.replace("\n", " ") for text in group] for group in references]
        groups = tokenization.preprocess_mult_sents(groups, **paths)
        if name == "cider":
            return float(cider_d(candidates, groups)[0]["cider_d"])
        return float(bleu(candidates, groups, n=4)[0]["bleu_4"])

    return score


def sacrebleu_bleu() -> Scorer:
    """corpus_bleu with 13a tokens, lower-cased."""
    import sacrebleu

    def score(predictions, references):
        streams = list(map(list, zip(*references, strict=True)))
        return sacrebleu.corpus_bleu(predictions, streams, lowercase=True).score / 100

    return score


def nltk_bleu() -> Scorer:
    """TreebankWordTokenizer, lower-cased, and corpus_bleu."""
    from nltk.tokenize import TreebankWordTokenizer
    from nltk.translate.bleu_score import corpus_bleu

    def score(predictions, references):
        split = TreebankWordTokenizer().tokenize
        groups = [[split(text.lower()) for text in group] for group in references]
        return corpus_bleu(groups, [split(text.lower()) for text in predictions])

    return score


def bleuscore_bleu() -> Scorer:
    """bleuscore (Rust), which has 13a tokens; lower-cased, and with the closest reference length as elsewhere."""
    from bleuscore import compute

    def score(predictions, references):
        groups = [[text.lower() for text in group] for group in references]
        return compute(groups, [text.lower() for text in predictions], ref_len_method="closest")["bleu"]

    return score


CONTENDERS = {
    ("cider", "this repository"): lambda: ours("cider", "cider"),
    ("cider", "pycocoevalcap"): lambda: pycocoevalcap_scorer("cider"),
    ("cider", "aac-metrics"): lambda: aac_metrics_scorer("cider"),
    ("bleu4", "this repository"): lambda: ours("bleu4", "bleu4"),
    ("bleu4", "pycocoevalcap"): lambda: pycocoevalcap_scorer("bleu4"),
    ("bleu4", "sacrebleu (13a, lower)"): sacrebleu_bleu,
    ("bleu4", "nltk (Treebank, lower)"): nltk_bleu,
    ("bleu4", "aac-metrics"): lambda: aac_metrics_scorer("bleu4"),
    ("bleu4", "bleuscore (13a, lower)"): bleuscore_bleu,
}


def prepare(metric: str, label: str, path: str) -> Callable[[], float]:
    """Imports a contender and loads the captions."""
    scorer = CONTENDERS[metric, label]()
    data = json.loads(Path(path).read_text(encoding="utf-8"))
    return lambda: scorer(data["predictions"], data["references"])


# The process that measures


def measure_all(data: dict, rounds: int, folder: str, aac_python: str) -> dict:
    """All contenders on one set of captions: their medians, or an error."""

    def measure_one(contender: tuple[str, str]) -> dict:
        python = aac_python if contender[1] == "aac-metrics" else sys.executable
        command = [python, "-m", "tests.benchmarks.bench_captions", "--child", *contender, data["path"]]
        return measure(command, {"BENCH_FOLDER": folder})

    return take_turns(CONTENDERS, rounds, measure_one)


# Report


def java_version() -> str:
    """What java says of itself."""
    if not shutil.which("java"):
        return "java not installed"
    lines = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr.splitlines()
    # JAVA_TOOL_OPTIONS are reported first.
    return next((line.replace('"', "") for line in lines if "version" in line), "java")


def table(data: dict, results: dict) -> list[str]:
    """One size as a Markdown table; ratios above 1 say how much more the others take."""
    lines = [
        f"### {data['size']:,} images, {data['captions']:,} captions",
        f"{data['text']}.",
        "",
        "| metric | contender | score | wall s | CPU s | peak MB | wall / ours | peak / ours |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (metric, label), result in results.items():
        if "error" in result:
            lines.append(f"| {metric} | {label} | {result['error']} | | | | | |")
            continue
        own = results[metric, "this repository"]
        ratios = [f"{result[key] / own[key]:.2f}" if own.get(key) else "" for key in ("wall", "memory")]
        values = [f"{result['score']:.6f}", f"{result['wall']:.2f}", f"{result['cpu']:.2f}"]
        cells = [metric, label, *values, f"{result['memory'] / 1e6:.0f}", *ratios]
        lines.append(f"| {' | '.join(cells)} |")
    return [*lines, ""]


def linearity(datasets: list[dict], results: list[dict]) -> list[str]:
    """How our time grows from the smallest to the largest size, against the number of captions."""
    if len(datasets) < 2:
        return []
    ranks = sorted(range(len(datasets)), key=lambda rank: datasets[rank]["captions"])
    small, large = ranks[0], ranks[-1]
    captions = datasets[large]["captions"] / datasets[small]["captions"]
    lines = []
    for metric in ("cider", "bleu4"):
        own = [results[rank][metric, "this repository"] for rank in (small, large)]
        if not any("error" in result for result in own):
            growth = own[1]["wall"] / own[0]["wall"]
            lines.append(f"- {metric}: {captions:.1f} times the captions take {growth:.1f} times the wall time.")
    return ["### Growth with the number of captions", *lines, ""]


def report(arguments: argparse.Namespace, host: list[str], datasets: list[dict], results: list[dict]) -> str:
    """The section as Markdown."""
    sizes = " ".join(map(str, arguments.sizes))
    aac = "" if arguments.aac_python == sys.executable else " --aac-python OTHER_ENVIRONMENT/bin/python"
    lines = [
        "## CIDEr and BLEU-4",
        "",
        f"{date.today().isoformat()}, `python -m tests.benchmarks.bench_captions --sizes {sizes} "
        f"--rounds {arguments.rounds}{aac}`.",
        *host,
        "",
        "From raw strings to score, tokenization included, in a new process each time; imports and loading are not "
        f"counted. Medians of {arguments.rounds} rounds in which the contenders take turns. CPU is user and system "
        "time with children (java). Peak is resident memory, children included, above what was resident before. "
        "Ratios are theirs / ours. Half of the candidates are another caption of the same image, half are captions "
        "of another image; five references each. Scores differ where tokens do. aac-metrics runs without its check of "
        "the Java version, with pycocoevalcap's jar, and without its audio model where that does not import.",
        "",
    ]
    for data, result in zip(datasets, results, strict=True):
        lines += table(data, result)
    return "\n".join([*lines, *linearity(datasets, results)])


def main() -> None:
    """Parses the command line, measures, reports."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5000, 40000], help="numbers of images")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--aac-python", default=sys.executable, help="Python of the environment with aac-metrics")
    parser.add_argument("--child", nargs=3, metavar=("METRIC", "LABEL", "DATA"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return serve(lambda: prepare(*arguments.child))
    host = [
        machine(),
        f"Versions: Python {platform.python_version()}, {versions(PACKAGES)}; separately "
        f"{versions(AAC_PACKAGES, arguments.aac_python)}; {java_version()}.",
    ]
    with tempfile.TemporaryDirectory() as folder:
        datasets = [make_data(size, Path(folder) / f"{size}.json") for size in arguments.sizes]
        results = [measure_all(data, arguments.rounds, folder, arguments.aac_python) for data in datasets]
    section = report(arguments, host, datasets, results)
    write_section("captions", section, arguments.output)
    print(section)


if __name__ == "__main__":
    main()

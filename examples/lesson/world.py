"""A small world to train and evaluate in: pictures of one shape, captions, and questions with ten answers each.

A scene is a shape, its colour, its place and the background. A quarter of all scenes, spread so that every value and
every pair of values still occurs among the others, is held out: training never sees such a picture or a caption of it.
"""

from itertools import product
from typing import NamedTuple

import numpy as np

PAD, START, END = 0, 1, 2

# The first name of each shape is the one that questions are answered with.
SHAPES = (("square", "box"), ("circle", "disc"), ("triangle", "wedge"), ("cross", "plus"))
COLORS = {
    "red": (0.9, 0.1, 0.1),
    "green": (0.1, 0.8, 0.1),
    "blue": (0.2, 0.2, 1.0),
    "yellow": (0.9, 0.9, 0.1),
    "purple": (0.7, 0.1, 0.8),
    "white": (1.0, 1.0, 1.0),
}
# Row and column of the middle of the shape, in pixels.
PLACES = {"left": (16, 8), "right": (16, 24), "top": (8, 16), "bottom": (24, 16)}
BACKGROUNDS = {"black": (0.0, 0.0, 0.0), "gray": (0.5, 0.5, 0.5), "brown": (0.4, 0.25, 0.1), "pink": (1.0, 0.6, 0.7)}
TEMPLATES = (
    "a {color} {shape} at the {place} on {background}",
    "the {place} shows a {color} {shape} over {background}",
    "there is {background} behind a {color} {shape} at the {place}",
)
QUESTIONS = {
    "color": "which color is it",
    "shape": "which shape is it",
    "place": "where is it",
    "background": "what is behind it",
}
SIZE = 32


class Scene(NamedTuple):
    """Numbers of a shape, a colour, a place and a background."""

    shape: int
    color: int
    place: int
    background: int


VALUES = {
    "shape": [names[0] for names in SHAPES],
    "color": list(COLORS),
    "place": list(PLACES),
    "background": list(BACKGROUNDS),
}
SCENES = [Scene(*numbers) for numbers in product(*(range(len(VALUES[name])) for name in Scene._fields))]
HELD_OUT = [scene for scene in SCENES if sum(scene) % 4 == 0]
TRAINING = [scene for scene in SCENES if sum(scene) % 4]


def _vocabulary() -> dict[str, int]:
    texts = [*TEMPLATES, *QUESTIONS.values()]
    words = [word for text in texts for word in text.split() if not word.startswith("{")]
    words += [name for names in SHAPES for name in names] + [*COLORS, *PLACES, *BACKGROUNDS]
    return {word: number for number, word in enumerate(dict.fromkeys(["<pad>", "<start>", "<end>", *words]))}


VOCABULARY = _vocabulary()
WORDS = list(VOCABULARY)


def words_to_ids(text: str) -> list[int]:
    """Token ids of a text of this world, without start and end.

    >>> ids_to_words(words_to_ids("where is it"))
    'where is it'
    """
    return [VOCABULARY[word] for word in text.split()]


def ids_to_words(ids) -> str:
    """The text that token ids stand for."""
    return " ".join(WORDS[number] for number in ids)


def caption(scene: Scene, template: int, rng: np.random.Generator) -> list[int]:
    """Words a scene by a template; the shape's name is one of its two."""
    words = {name: values[number] for (name, values), number in zip(VALUES.items(), scene)}
    words["shape"] = SHAPES[scene.shape][rng.integers(2)]
    return words_to_ids(TEMPLATES[template].format(**words))


def answers(scene: Scene, kind: str, rng: np.random.Generator, num_people: int = 10) -> list[int]:
    """Answers of ten people: four of five see the right value, the others any of its kind."""
    values, truth = VALUES[kind], getattr(scene, kind)
    seen = np.where(rng.random(num_people) < 0.8, truth, rng.integers(len(values), size=num_people))
    return [VOCABULARY[values[number]] for number in seen]


def render(scene: Scene, rng: np.random.Generator) -> np.ndarray:
    """Paints a scene (3, 32, 32), about 0..1: the shape is a bit off its place, and every pixel is noisy."""
    row, column = np.array(list(PLACES.values())[scene.place]) + rng.integers(-2, 3, size=2)
    down, right = np.mgrid[:SIZE, :SIZE]
    down, right = down - row, right - column
    radius = rng.integers(5, 7)
    shape = [
        np.maximum(abs(down), abs(right)) < radius,
        down**2 + right**2 < radius**2,
        (abs(right) < (down + radius) / 2) & (abs(down) < radius),
        (np.minimum(abs(down), abs(right)) < 2) & (np.maximum(abs(down), abs(right)) < radius),
    ][scene.shape]
    color, background = (
        np.array(list(table.values())[n])[:, None, None]
        for table, n in ((COLORS, scene.color), (BACKGROUNDS, scene.background))
    )
    image = np.where(shape, color, background)
    return (image + rng.normal(0, 0.05, image.shape)).astype(np.float32)


class RetrievalPair(NamedTuple):
    """A picture (1, 3, 32, 32) and its caption (1, max_len), padded."""

    image: np.ndarray
    caption_ids: np.ndarray


class VQATriple(NamedTuple):
    """A picture, a question (1, max_len), the right answer and those of ten people."""

    image: np.ndarray
    question_ids: np.ndarray
    answer_id: int
    answers: list[int]


class CaptionSample(NamedTuple):
    """A picture and three wordings of its caption, without padding."""

    image: np.ndarray
    references: list[list[int]]


class EvalSuite(NamedTuple):
    """What a model is evaluated on."""

    retrieval: list[RetrievalPair]
    vqa: list[VQATriple]
    captions: list[CaptionSample]


def padded(ids: list[int], max_len: int) -> np.ndarray:
    """Ids as one row (1, max_len), PAD behind them."""
    return np.array([ids + [PAD] * (max_len - len(ids))])


def build_eval_suite(seed: int = 7777, n_samples: int = 50, vocab_size: int = 128, max_len: int = 12) -> EvalSuite:
    """Makes pairs, questions and captions of held-out scenes, each scene at most once in each list.

    Args:
        seed: Decides which scenes, wordings, answers and noise.
        n_samples: Length of each list.
        vocab_size: Number of ids that the model knows, at least `len(VOCABULARY)`.
        max_len: Length of a padded caption or question.

    Raises:
        ValueError: There are fewer held-out scenes, more words, or longer captions than asked for.

    >>> suite = build_eval_suite(seed=1, n_samples=3)
    >>> [len(part) for part in suite], len(suite.captions[0].references)
    ([3, 3, 3], 3)
    """
    _check_sizes(n_samples, vocab_size, max_len)
    rng = np.random.default_rng([seed, 1])
    for_pairs, for_questions, for_captions = (
        [HELD_OUT[number] for number in rng.permutation(len(HELD_OUT))[:n_samples]] for _ in EvalSuite._fields
    )
    kinds = [list(QUESTIONS)[number % len(QUESTIONS)] for number in range(n_samples)]
    return EvalSuite(
        [_pair(scene, max_len, rng) for scene in for_pairs],
        [_triple(scene, kind, max_len, rng) for scene, kind in zip(for_questions, kinds)],
        [_caption_sample(scene, rng) for scene in for_captions],
    )


def _pair(scene: Scene, max_len: int, rng: np.random.Generator) -> RetrievalPair:
    ids = caption(scene, rng.integers(len(TEMPLATES)), rng)
    return RetrievalPair(render(scene, rng)[None], padded(ids, max_len))


def _triple(scene: Scene, kind: str, max_len: int, rng: np.random.Generator) -> VQATriple:
    question = padded(words_to_ids(QUESTIONS[kind]), max_len)
    right = VOCABULARY[VALUES[kind][getattr(scene, kind)]]
    return VQATriple(render(scene, rng)[None], question, right, answers(scene, kind, rng))


def _caption_sample(scene: Scene, rng: np.random.Generator) -> CaptionSample:
    references = [caption(scene, template, rng) for template in range(len(TEMPLATES))]
    return CaptionSample(render(scene, rng)[None], references)


def _check_sizes(n_samples: int, vocab_size: int, max_len: int) -> None:
    if not 1 <= n_samples <= len(HELD_OUT):
        raise ValueError(f"n_samples is {n_samples}, expected 1..{len(HELD_OUT)}, the number of held-out scenes")
    if vocab_size < len(VOCABULARY):
        raise ValueError(f"vocab_size is {vocab_size}, expected at least {len(VOCABULARY)}, the words of this world")
    longest = max(len(text.split()) for text in (*TEMPLATES, *QUESTIONS.values()))
    if max_len <= longest:
        raise ValueError(f"max_len is {max_len}, expected at least {longest + 1}: the longest caption and its end")


class Batch(NamedTuple):
    """Training samples: pictures (n, 3, 32, 32), captions and questions (n, max_len), answers (n,)."""

    images: np.ndarray
    captions: np.ndarray
    questions: np.ndarray
    answers: np.ndarray


def training_batch(rng: np.random.Generator, size: int = 64, max_len: int = 12) -> Batch:
    """Draws training scenes without replacement and gives each a caption, a question and one person's answer.

    A caption ends with END before its padding.
    """
    scenes = [TRAINING[number] for number in rng.permutation(len(TRAINING))[:size]]
    kinds = [list(QUESTIONS)[number] for number in rng.integers(len(QUESTIONS), size=size)]
    captions = [padded([*caption(scene, rng.integers(len(TEMPLATES)), rng), END], max_len) for scene in scenes]
    return Batch(
        np.stack([render(scene, rng) for scene in scenes]),
        np.concatenate(captions),
        np.concatenate([padded(words_to_ids(QUESTIONS[kind]), max_len) for kind in kinds]),
        np.array([answers(scene, kind, rng, num_people=1)[0] for scene, kind in zip(scenes, kinds)]),
    )

"""The made-up world is sound, the model works as it says, and fifty steps lift it above guessing."""

import csv
from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from examples import learning_curve as curve  # noqa: E402
from examples.lesson import evaluation, world  # noqa: E402
from examples.lesson.model import make_model  # noqa: E402

SUITE = world.build_eval_suite()


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """Several workers with several threads each wait for one another."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def all_captions(scenes):
    """Every wording of every scene."""
    return {
        template.format(shape=shape, color=values["color"], place=values["place"], background=values["background"])
        for scene in scenes
        for values in [{name: world.VALUES[name][number] for name, number in zip(world.Scene._fields, scene)}]
        for template, shape in product(world.TEMPLATES, world.SHAPES[scene.shape])
    }


def test_held_out_scenes_share_no_caption_with_training():
    assert len(world.HELD_OUT) == 96 and len(world.TRAINING) == 288
    held_out, training = all_captions(world.HELD_OUT), all_captions(world.TRAINING)
    assert not held_out & training
    seen = {tuple(reference) for sample in SUITE.captions for reference in sample.references}
    assert {world.ids_to_words(reference) for reference in seen} <= held_out
    batch = world.training_batch(np.random.default_rng(0))
    assert {world.ids_to_words(row[: row.index(world.END)]) for row in batch.captions.tolist()} <= training


@pytest.mark.parametrize("first, second", [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)])
def test_training_has_every_pair_of_values(first, second):
    pairs = {(scene[first], scene[second]) for scene in world.TRAINING}
    names = [list(world.VALUES)[place] for place in (first, second)]
    assert len(pairs) == np.prod([len(world.VALUES[name]) for name in names])


def test_suite_depends_on_its_seed_alone():
    again, other = world.build_eval_suite(), world.build_eval_suite(seed=1)
    assert all((a.image == b.image).all() for a, b in zip(SUITE.retrieval, again.retrieval))
    assert [sample.references for sample in SUITE.captions] == [sample.references for sample in again.captions]
    assert [triple.answers for triple in SUITE.vqa] == [triple.answers for triple in again.vqa]
    assert [sample.references for sample in SUITE.captions] != [sample.references for sample in other.captions]


def test_pictures_and_captions_of_the_suite_are_distinct():
    assert len({tuple(pair.caption_ids[0]) for pair in SUITE.retrieval}) == 50
    assert len({pair.image.tobytes() for pair in SUITE.retrieval}) == 50


def test_answers_depend_on_the_picture_and_on_the_question():
    rng = np.random.default_rng(0)
    one, other = world.Scene(0, 0, 0, 0), world.Scene(1, 1, 1, 1)
    modes = {
        (scene, kind): max(given := world.answers(scene, kind, rng, 50), key=given.count)
        for scene in (one, other)
        for kind in world.QUESTIONS
    }
    assert len(set(modes.values())) == 8
    assert {len(triple.answers) for triple in SUITE.vqa} == {10}


def test_references_are_paraphrases():
    for sample in SUITE.captions:
        texts = [world.ids_to_words(reference) for reference in sample.references]
        assert len(set(texts)) == 3
        for name in ("color", "place", "background"):
            assert len({word for text in texts for word in text.split() if word in world.VALUES[name]}) == 1


@pytest.mark.parametrize("scene", world.SCENES[::7], ids=str)
def test_a_shape_is_painted_in_its_color_at_its_place(scene):
    image = world.render(scene, np.random.default_rng(3))
    color, ground = list(world.COLORS.values())[scene.color], list(world.BACKGROUNDS.values())[scene.background]
    distance = [((image - np.array(value)[:, None, None]) ** 2).sum(axis=0) for value in (color, ground)]
    rows, columns = np.nonzero(distance[0] < distance[1])
    row, column = list(world.PLACES.values())[scene.place]
    # Off its place by two pixels at most, and never wider than six from its middle.
    assert len(rows) > 20
    assert abs(rows - row).max() <= 8 and abs(columns - column).max() <= 8


@pytest.mark.parametrize(
    "options, message",
    [
        ({"n_samples": 0}, "n_samples is 0, expected 1..96"),
        ({"n_samples": 97}, "n_samples is 97"),
        ({"vocab_size": 5}, "vocab_size is 5, expected at least"),
        ({"max_len": 10}, "max_len is 10, expected at least 11"),
    ],
)
def test_sizes_that_do_not_fit(options, message):
    with pytest.raises(ValueError, match=message):
        world.build_eval_suite(**options)


def test_decoder_does_not_look_ahead():
    model = make_model(0).eval()
    patches, _ = model.encode_image(torch.from_numpy(SUITE.vqa[0].image))
    before, changed = torch.tensor([[1, 5, 6, 7]]), torch.tensor([[1, 5, 6, 9]])
    first, second = model.decode(before, patches), model.decode(changed, patches)
    assert torch.allclose(first[:, :3], second[:, :3], atol=1e-5)
    assert not torch.allclose(first[:, 3], second[:, 3], atol=1e-5)


def test_written_captions_have_neither_start_nor_end_nor_padding():
    images = torch.from_numpy(np.concatenate([sample.image for sample in SUITE.captions[:5]]))
    for caption in make_model(0).write(images):
        assert len(caption) <= 12
        assert not {world.PAD, world.START, world.END} & set(caption)


def test_padding_changes_no_embedding_and_no_answer():
    model = make_model(0).eval()
    short = torch.tensor([world.words_to_ids("where is it")])
    long = torch.from_numpy(world.padded(short[0].tolist(), 12))
    patches, _ = model.encode_image(torch.from_numpy(SUITE.vqa[0].image))
    assert torch.allclose(model.encode_text(short), model.encode_text(long), atol=1e-6)
    assert torch.allclose(model.answer(short, patches), model.answer(long, patches), atol=1e-5)


@pytest.mark.parametrize("training", [True, False])
def test_evaluate_is_deterministic_and_leaves_the_mode(training):
    model = make_model(3).train(training)
    first = evaluation.evaluate(model, SUITE)
    assert first == evaluation.evaluate(model, SUITE)
    assert model.training is training
    assert set(first) == set(evaluation.baselines(model, SUITE))
    assert {"i2t_r@1", "t2i_r@10", "i2t_mrr", "vqa_em", "vqa_soft", "bleu4", "cider"} <= set(first)


def test_a_perfect_model_scores_what_perfect_is():
    assert evaluation.retrieval_scores(np.eye(50))["t2i_r@1"] == 1.0
    scores = evaluation.caption_scores([sample.references[1] for sample in SUITE.captions], SUITE)
    assert scores["bleu4"] == 1.0
    assert scores["cider"] > 10 / 3


def test_empty_captions_score_0():
    assert evaluation.caption_scores([[] for _ in SUITE.captions], SUITE) == {"bleu4": 0.0, "cider": 0.0}


def test_baselines_by_hand():
    found = evaluation.baselines(make_model(0), SUITE)
    assert (found["i2t_r@1"], found["t2i_r@5"], found["t2i_r@10"]) == (0.02, 0.1, 0.2)
    assert found["i2t_mrr"] == pytest.approx(sum(1 / rank for rank in range(1, 51)) / 50)
    for answer in range(len(world.VOCABULARY)):
        by_hand = np.mean([min(triple.answers.count(answer) / 3, 1) for triple in SUITE.vqa])
        assert by_hand <= found["vqa_soft"] + 1e-12


def made_rows(num_above):
    names = {f"{prefix}{name}": 0.5 for name in curve.CLAIMS for prefix in ("", "baseline_")}
    return [
        {"seed": seed, "step": 50, **names, **{name: 0.6 if seed < num_above else 0.5 for name in curve.CLAIMS}}
        for seed in range(10)
    ]


def test_nine_seeds_of_ten_are_enough_and_equal_is_not_above():
    assert curve.seeds_above(made_rows(9)) == dict.fromkeys(curve.CLAIMS, 9)
    curve.check_claims(made_rows(9))
    with pytest.raises(SystemExit, match="expected at least 9 of 10"):
        curve.check_claims(made_rows(8))
    with pytest.raises(SystemExit, match="expected at least 1 of 1"):
        curve.check_claims(made_rows(0)[:1])


def test_fifty_steps_lift_one_seed_above_guessing(tmp_path, capsys):
    curve.main(["--seeds", "0", "--every", "25", "--output", str(tmp_path)])
    printed = capsys.readouterr().out
    assert printed.count("above its baseline at the end in 1 of 1 seeds") == len(curve.CLAIMS)
    with open(tmp_path / "learning_curve.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["step"] for row in rows] == ["0", "25", "50"]
    assert float(rows[2]["loss"]) < float(rows[1]["loss"])

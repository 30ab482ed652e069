"""Which of several datasets a Trainer evaluated: each is scored by its own references, or there is no number."""

import copy
import pickle
import warnings
from types import SimpleNamespace

import datasets
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metrics.utils.evaluation_labels import Evaluation, fits_column, label_rows
from metrics.utils.evaluation_sets import EvaluationSet, choose
from tests.stress import rounds
from tests.utils.echo_trainer import REFERENCES, WordTokenizer, padded

TOKENIZER = WordTokenizer()
# Each row's prediction is the first of its references; so what is scored by others has another number.
TEXTS = {"a": [group[0] for group in REFERENCES], "b": [group[0] for group in REFERENCES[::-1]]}
SETS = {"a": REFERENCES, "b": REFERENCES[::-1]}


@pytest.fixture(scope="module")
def cider(load_metric):
    return load_metric("cider")


@pytest.fixture(scope="module")
def right(cider):
    return cider.compute(predictions=TEXTS["a"], references=REFERENCES)["cider"]


def table(name, labels="labels"):
    """A dataset of one set: what the model is told to write, its labels, and the captions, which the model lacks."""
    ids = [TOKENIZER.encode(text) for text in TEXTS[name]]
    columns = {"input_ids": ids, "attention_mask": [[1] * len(row) for row in ids], "captions": SETS[name]}
    return datasets.Dataset.from_dict({**columns, "labels": ids if labels == "labels" else [[7, 2]] * len(ids)})


def batch(name, labels=None):
    predictions = np.array(padded([TOKENIZER.encode(text) for text in TEXTS[name]], -100))
    return SimpleNamespace(predictions=predictions, label_ids=predictions if labels is None else labels)


def constant(size=11):
    return np.full((size, 2), 7)


def as_table(rows):
    return rows


def as_rows(rows):
    torch = pytest.importorskip("torch")

    class Rows(torch.utils.data.Dataset):
        def __len__(self):
            return len(rows)

        def __getitem__(self, i):
            return {key: rows[i][key] for key in ("input_ids", "attention_mask", "labels")}

    return Rows()


def as_stream(rows):
    torch = pytest.importorskip("torch")

    class Stream(torch.utils.data.IterableDataset):
        def __iter__(self):
            return ({key: row[key] for key in ("input_ids", "attention_mask", "labels")} for row in rows)

    return Stream()


def collate(items):
    import torch

    filler = {"input_ids": 0, "labels": -100, "attention_mask": 0}
    return {key: torch.tensor(padded([item[key] for item in items], filler[key])) for key in filler}


@pytest.fixture(scope="module")
def make_trainer(tmp_path_factory):
    """A Seq2SeqTrainer whose model writes its input."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("accelerate")
    from transformers import BartConfig, BartForConditionalGeneration, Seq2SeqTrainer, Seq2SeqTrainingArguments

    class Echo(BartForConditionalGeneration):
        def generate(self, input_ids=None, **kwargs):
            return input_ids

    torch.manual_seed(0)
    model = Echo(
        BartConfig(
            vocab_size=len(TOKENIZER.words),
            d_model=16,
            encoder_layers=1,
            decoder_layers=1,
            encoder_attention_heads=2,
            decoder_attention_heads=2,
            encoder_ffn_dim=16,
            decoder_ffn_dim=16,
            max_position_embeddings=32,
            pad_token_id=0,
            bos_token_id=1,
            eos_token_id=2,
            decoder_start_token_id=1,
            forced_eos_token_id=None,
        )
    ).eval()

    def make(callback, sets, **arguments):
        arguments = {"per_device_eval_batch_size": 4, "generation_max_length": 12, **arguments}
        arguments = Seq2SeqTrainingArguments(
            str(tmp_path_factory.mktemp("trainer")),
            use_cpu=True,
            report_to=[],
            predict_with_generate=True,
            disable_tqdm=True,
            **arguments,
        )
        return Seq2SeqTrainer(model, arguments, collate, eval_dataset=sets, compute_metrics=callback)

    return make


# A Seq2SeqTrainer with two sets of as many rows


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"batch_eval_metrics": True},
        {"eval_do_concat_batches": False},
        {"remove_unused_columns": False},
    ],
    ids=str,
)
@pytest.mark.parametrize("watched", [False, True])
@pytest.mark.parametrize("given", ["lists", "datasets"])
def test_each_set_is_scored_by_its_own_references(cider, right, make_trainer, given, watched, arguments):
    sets = {name: table(name) for name in "ab"}
    passed = (SETS, None) if given == "lists" else (sets, "captions")
    callback = cider.compute_metrics(TOKENIZER, *passed)
    trainer = make_trainer(callback, sets, **arguments)
    if watched:
        assert callback.watch(trainer) is trainer
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        found = trainer.evaluate()
    assert (found["eval_a_cider"], found["eval_b_cider"]) == (right, right)


@pytest.mark.parametrize(
    "make, arguments",
    [
        *[
            (make, {"batch_eval_metrics": batched})
            for make in (as_table, as_rows, as_stream)
            for batched in (False, True)
        ],
        # Slow: worker processes start.
        (as_rows, {"dataloader_num_workers": 1, "dataloader_persistent_workers": True}),
    ],
)
def test_a_watched_trainer_needs_no_labels(cider, right, make_trainer, make, arguments):
    sets = {name: make(table(name, "constant")) for name in "ab"}
    callback = cider.compute_metrics(TOKENIZER, SETS)
    trainer = make_trainer(callback, sets, **arguments)
    callback.watch(trainer)
    for _ in range(2):
        found = trainer.evaluate()
        assert (found["eval_a_cider"], found["eval_b_cider"]) == (right, right)


@pytest.mark.parametrize("arguments", [{}, {"batch_eval_metrics": True}], ids=str)
def test_sets_that_nothing_tells_apart_are_an_error(cider, make_trainer, arguments):
    sets = {name: table(name, "constant") for name in "ab"}
    trainer = make_trainer(cider.compute_metrics(TOKENIZER, sets, "captions"), sets, **arguments)
    with pytest.raises(ValueError, match=r"may be those of 'a' \(11\) and 'b' \(11\).*callback.watch\(trainer\)"):
        trainer.evaluate()


def test_sets_passed_to_evaluate_are_named_by_its_mapping(cider, right, make_trainer):
    callback = cider.compute_metrics(TOKENIZER, SETS)
    trainer = callback.watch(make_trainer(callback, None))
    found = trainer.evaluate({"b": as_rows(table("b", "constant")), "a": as_rows(table("a", "constant"))})
    assert (found["eval_a_cider"], found["eval_b_cider"]) == (right, right)


# Another dataset of as many rows


@pytest.mark.parametrize("method", ["evaluate", "predict"])
def test_another_dataset_is_no_number(cider, right, make_trainer, method):
    # Its labels are not those of the dataset that is bound, at the first evaluation already.
    val, test = table("a"), table("b")
    trainer = make_trainer(cider.compute_metrics(TOKENIZER, val, "captions"), val)
    with pytest.raises(ValueError, match=r"label_ids\[0\] holds .* where the dataset has .*bind"):
        getattr(trainer, method)(test)
    assert trainer.evaluate()["eval_cider"] == right


@pytest.mark.parametrize("method", ["evaluate", "predict"])
def test_another_dataset_is_scored_by_the_references_it_holds(cider, right, make_trainer, method):
    val, test = table("a", "constant"), table("b", "constant")
    callback = cider.compute_metrics(TOKENIZER, val, "captions")
    trainer = callback.watch(make_trainer(callback, val))
    assert trainer.evaluate()["eval_cider"] == right
    found = getattr(trainer, method)(test)
    found = found.metrics["test_cider"] if method == "predict" else found["eval_cider"]
    assert found == right


def test_a_watched_trainer_does_not_score_what_it_was_not_told_of(cider, make_trainer):
    val, test = as_rows(table("a", "constant")), as_rows(table("b", "constant"))
    callback = cider.compute_metrics(TOKENIZER, REFERENCES)
    trainer = callback.watch(make_trainer(callback, val))
    with pytest.warns(UserWarning, match="nothing tells"):
        trainer.evaluate()
    with pytest.raises(ValueError, match="another dataset is evaluated than before"):
        trainer.predict(test)
    callback.bind(SETS["b"])
    with pytest.warns(UserWarning, match="nothing tells"):
        assert trainer.predict(test).metrics["test_cider"] > 6


def test_a_dataloader_that_the_trainer_kept_is_an_error(cider, make_trainer):
    # Alone, a Trainer with persistent workers evaluates the first dataset again.
    callback = cider.compute_metrics(TOKENIZER, table("a"), "captions")
    trainer = make_trainer(callback, table("a"), dataloader_num_workers=1, dataloader_persistent_workers=True)
    callback.watch(trainer).evaluate()
    with pytest.raises(ValueError, match="dataloader_persistent_workers=True"):
        trainer.evaluate(table("b"))


def test_watch_forgets_an_evaluation_that_broke_off(cider, right, make_trainer):
    callback = cider.compute_metrics(TOKENIZER, table("a"), "captions")
    trainer = make_trainer(callback, table("a"), batch_eval_metrics=True)
    callback.watch(trainer)
    step = trainer.prediction_step
    calls = iter([step])
    trainer.prediction_step = lambda *args, **kwargs: next(calls)(*args, **kwargs)
    with pytest.raises(StopIteration):
        trainer.evaluate()
    trainer.prediction_step = step
    assert trainer.evaluate()["eval_cider"] == right


def test_watch_takes_a_trainer(cider):
    with pytest.raises(TypeError, match="without get_eval_dataloader, expected a Trainer"):
        cider.compute_metrics(TOKENIZER, REFERENCES).watch(object())


def test_dataloaders_of_other_kinds_tell_nothing(cider):
    # A list of batches, as a method that somebody overrode may return, cannot be told from another.
    seen = []
    trainer = SimpleNamespace(
        eval_dataset={"a": 1},
        get_eval_dataloader=lambda name: [batch(name)],
        get_test_dataloader=len,
        evaluation_loop=lambda loader: seen.append(callback(*loader)),
    )
    callback = cider.compute_metrics(TOKENIZER, {"a": REFERENCES, "b": SETS["b"][:5]})
    callback.watch(trainer)
    trainer.evaluation_loop(trainer.get_eval_dataloader("a"))
    assert seen[0]["cider"] > 6


# Labels, simulated


def test_labels_of_another_evaluation_are_an_error(cider, right):
    callback = cider.compute_metrics(TOKENIZER, REFERENCES)
    for _ in range(2):
        assert callback(batch("a"))["cider"] == right
    with pytest.raises(ValueError, match=r"label_ids\[0\] holds .* where the evaluation before had"):
        callback(batch("b"))
    assert callback(batch("a"))["cider"] == right
    callback.bind(SETS["b"])
    assert callback(batch("b"))["cider"] == right


def test_labels_that_say_nothing_are_warned_of_once(cider):
    callback = cider.compute_metrics(TOKENIZER, REFERENCES)
    with pytest.warns(UserWarning, match="nothing tells whether the rows"):
        callback(batch("a", constant()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        callback(batch("a", constant()))
        cider.compute_metrics(TOKENIZER, REFERENCES, check_labels=False)(batch("a", constant()))
        # Whoever calls it without labels is no Trainer.
        callback(SimpleNamespace(predictions=batch("a").predictions, label_ids=None))


def test_labels_at_random_among_the_references_are_right(cider, right):
    callback, rng = cider.compute_metrics(TOKENIZER, REFERENCES), np.random.default_rng(0)
    for _ in range(5):
        labels = [TOKENIZER.encode(group[rng.integers(len(group))]) for group in REFERENCES]
        assert callback(batch("a", np.array(padded(labels, -100))))["cider"] == right


def test_other_labels_at_each_evaluation_need_the_option(cider, right):
    rng = np.random.default_rng(0)
    labels = rng.integers(100, 1 << 20, size=(2, 11, 4))
    callback = cider.compute_metrics(TOKENIZER, REFERENCES, check_labels=False)
    assert [callback(batch("a", one))["cider"] for one in labels] == [right, right]
    callback = cider.compute_metrics(TOKENIZER, REFERENCES)
    with pytest.warns(UserWarning, match="nothing tells"):
        callback(batch("a", labels[0]))
    with pytest.raises(ValueError, match="check_labels=False where labels change at random"):
        callback(batch("a", labels[1]))


def test_a_few_labels_that_do_not_fit_are_warned_of(cider):
    references, texts = REFERENCES * 4, TEXTS["a"] * 4
    ids = [TOKENIZER.encode(text) for text in texts]
    labels = [*ids[:-1], [1, 5, 5, 5, 2]]
    callback = cider.compute_metrics(TOKENIZER, references)
    with pytest.warns(UserWarning, match=r"1 of 44 labels \(the first is label_ids\[43\]\)"):
        callback(SimpleNamespace(predictions=np.array(padded(ids, -100)), label_ids=np.array(padded(labels, -100))))


@pytest.mark.parametrize(
    "make",
    [
        lambda rows: padded(rows, -100),
        lambda rows: padded(rows, 0),
        lambda rows: padded([row + [-100] for row in rows], 0),
        lambda rows: [[0] * (12 - len(row)) + row for row in rows],
        lambda rows: padded([row[1:] for row in rows], -100),
        lambda rows: [row[:3] for row in rows],
        lambda rows: padded([[-100] * 2 + row[2:] for row in rows], -100),
        lambda rows: padded([[9, *row] for row in rows], -100),
    ],
    ids=["ignored", "pad", "both", "left", "start", "cut", "prompt", "more"],
)
def test_what_collators_make_of_a_column_is_known(cider, right, make):
    callback = cider.compute_metrics(TOKENIZER, table("a"), "captions")
    labels = np.array(make(table("a")["labels"][:]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert callback(batch("a", labels))["cider"] == right


def test_rows_grouped_by_length_are_found_without_asking(cider):
    callback = cider.compute_metrics(TOKENIZER, table("a"), "captions")
    order = sorted(range(11), key=lambda row: len(TEXTS["a"][row]))
    rows = batch("a").predictions[order]
    with pytest.raises(ValueError, match="in another order .*group_by_length"):
        callback(SimpleNamespace(predictions=rows, label_ids=rows))


def test_sets_with_the_same_references_score_alike(cider, right):
    callback = cider.compute_metrics(TOKENIZER, {"clean": REFERENCES, "noisy": list(REFERENCES)})
    assert callback(batch("a"))["cider"] == right


def test_the_number_of_rows_tells_sets(cider):
    callback = cider.compute_metrics(TOKENIZER, {"a": REFERENCES, "b": SETS["b"][:7]}, check_labels=False)
    rows = batch("b").predictions[:7]
    found = callback(SimpleNamespace(predictions=rows, label_ids=constant(7)))
    assert found == cider.compute(predictions=TEXTS["b"][:7], references=SETS["b"][:7])
    with pytest.raises(ValueError, match="5 predictions came, expected .*: 11 of 'a', 7 of 'b'"):
        callback(SimpleNamespace(predictions=rows[:5], label_ids=constant(5)))


def test_repeated_rows_of_several_processes_are_no_set(cider, monkeypatch):
    import sys

    # Eleven rows, or seven and four of them again: labels that are alike cannot say.
    callback = cider.compute_metrics(TOKENIZER, {"a": REFERENCES, "b": SETS["b"][:7]})
    monkeypatch.setattr(sys.modules[type(callback).__module__], "num_processes", lambda: 2)
    assert callback(batch("a"))["cider"] == cider.compute(predictions=TEXTS["a"], references=REFERENCES)["cider"]
    with pytest.raises(ValueError, match=r"may be those of 'a' \(11\) and 'b' \(7\)"):
        callback(batch("a", constant()))


def test_embeddings_of_two_sets(load_metric):
    metric, rng = load_metric("recall_at_k"), np.random.default_rng(0)
    images, texts = rng.normal(size=(2, 6, 4)).astype(np.float32)
    images[:3], images[3:] = images[0], images[3]
    ids = {"a": [1, 1, 1, 2, 2, 2], "b": [1, 2, 3, 4, 5, 6]}
    sets = {name: {"image": rows, "labels": [[i, ord(name)] for i in range(6)]} for name, rows in ids.items()}
    callback = metric.compute_metrics(references=sets, column="image", k=1)
    found = {}
    for name in "ab":
        rows = SimpleNamespace(predictions=(images, texts), label_ids=np.array(sets[name]["labels"]))
        found[name] = callback(rows)
        assert found[name] == metric.compute_metrics(references=ids[name], k=1, check_labels=False)(rows)
    assert found["a"] != found["b"]
    with pytest.raises(ValueError, match="do not tell which"):
        callback(SimpleNamespace(predictions=(images, texts), label_ids=np.arange(6)))


# Options, mappings, copies


def test_options_of_each_set(cider, load_metric):
    by = {"a": ["x", "y"] * 5 + ["x"], "b": ["z"] * 11}
    callback = cider.compute_metrics(TOKENIZER, SETS, by=by, also=[(load_metric("bleu4"), {"by": by})])
    found = {name: callback(batch(name)) for name in "ab"}
    assert found["a"]["by/y/count"] == 5 and "by/z/count" not in found["a"]
    assert found["b"]["by/z/count"] == 11 and "by/y/count" not in found["b"]
    with pytest.raises(ValueError, match=r"by is list .*, expected a mapping of the labels of each set: \['a', 'b'\]"):
        cider.compute_metrics(TOKENIZER, SETS, by=["x"] * 11)
    with pytest.raises(ValueError, match="clusters is dict .*, expected a mapping of the labels of each set"):
        cider.compute_metrics(TOKENIZER, SETS, clusters={"a": [0] * 11})


def test_labels_of_the_rows_before_do_not_stay(cider, make_trainer):
    callback = cider.compute_metrics(TOKENIZER, REFERENCES, by=["x"] * 11)
    with pytest.raises(ValueError, match=r"by has one label per row .* expected bind\(..., by=...\)"):
        callback.bind(SETS["b"])
    callback.bind(SETS["b"], by=["y"] * 11)
    assert callback(batch("b"))["by/y/count"] == 11
    with pytest.raises(TypeError, match="bind has no option 'sigma'"):
        callback.bind(SETS["b"], sigma=3)
    callback = cider.compute_metrics(TOKENIZER, table("a"), "captions", by=["x"] * 11)
    trainer = callback.watch(make_trainer(callback, table("a")))
    with pytest.raises(ValueError, match="by has one label per row of the dataset that is bound, and another"):
        trainer.predict(table("b"))


@pytest.mark.parametrize(
    "references, column, message",
    [
        ({"a": REFERENCES, "b": [*REFERENCES[:2], []]}, None, r"in the set 'b': references\[2\] is an empty list"),
        (
            {"a": table("a"), "b": REFERENCES},
            "captions",
            "in the set 'b': column is 'captions' and references are list",
        ),
        ({"a": table("a"), "b": table("b")}, None, r"in the set 'a': column is None, expected one of"),
        ({"a": table("a"), "b": table("b")}, "caption", r"in the set 'a': column is 'caption', expected one of"),
        ({}, None, "references is an empty mapping"),
    ],
)
def test_what_is_no_set_is_named(cider, references, column, message):
    with pytest.raises(ValueError, match=message):
        cider.compute_metrics(TOKENIZER, references, column)


def test_a_mapping_of_columns_stays_a_dataset(cider, right):
    # With the name of one of its columns; else its names are those of sets.
    columns = {"captions": REFERENCES, "others": SETS["b"]}
    assert cider.compute_metrics(TOKENIZER, columns, "captions")(batch("a"))["cider"] == right
    callback = cider.compute_metrics(TOKENIZER, datasets.DatasetDict(a=table("a"), b=table("b")), "captions")
    assert [callback(batch(name))["cider"] for name in "ab"] == [right, right]


def test_what_is_known_is_kept_in_a_copy(cider, right):
    callback = cider.compute_metrics(TOKENIZER, REFERENCES)
    callback(batch("a"))
    for other in (copy.deepcopy(callback), pickle.loads(pickle.dumps(callback))):
        assert other(batch("a"))["cider"] == right
        with pytest.raises(ValueError, match="the evaluation before had"):
            other(batch("b"))
    # A dataset is not kept: in another process it would be another object.
    callback = cider.compute_metrics(TOKENIZER, table("a"), "captions")
    other = pickle.loads(pickle.dumps(callback))
    assert "Dataset" not in str(pickle.dumps(callback))
    with pytest.raises(ValueError, match="where the dataset has"):
        other(batch("b"))


def test_check_labels_is_one_of_three(cider):
    with pytest.raises(ValueError, match="check_labels is 'yes', expected None, True or False"):
        cider.compute_metrics(TOKENIZER, REFERENCES, check_labels="yes")


# Properties

_rows = st.lists(st.integers(1, 6), min_size=1, max_size=6)


@given(_rows, _rows)
def test_labels_that_are_a_part_fit(label, known):
    """Against all subsets of positions: a part fits, and what is neither a part nor padded does not."""

    def is_part(part, whole):
        return any(
            tuple(whole[i] for i in range(len(whole)) if chosen >> i & 1) == tuple(part)
            for chosen in range(1 << len(whole))
        )

    first, second = label_rows([label])[0], label_rows([known])[0]
    found = fits_column(first, second)
    if is_part(label, known) or is_part(known, label):
        assert found
    elif set(label) <= set(known) or not {label[0], label[-1]} - set(known):
        # Nothing of it can be padding.
        assert not found


def test_another_last_token_is_no_padding():
    other, padded_one, known = label_rows([[1, 5, 9, -100], [1, 5, 2, 9], [1, 5, 2, -100]])
    assert not fits_column(other, known)
    assert fits_column(padded_one, known)


@pytest.mark.stress
def test_no_set_is_chosen_for_another():
    """Two or three sets that share rows at random, and rows of one of them or of a stranger: it, or an error."""
    rng = np.random.default_rng(0)
    outcomes = {"right": 0, "warned": 0, "error": 0}
    for _ in range(rounds(200, 5000)):
        size, number = int(rng.integers(2, 30)), int(rng.integers(2, 4))
        shared = rng.random(size) < rng.choice([0, 0.5, 0.9])
        texts = [[f"w{row} s{0 if shared[row] else name}" for row in range(size)] for name in range(number + 1)]
        sets = [EvaluationSet(str(name), [[text, "x y"] for text in texts[name]], [{}]) for name in range(number)]
        actual = int(rng.integers(number + 1))
        words = sorted({text for group in texts for text in group})
        evaluation = Evaluation(lambda rows, words=words: [words[row[0]] for row in rows])
        kind = rng.choice(["reference", "constant", "foreign"], p=[0.8, 0.1, 0.1])
        labels = {
            "reference": [[words.index(text)] for text in texts[actual]],
            "constant": [[1]] * size,
            "foreign": [[len(words) + row] for row in range(size)],
        }[kind]
        evaluation.add([], size, np.array(labels))
        try:
            found, doubt = choose(sets, None, evaluation)
            # A stranger that shares all rows but one in twenty is warned of.
            assert doubt or [group[0] for group in found.references] == texts[actual]
            outcomes["warned" if doubt else "right"] += 1
        except ValueError:
            # All that has one meaning alone is told.
            assert kind != "reference" or actual == number
            outcomes["error"] += 1
    assert outcomes["right"] > outcomes["error"] > outcomes["warned"]

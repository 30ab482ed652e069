"""A Trainer whose model writes what it is given, so that what it should score is known. Also run under torchrun:

torchrun --nproc_per_node 2 -m tests.utils.echo_trainer FOLDER
"""

import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SPECIAL = ["<pad>", "<start>", "<end>"]
SUBJECTS = [
    "a cat",
    "two dogs",
    "the red bird",
    "an old man",
    "a boy",
    "one horse",
    "a girl",
    "many people",
    "a train",
    "some flowers",
    "a boat",
]
# Eleven captions with one to three references each: a number that neither two processes nor batches divide.
CAPTIONS = [f"{subject} near the {place}" for subject, place in zip(SUBJECTS, ["house", "tree", "river"] * 4)]
WORDINGS = ["{0} by the {1}", "there is {0} near a {1}", "{0} near the water"]
REFERENCES = [
    [wording.format(subject, place) for wording in WORDINGS[: 1 + i % 3]]
    for i, (subject, place) in enumerate(zip(SUBJECTS, ["house", "lake", "river"] * 4))
]


class WordTokenizer:
    """Splits at blanks; knows the words above."""

    def __init__(self):
        texts = CAPTIONS + [text for group in REFERENCES for text in group]
        self.words = SPECIAL + sorted({word for text in texts for word in text.split()})

    def encode(self, text):
        return [1, *map(self.words.index, text.split()), 2]

    def batch_decode(self, rows, skip_special_tokens=False):
        first = len(SPECIAL) if skip_special_tokens else 0
        return [" ".join(self.words[token] for token in row if token >= first) for row in rows]


def padded(rows, filler):
    width = max(map(len, rows))
    return [row + [filler] * (width - len(row)) for row in rows]


def collate(batch):
    import torch

    rows = [row["input_ids"] for row in batch]
    return {"input_ids": torch.tensor(padded(rows, 0)), "labels": torch.tensor(padded(rows, -100))}


def echo_model(vocabulary_size):
    import torch

    class Echo(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(()))

        def forward(self, input_ids, labels=None):
            logits = torch.nn.functional.one_hot(input_ids, vocabulary_size).float() * self.weight
            # Behind the logits stands what seq2seq models return too.
            return {"loss": logits.mean(), "logits": logits, "states": logits[:, :1]}

    return Echo()


def evaluate_with(metric, tokenizer, folder, also=(), **arguments):
    """Evaluates a Trainer on the captions and returns its metrics, without the prefix and the times."""
    from transformers import Trainer, TrainingArguments

    trainer = Trainer(
        model=echo_model(len(tokenizer.words)),
        args=TrainingArguments(
            output_dir=str(folder),
            use_cpu=True,
            report_to=[],
            disable_tqdm=True,
            remove_unused_columns=False,
            **arguments,
        ),
        data_collator=collate,
        eval_dataset=[{"input_ids": tokenizer.encode(text)} for text in CAPTIONS],
        compute_metrics=metric.compute_metrics(tokenizer, REFERENCES, also=also),
        preprocess_logits_for_metrics=metric.preprocess_logits_for_metrics,
    )
    found = trainer.evaluate()
    return {
        key.removeprefix("eval_"): value
        for key, value in found.items()
        if not key.endswith(("runtime", "per_second", "loss", "preparation_time", "num_input_tokens_seen"))
    }


def evaluate_sets(metric, tokenizer, folder, streams=False, watched=False, **arguments):
    """The CIDEr of two sets of as many rows, each row's prediction the first of its references."""
    import torch
    from transformers import Trainer, TrainingArguments

    class Stream(torch.utils.data.IterableDataset):
        def __init__(self, rows):
            self.rows = rows

        def __iter__(self):
            return iter(self.rows)

    references = {"a": REFERENCES, "b": REFERENCES[::-1]}
    # As wide in each batch: streams are read by one process, which puts the batches of all together.
    ids = padded([tokenizer.encode(group[0]) for group in REFERENCES], 0)
    sets = {"a": [{"input_ids": row} for row in ids], "b": [{"input_ids": row} for row in ids[::-1]]}
    callback = metric.compute_metrics(tokenizer, references)
    trainer = Trainer(
        model=echo_model(len(tokenizer.words)),
        args=TrainingArguments(
            output_dir=str(folder),
            use_cpu=True,
            report_to=[],
            disable_tqdm=True,
            remove_unused_columns=False,
            per_device_eval_batch_size=2,
            **arguments,
        ),
        data_collator=collate,
        eval_dataset={name: Stream(rows) if streams else rows for name, rows in sets.items()},
        compute_metrics=callback,
        preprocess_logits_for_metrics=metric.preprocess_logits_for_metrics,
    )
    if watched:
        callback.watch(trainer)
    found = trainer.evaluate()
    return [found["eval_a_cider"], found["eval_b_cider"]]


def main(folder):
    """Evaluates whole and in batches; every process writes what it found."""
    import evaluate
    import torch

    torch.set_num_threads(1)
    cider, tokenizer = evaluate.load(str(ROOT / "metrics" / "cider")), WordTokenizer()
    found = {
        str(batched): evaluate_with(
            cider, tokenizer, folder, per_device_eval_batch_size=2, batch_eval_metrics=batched, ddp_backend="gloo"
        )
        for batched in (False, True)
    }
    found["sets"] = [
        evaluate_sets(cider, tokenizer, folder, streams, watched, batch_eval_metrics=batched, ddp_backend="gloo")
        for streams in (False, True)
        for watched in (False, True)
        for batched in (False, True)
    ]
    rank, size = torch.distributed.get_rank(), torch.distributed.get_world_size()
    Path(folder, f"of_{rank}.json").write_text(json.dumps({"processes": size, **found}))
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])

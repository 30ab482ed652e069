"""The Space's page: the options of BLEU. The rest stands in _page.py."""

from pathlib import Path

import evaluate

from _page import NgramPage, Option, launch


class Bleu4Page(NgramPage):
    title = "BLEU-4"
    lead = "How many 1- to 4-grams of captions stand in their references, with the numbers of COCO's evaluation."
    options = (
        Option("max_order", "highest order of n-grams", (4, 5, 6)),
        Option("smoothing", "of orders without a match", (True, False, "epsilon", "add-k", "exp", "coco")),
        Option("effective_order", "a short exact match scores 1"),
        Option("tokenizer", "ptb is COCO's", ("ptb", "13a", "whitespace", "char")),
    )

    def orders(self, options):
        return options["max_order"]


page = Bleu4Page(evaluate.load(str(Path(__file__).with_name("bleu4.py"))))

if __name__ == "__main__":
    launch(page)

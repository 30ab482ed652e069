"""The Space's page: the options of CIDEr, and the weights of the n-grams that make it. The rest stands in _page.py."""

from pathlib import Path

import evaluate

from _page import OF_WEIGHTED, NgramPage, Option, check_most, launch, unpacked_bytes


class CiderPage(NgramPage):
    title = "CIDEr"
    lead = (
        "How well captions agree with the consensus of several references, with the numbers of COCO's evaluation: "
        "CIDEr-D, CIDEr and CIDEr-R."
    )
    options = (
        Option("variant", "what papers call CIDEr is cider_d", ("cider_d", "cider", "cider_r")),
        Option("n", "highest order of n-grams"),
        Option("sigma", "width of cider_d's length penalty"),
        Option("scale", "factor on all scores"),
        Option("tokenizer", "ptb is COCO's", ("ptb", "13a", "whitespace", "char")),
        Option("stem", "Porter stems, the form of the paper"),
        Option("end_token", "appended to every caption", parse=lambda text: text or None),
        Option("document_frequencies", "a saved table (.npz), or of these references", is_file=True),
    )

    bounds = OF_WEIGHTED

    def orders(self, options):
        return options["n"]

    def check_size(self, arguments, options):
        super().check_size(arguments, options)
        if options["document_frequencies"] != "corpus":
            check_most(self.bounds, "unpacked", unpacked_bytes(options["document_frequencies"]))

    def encoding(self, options):
        return options["tokenizer"], options["stem"], options["end_token"]

    def weight(self, inputs, options):
        if "document_frequencies" in options:
            table = self.part("scoring").open_table(options["document_frequencies"])
        else:
            settings = {name: options[name] for name in ("n", "tokenizer", "stem", "end_token")}
            table = self.metric.document_frequencies(inputs.arguments["references"], **settings)
        scorer = self.part("scoring").Scorer()
        return lambda gram: f"idf {scorer.idf(table.num_images, table[gram]):.2f}"


page = CiderPage(evaluate.load(str(Path(__file__).with_name("cider.py"))))

if __name__ == "__main__":
    launch(page)

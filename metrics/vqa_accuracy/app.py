"""The Space's page: VQA's files and protocols, what normalisation made of an answer, and what was lost to style."""

from collections import Counter
from pathlib import Path

import evaluate
import numpy as np

from _page import OF_ANSWERS, Inputs, Marked, Option, Page, Upload, launch, number, pair_answers, why_html

_STYLES = {
    "case": "only upper and lower case differ",
    "punctuation": "only marks differ",
    "article": "only an article differs",
    "number_word": "only a number word and its digit differ",
    "special_token": "a special token of the decoder was left in place",
    "sentence": "an annotator's answer stands inside a sentence",
    "unanimity": "all annotators typed the same, so the official rules normalise nothing",
}


class VqaAccuracyPage(Page):
    title = "VQA Accuracy"
    sample, plural = "question", "questions"
    lead = (
        "How far short answers agree with those of about ten annotators: the official number, every other protocol "
        "that has a name, ANLS and relaxed accuracy."
    )
    headers = ("prediction", "answers of the annotators", "answer type")
    widths = ("27%", "56%", "17%")
    hint = "Several answers are separated by `|`. Types may be left empty in all rows."
    rows = (
        ["no", "yes | yes | yes | yes | yes | yes | yes | yes | no | no", "yes/no"],
        ["Black.", "black | black | black | black | black | black | black | black | black | black", "other"],
        ["two", "2 | 2 | 2 | 2 | 2 | 2 | 3 | 3 | 2 | 2", "number"],
        [
            "It is an umbrella.",
            "umbrella | umbrella | umbrella | umbrella | parasol | umbrella | umbrella | umbrella "
            "| umbrella | umbrella",
            "other",
        ],
    )
    uploads = (
        Upload("Results: [{question_id, answer}, ...]", (".json",)),
        Upload("Annotations: {annotations: [{question_id, answers, ...}]}", (".json",)),
        Upload("Questions (may be left out)", (".json",)),
    )
    options = (
        Option(
            "normalization",
            "None: the preset's, or official",
            (None, "official", "official-2017", "always", "evalai", "prediction-only", "none"),
        ),
        Option("formula", "None: the preset's, or leave-one-out", (None, "leave-one-out", "min3", "exact")),
        Option("preset", "of a data set", (None, "vqav2", "textvqa", "vizwiz", "okvqa", "aokvqa", "gqa")),
        Option("measure", "what is measured", ("vqa_accuracy", "anls", "relaxed_accuracy")),
        Option("stem", "Porter stems on both sides, for OK-VQA"),
    )
    keys = ("predictions", "references", "question_types", "answer_types")
    bounds = OF_ANSWERS

    def read_table(self, rows):
        inputs = super().read_table(rows)
        types = [str(row[2]).strip() for row in rows if any(str(cell).strip() for cell in row)]
        if any(types):
            if not all(types):
                place = inputs.names[types.index("")]
                raise ValueError(f"{place}, answer type is empty, expected one as in other rows")
            inputs.arguments["answer_types"] = types
        return inputs

    def read_files(self, paths, allow_missing):
        if not all(paths[:2]):
            raise ValueError("a file is missing, expected results and annotations")
        found = pair_answers(*paths, allow_missing)
        predictions, references = self.part("inputs").check_answers(found.predictions, found.references)
        types = {"question_types": found.question_types, "answer_types": found.answer_types}
        given = {key: value for key, value in types.items() if value is not None}
        return Inputs({"predictions": predictions, "references": references, **given}, list(map(str, found.ids)))

    def columns(self, inputs, options, results, rows):
        found = self._compared(inputs, options, rows)
        return {
            "prediction": [inputs.arguments["predictions"][row] for row in rows],
            "as compared": [prediction for prediction, _ in found],
            "annotators, as compared": [_counted(answers, prediction) for prediction, answers in found],
            "lost to style": self._lost_to(inputs, options, results, rows),
        }

    def _protocol(self, options):
        names = "normalization", "formula", "preset", "measure", "stem"
        return self.part("protocols").resolve_protocol(**{name: options[name] for name in names})

    def _numbered(self, inputs, rows):
        given = (inputs.arguments[key][rows.start : rows.stop] for key in ("predictions", "references"))
        return self.part("answers").number_answers(*given)

    def _compared(self, inputs, options, rows) -> list[tuple[str, list[str]]]:
        answers = self.part("protocols").compared(self._numbered(inputs, rows), self._protocol(options))
        return list(self.part("answers").questions(answers))

    def _lost_to(self, inputs, options, results, rows) -> list[str]:
        styles = [""] * len(rows)
        if "lost_to_style" in results:
            scores = np.array(results["per_sample"][self.score_key(results)][rows.start : rows.stop])
            find = self.part("diagnosis").questions_lost_to_style
            for style, found in find(self._numbered(inputs, rows), scores, self._protocol(options)).items():
                for question in found.tolist():
                    styles[question] = style
        return styles

    def explain(self, inputs, options, results, row):
        one = range(row, row + 1)
        protocol, ((prediction, references),) = self._protocol(options), self._compared(inputs, options, one)
        score, matches = results["per_sample"][self.score_key(results)][row], references.count(prediction)
        (style,) = self._lost_to(inputs, options, results, one)
        shown = {
            "prediction": Marked([(inputs.arguments["predictions"][row], "hit2" if score else "miss")]).html(),
            "as compared": Marked([(prediction, "hit2" if score else "miss")]).html(),
            "annotators": _counted(inputs.arguments["references"][row], None).html(),
            "as compared ": _counted(references, prediction).html(),
            "matches": f"{matches} of {len(references)}",
            "score": f"{number(score)} ({protocol.formula or protocol.measure})",
        }
        if style:
            shown["lost to style"] = f"{style}: {_STYLES[style]}"
        rules = f"normalization {protocol.normalization}" if protocol.normalization else "no normalization"
        return why_html(inputs.names[row], rules, shown)


def _counted(answers: list[str], prediction: str | None) -> Marked:
    counts = Counter(answers).most_common()
    return Marked((f"{answer} ×{count}", "hit2" if answer == prediction else "hit0") for answer, count in counts)


page = VqaAccuracyPage(evaluate.load(str(Path(__file__).with_name("vqa_accuracy.py"))))

if __name__ == "__main__":
    launch(page)

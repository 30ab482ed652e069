"""The Space's page: the options of EntityScore, and which entities were found and missed."""

from pathlib import Path

import evaluate

from _page import OF_DESCRIPTIONS, CaptionPage, Marked, Option, launch, number, why_html


class EntityScorePage(CaptionPage):
    title = "EntityScore"
    sample, plural = "description", "descriptions"
    lead = (
        "How completely a long description names the entities of a reference: their recall, and how close a T5 "
        "encoder finds them. The first score waits for the model."
    )
    # The model is some hundred megabytes: nobody waits for it who has not asked.
    at_once = False
    bounds = OF_DESCRIPTIONS
    rows = (
        ["a man plays a guitar near a river while people talk.", "a man with a red guitar stands on a stage."],
        ["two dogs run on green grass.", "two dogs run on green grass and the children play with a kite."],
        ["water runs into a metal sink.", "the driver starts the engine of a blue car."],
    )
    options = (
        Option("formula", "the published code, or its README", ("favdbench", "readme")),
        Option("no_entities", "pairs without an entity on a side", ("skip", "zero")),
        Option("model_path", "the encoder", ("t5-base", "t5-small", "t5-large", "google/flan-t5-base")),
        Option("dtype", "of the encoder", ("float32", "bfloat16")),
        Option("batch_size", "entities encoded at once"),
    )

    def columns(self, inputs, options, results, rows):
        pairs = [_entities(results, row) for row in rows]
        return {
            "entities of the prediction": [_marked(own, other) for own, other in pairs],
            "entities missed": [Marked((stem, "miss") for stem in other if stem not in own) for own, other in pairs],
        }

    def explain(self, inputs, options, results, row):
        own, other = _entities(results, row)
        scores = {key: results["per_sample"][key][row] for key in ("entity_recall", "entity_similarity")}
        shared = len(set(own) & set(other))
        shown = {
            "prediction": _marked(own, other).html(),
            "reference": _marked(other, own).html(),
            "recall": f"{shared} of {len(other)} entities of the reference: {number(scores['entity_recall'])}",
            "similarity": f"{number(scores['entity_similarity'])}, by the encoder {options['model_path']}",
            "score": f"{number(results['per_sample']['entity_score'][row])}, the harmonic mean of both",
        }
        return why_html(inputs.names[row], "entities are stems of nouns; the reference is the one that counted", shown)


def _entities(results: dict, row: int) -> tuple[list[str], list[str]]:
    samples = results["per_sample"]
    return samples["predicted_entities"][row], samples["reference_entities"][row]


def _marked(stems: list[str], others: list[str]) -> Marked:
    return Marked((stem, "hit2" if stem in others else "miss") for stem in stems)


page = EntityScorePage(evaluate.load(str(Path(__file__).with_name("entity_score.py"))))

if __name__ == "__main__":
    launch(page)

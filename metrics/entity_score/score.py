"""FAVDBench's command line: `python score.py --pred_path P --refe_path R --model_path t5-base`, from any folder."""

import argparse
from pathlib import Path

import evaluate

from _shared import pair_captions, visible


def main() -> None:
    """Scores two files with the metric that stands beside this script, and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pred_path", required=True, help="a list of {image_id, caption}, or an annotation file")
    parser.add_argument("--refe_path", required=True, help="likewise")
    parser.add_argument("--model_path", default="t5-base", help="a T5 model on the Hub, or a folder")
    options = parser.parse_args()
    metric = evaluate.load(str(Path(__file__).with_name("entity_score.py")))
    try:
        data = pair_captions(options.pred_path, options.refe_path)
        captions = {"predictions": data.predictions, "references": data.references}
        results = metric.compute(**captions, model_path=options.model_path)
    except (ValueError, TypeError, OSError, ImportError) as error:
        parser.exit(2, f"error: {visible(str(error))}\n")
    print(visible(metric.signature()))
    for key, value in results.items():
        print(f"{key:<20} {value}")
    lowest, highest = results["entity_score_min"], results["entity_score_max"]
    print(f"Average: {results['entity_score']:.2f}, Range: ({lowest:.2f} - {highest:.2f})")


if __name__ == "__main__":
    main()

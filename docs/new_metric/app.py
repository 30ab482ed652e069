"""The Space's page: the options of NewMetric. The rest stands in _page.py."""

from pathlib import Path

import evaluate

from _page import CaptionPage, Option, launch


class NewMetricPage(CaptionPage):
    title = "NewMetric"
    lead = "Which part of the words of a reference a caption has."
    options = (Option("lower", "capitals make no other word"),)


page = NewMetricPage(evaluate.load(str(Path(__file__).with_name("new_metric.py"))))

if __name__ == "__main__":
    launch(page)

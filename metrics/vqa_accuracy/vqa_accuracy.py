# Copyright 2026 The multimodal-metrics authors.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.
"""VQA accuracy under every named protocol, with the official numbers, and why answers scored 0."""

import datasets
import evaluate

from ._shared import Asked, Checked, features_of
from .answers import number_answers
from .diagnosis import lost_to_style
from .inputs import check_answers, group_answers, is_id
from .measures import anls
from .normalizer import official
from .protocols import resolve_protocol
from .scoring import Scorer

# The loader copies only the siblings that this script imports, also those that only the others use.
_SIBLINGS = (number_answers, lost_to_style, anls, official, resolve_protocol)

_CITATION = """\
@inproceedings{antol2015vqa,
  title={{VQA}: Visual Question Answering},
  author={Antol, Stanislaw and Agrawal, Aishwarya and Lu, Jiasen and Mitchell, Margaret and Batra, Dhruv and
    Zitnick, C. Lawrence and Parikh, Devi},
  booktitle={ICCV},
  year={2015}
}
@inproceedings{goyal2017making,
  title={Making the {V} in {VQA} Matter: Elevating the Role of Image Understanding in Visual Question Answering},
  author={Goyal, Yash and Khot, Tejas and Summers-Stay, Douglas and Batra, Dhruv and Parikh, Devi},
  booktitle={CVPR},
  year={2017}
}
"""

_DESCRIPTION = """\
VQA accuracy compares a short answer with those of about ten annotators: it is right as far as three of the others gave
it too. Every protocol that papers use has a name here; the default gives the numbers of the official evaluation.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: one answer per question (str), or an answer's id (int).
    references: the answers of each question: list of str of any length, one str, annotation dicts {answer,
        answer_confidence, answer_id}, or ids (int).
    normalization: "official" (default), "official-2017", "always", "evalai", "prediction-only" or "none".
    formula: "leave-one-out" (default), "min3" or "exact" (default of ids).
    preset: "vqav2", "textvqa", "vizwiz", "okvqa", "aokvqa" or "gqa" sets the two above; an explicit option wins.
    stem: True maps words of both sides, as compared, to Porter stems (for OK-VQA); a callable str -> str changes
        predictions before they are normalised; False.
    measure: "vqa_accuracy" (default), "anls" or "relaxed_accuracy".
    question_types, answer_types: lists of str, one per question; None.
    per_sample: adds score and normalised prediction of every question in input order; False.
    confidence_level: such as 0.95, adds percentile bootstrap intervals of all values; None adds none.
    n_resamples, seed: of the bootstrap; 1000, 0.
    clusters: one label (str or int) per question; whole clusters are resampled. None.
    by: one label (str or int) per question; adds the scores of each label. None.
Returns:
    vqa_accuracy (or anls, relaxed_accuracy): 0..1. Papers print percent.
    per_answer_type, per_question_type (when types are given): type -> {"value", "count"}.
    lost_to_style (vqa_accuracy of texts): style -> number of answers that score 0 only because of it.
    confidence_interval (on request): key -> [low, high].
    by (on request): label -> the same keys, and count.
    per_sample (on request): dict of lists.
Examples:
    >>> import evaluate
    >>> vqa_accuracy = evaluate.load("metrics/vqa_accuracy")
    >>> results = vqa_accuracy.compute(
    ...     predictions=["no", "Yes."], references=[["yes"] * 8 + ["no"] * 2, ["yes"] * 10]
    ... )
    >>> round(results["vqa_accuracy"], 4), results["lost_to_style"]["unanimity"]
    (0.3, 1)
    >>> vqa_accuracy.signature()
    'vqa_accuracy|norm:official|formula:leave-one-out|stem:no|refs:10|v:0.1.0'
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class VqaAccuracy(Checked, evaluate.Metric):
    """The evaluate module; what VQA accuracy is stands in scoring.py."""

    _scorer = Scorer

    def _info(self):
        text, answer_id = datasets.Value("string"), datasets.Value("int64")
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=features_of(text, answer_id),
            codebase_urls=["https://github.com/GT-Vision-Lab/VQA"],
            reference_urls=["https://visualqa.org/evaluation.html", "https://arxiv.org/abs/1612.00837"],
        )

    def _check(self, predictions, references):
        # Items are looked at where they are numbered, and before they are stored.
        return predictions, references

    def _stored(self, predictions, references):
        return check_answers(predictions, references)

    def _compute(
        self,
        predictions,
        references,
        normalization=None,
        formula=None,
        preset=None,
        stem=False,
        measure="vqa_accuracy",
        question_types=None,
        answer_types=None,
        per_sample=False,
        confidence_level=None,
        n_resamples=1000,
        seed=0,
        clusters=None,
        by=None,
    ):
        predictions, references = group_answers(predictions, references)
        scorer = Scorer(normalization, formula, preset, stem, measure, is_id(predictions[0]))
        asked = Asked(per_sample, confidence_level, n_resamples, seed, clusters, by)
        types = {"answer_types": answer_types, "question_types": question_types}
        found = scorer.find(predictions, references, details=per_sample is True, **types)
        return self._scored(scorer, found, asked)

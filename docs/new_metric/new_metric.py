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
"""NewMetric: which part of the words of a reference a caption has."""

import datasets
import evaluate

from ._shared import Asked, Checked, features_of
from .scoring import Scorer

_CITATION = """\
@misc{new_metric,
  title={The paper that defines it},
  author={Its authors},
  year={2026}
}
"""

_DESCRIPTION = """\
The part of the words of a reference that a caption has, with the best of its references.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: one caption per image (str).
    references: the reference captions of each image (list of str; one str is one reference).
    lower: whether "Cat" and "cat" are one word; True.
    per_sample: adds the scores of every sample in input order; False.
    confidence_level: such as 0.95, adds percentile bootstrap intervals of all values; None adds none.
    n_resamples, seed: of the bootstrap; 1000, 0.
    clusters: one label (str or int) per sample; whole clusters are resampled. None.
    by: one label (str or int) per sample; adds the scores of each label. None.
Returns:
    new_metric: 0..1.
Examples:
    >>> import evaluate
    >>> new_metric = evaluate.load("metrics/new_metric")
    >>> new_metric.compute(predictions=["a cat"], references=[["the cat"]])
    {'new_metric': 0.5}
    >>> new_metric.signature()
    'new_metric|lower:yes|refs:1|v:0.1.0'
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class NewMetric(Checked, evaluate.Metric):
    """The evaluate module; what the metric is stands in scoring.py."""

    _scorer = Scorer

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=features_of(datasets.Value("string")),
        )

    def _compute(
        self,
        predictions,
        references,
        lower=True,
        per_sample=False,
        confidence_level=None,
        n_resamples=1000,
        seed=0,
        clusters=None,
        by=None,
    ):
        scorer = Scorer(lower).of(not isinstance(predictions[0], str))
        asked = Asked(per_sample, confidence_level, n_resamples, seed, clusters, by)
        return self._scored(scorer, scorer.find(predictions, references, details=per_sample), asked)

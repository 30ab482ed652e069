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
"""EntityScore of FAVDBench: the published code's numbers, many times faster, for any number of pairs."""

import datasets
import evaluate

from ._shared import Asked, Checked, features_of
from .scoring import Scorer
from .similarity import favdbench_similarity

# The loader copies only the siblings that this script imports, also those that only the others use.
_SIBLINGS = (favdbench_similarity,)

_CITATION = """\
@inproceedings{shen2023fine,
  title={Fine-grained Audible Video Description},
  author={Shen, Xuyang and Li, Dong and Zhou, Jinxing and Qin, Zhen and He, Bowen and Han, Xiaodong and Li, Aixuan and
    Dai, Yuchao and Kong, Lingpeng and Wang, Meng and Qiao, Yu and Zhong, Yiran},
  booktitle={CVPR},
  year={2023}
}
"""

_DESCRIPTION = """\
EntityScore measures how completely a long description names the entities (nouns) of a reference description: the
harmonic mean of entity recall and of the similarity that a T5 encoder finds between the entities of both.
"""

_KWARGS_DESCRIPTION = """
Args:
    predictions: one English text per sample (str).
    references: the reference of each sample (str), or several (list of str), of which the best counts.
    formula: "favdbench" (default, the published code) or "readme" (the formulas of its README).
    no_entities: "skip" (default) leaves pairs out where one side has no entity, "zero" scores them 0.
    model_path: a T5 model on the Hub or a folder; "t5-base".
    device: such as "cpu" or "cuda:0"; None takes a GPU where there is one.
    dtype: "float32" (default) or "bfloat16".
    batch_size: entities encoded at once; 128.
    per_sample: adds scores and entities of every sample in input order; False.
    confidence_level: such as 0.95, adds percentile bootstrap intervals of the means; None adds none.
    n_resamples, seed: of the bootstrap; 1000, 0.
    clusters: one label (str or int) per sample; whole clusters are resampled. None.
    by: one label (str or int) per sample; adds the scores of each label. None.
Returns:
    entity_score: the mean over the pairs, 0..1 (favdbench: up to 1.00005).
    entity_recall, entity_similarity: the means of its two parts, 0..1.
    entity_score_min, entity_score_max: the extremes.
    num_skipped: number of pairs left out.
    per_sample (on request): dict of lists.
Examples (need the model and NLTK's data):
    entity_score = evaluate.load("metrics/entity_score")
    results = entity_score.compute(predictions=["a man plays a guitar"], references=["a man with a red guitar sings"])
"""


@evaluate.utils.file_utils.add_start_docstrings(_DESCRIPTION, _KWARGS_DESCRIPTION)
class EntityScore(Checked, evaluate.Metric):
    """The evaluate module; what EntityScore is stands in scoring.py."""

    _scorer = Scorer

    def _info(self):
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_KWARGS_DESCRIPTION,
            features=features_of(datasets.Value("string")),
            codebase_urls=["https://github.com/OpenNLPLab/FAVDBench"],
            reference_urls=["https://arxiv.org/abs/2303.15616"],
        )

    def _compute(
        self,
        predictions,
        references,
        formula="favdbench",
        no_entities="skip",
        model_path="t5-base",
        device=None,
        dtype="float32",
        batch_size=128,
        per_sample=False,
        confidence_level=None,
        n_resamples=1000,
        seed=0,
        clusters=None,
        by=None,
    ):
        scorer = Scorer(formula, no_entities, model_path, device, dtype, batch_size)
        asked = Asked(per_sample, confidence_level, n_resamples, seed, clusters, by)
        return self._scored(scorer, scorer.find(predictions, references, details=per_sample is True), asked)

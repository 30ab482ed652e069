"""The official file formats of VQA -> predictions and answers, with the check that a submission gets.

Results are a list of {question_id, answer}; annotations a dict whose `annotations` list holds {question_id, answers},
and mostly question_type and answer_type. Ids are compared as they are: 42 and "42" are two ids, as for the server; one
file may not have both.
"""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from ..utils.containers import brief
from .captions import name_some, never_meet, what_row
from .json_text import read_json


class VqaSet(NamedTuple):
    """Predictions and annotations of the same questions, in the order of the annotations.

    Attributes:
        ids: Question ids.
        predictions: One answer per question.
        references: The annotators' answers, str or annotation dicts.
        question_types: One per question; None where the file has none.
        answer_types: One per question; None where the file has none.
        image_ids: One per question; None where the file has none.
        left_out: Number of ids that only one of the two files has, and that were left out on request.
    """

    ids: list
    predictions: list[str]
    references: list[list]
    question_types: list[str] | None
    answer_types: list[str] | None
    image_ids: list | None
    left_out: int


def pair_answers(
    predictions_path: str, references_path: str, questions_path: str | None = None, allow_missing: bool = False
) -> VqaSet:
    """Brings results and annotations together by question id, and checks them as a submission is checked.

    Args:
        predictions_path: The results file.
        references_path: The annotation file.
        questions_path: The questions file: must have all annotated questions; choices limit the answers.
        allow_missing: Leaves out ids that only one of the files has, instead of an error.

    Raises:
        ValueError: A file has another shape, or ids are missing, unknown, duplicate or of another type than annotated,
            or answers are no strings. All kinds of problems are named at once.
    """
    annotations = _by_id(_rows(references_path, "annotations"), references_path, ("question_id", "answers"))
    rows = _rows(predictions_path, "annotations")
    _check_submission(rows, annotations, predictions_path, references_path, allow_missing)
    answers = {row["question_id"]: row["answer"] for row in rows}
    if questions_path is not None:
        _check_questions(questions_path, annotations, answers, predictions_path)
    ids = [question_id for question_id in annotations if question_id in answers]
    if not ids:
        raise ValueError(_never_meet({predictions_path: answers, references_path: annotations}))
    chosen = [annotations[question_id] for question_id in ids]
    left_out = len(annotations.keys() ^ answers.keys())
    columns = [_column(chosen, key) for key in ("question_type", "answer_type", "image_id")]
    return VqaSet(ids, [answers[i] for i in ids], [row["answers"] for row in chosen], *columns, left_out)


def _rows(path: str, key: str) -> list[dict]:
    content = read_json(path)
    place = path
    if isinstance(content, dict) and key in content:
        content, place = content[key], f"{path}: {key}"
    if not isinstance(content, list):
        raise ValueError(f"{place} is {type(content).__name__}, expected a list, or a dict with the key {key!r}")
    for number, row in enumerate(content):
        if not isinstance(row, dict) or "question_id" not in row:
            raise ValueError(f"{place}[{number}] {what_row(row)}, expected a dict with question_id")
    return content


def _by_id(rows: list[dict], path: str, keys: Iterable[str]) -> dict:
    for number, row in enumerate(rows):
        missing = [key for key in keys if key not in row]
        if missing:
            raise ValueError(f"{path}[{number}] has the keys {brief(list(row))}, expected {missing} too")
        if not _is_id(row["question_id"]):
            raise ValueError(f"{path}[{number}]: question_id is {brief(row['question_id'])}, expected int or str")
    twice = [key for key, count in Counter(row["question_id"] for row in rows).items() if count > 1]
    if twice:
        raise ValueError(f"{path} has more than one entry for {_some(twice)}")
    alike = _alike(row["question_id"] for row in rows)
    if alike:
        raise ValueError(f"{path} has ids that are equal as text, once as int and once as str: {_some(alike)}")
    return {row["question_id"]: row for row in rows}


def _alike(ids: Iterable) -> list:
    """Those of ids that another is equal to as text: as keys of the official files both would be one."""
    ids = dict.fromkeys(ids)
    found = Counter(map(str, ids))
    return [question_id for question_id in ids if found[str(question_id)] > 1]


def _is_id(value) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)


def _check_submission(
    rows: list[dict], annotations: dict, path: str, references_path: str, allow_missing: bool
) -> None:
    kinds = {type(question_id) for question_id in annotations}
    typed = [row["question_id"] for row in rows if type(row["question_id"]) in kinds]
    other = [row["question_id"] for row in rows if type(row["question_id"]) not in kinds]
    unnamed = [row for row in rows if "answer" not in row]
    keys = map(what_row, unnamed[:1])
    not_text = [row["question_id"] for row in rows if "answer" in row and not isinstance(row["answer"], str)]
    found = Counter(typed)
    expected = " or ".join(sorted(kind.__name__ for kind in kinds))
    problems = [
        (other, f"ids that are not {expected}, as those of {references_path} are ({_first(annotations)}):"),
        ([question_id for question_id, count in found.items() if count > 1], "more than one answer for"),
        ([row["question_id"] for row in unnamed], f"no key 'answer' (the first row {''.join(keys)}) for"),
        (not_text, "an answer that is not a string for"),
        (_alike(typed), "answers for ids that are equal as text:"),
    ]
    if not allow_missing:
        problems.append(([i for i in annotations if i not in found], f"(of {references_path}) no answer for"))
        problems.append(([i for i in found if i not in annotations], f"(not in {references_path}) an answer for"))
    told = [f"{words} {_some(ids)}" for ids, words in problems if ids]
    if told:
        raise ValueError(f"{path} has " + "; ".join(told))


def _check_questions(path: str, annotations: dict, answers: dict, predictions_path: str) -> None:
    questions = _by_id(_rows(path, "questions"), path, ("question_id",))
    missing = [question_id for question_id in annotations if question_id not in questions]
    if len(missing) == len(annotations) and questions:
        raise ValueError(_never_meet({path: questions, "the annotations": annotations}))
    if missing:
        raise ValueError(f"{path} has no question for {_some(missing)} of the annotations")
    choices = {i: row["multiple_choices"] for i, row in questions.items() if "multiple_choices" in row}
    no_lists = [i for i, listed in choices.items() if not isinstance(listed, list)]
    if no_lists:
        raise ValueError(f"{path} has multiple_choices that are no list for {_some(no_lists)}")
    wrong = [i for i, answer in answers.items() if i in choices and answer not in choices[i]]
    if wrong:
        raise ValueError(f"{predictions_path} has answers that are not among multiple_choices for {_some(wrong)}")


def _column(rows: list[dict], key: str) -> list | None:
    found = [row[key] for row in rows if key in row]
    return found if len(found) == len(rows) else None


def _never_meet(sides: dict[str, dict]) -> str:
    return never_meet({path: [*map(repr, ids)] for path, ids in sides.items()}, "question id")


def _first(ids: dict) -> str:
    return ", ".join(map(repr, [*ids][:2]))


def _some(ids: list) -> str:
    # As Python writes them: 42 and "42" are two ids here.
    return name_some(map(brief, ids), "question id")

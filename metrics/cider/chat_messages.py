"""The model's text in what TRL passes as a completion: a text, or a list of chat messages."""

from collections.abc import Mapping

from ._shared import describe


def completion_text(completion, number: int) -> str:
    """The text of a completion: itself, or that of the assistant's last message, whatever others say behind it.

    Args:
        completion: A text, or a list of messages: mappings with a role (none is the assistant's) and a content, which
            is a text, a list of parts, or None beside the calls of tools.
        number: Its place among the completions, for an error.

    Returns:
        The text, "" where there is none: no message, or one that calls a tool alone.

    Raises:
        TypeError: It is something else, or none of its messages is the assistant's.

    >>> completion_text([{"role": "assistant", "content": "a cat"}, {"role": "tool", "content": "two cats"}], 0)
    'a cat'
    """
    if isinstance(completion, str):
        return completion
    place = f"completions[{number}]"
    if not isinstance(completion, list | tuple) or not all(isinstance(message, Mapping) for message in completion):
        raise TypeError(f"{place} is {describe(completion)}, expected str or a list of chat messages with content")
    said = [message for message in completion if message.get("role", "assistant") == "assistant"]
    if completion and not said:
        roles = sorted({str(message["role"]) for message in completion})
        raise TypeError(f"{place} has messages of {roles}, expected one of 'assistant' among them")
    return _content(said[-1], f"the assistant's last message in {place}") if said else ""


def _content(message: Mapping, place: str) -> str:
    if message.get("content") is None and ("content" in message or message.get("tool_calls")):
        return ""
    content = message.get("content")
    if isinstance(content, list | tuple) and all(isinstance(part, Mapping) for part in content):
        # Parts of other types, such as images, have no text.
        content = "".join(part.get("text") or "" for part in content)
    if not isinstance(content, str):
        raise TypeError(f"{place} is {describe(message)}, expected a content that is str or a list of parts")
    return content

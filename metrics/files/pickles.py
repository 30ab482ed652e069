"""Pickles of plain data, read by a machine of their own: dicts, lists, tuples of tokens, texts and numbers.

`pickle` runs what a file tells it to, and no list of allowed classes makes that safe: a file can alter an allowed
class, ask for gigabytes by a number, nest until the interpreter ends, or share tuples so that one hash takes hours.
This machine knows the few instructions that such data are made of, in all protocols. It hands out no class and calls
nothing; what it makes takes time and memory in proportion to the file.
"""

import codecs
import struct

from .pickled_values import filled_container, kind_of, plain_name, set_items, token_tuple

# No caption has such tokens or counts.
_LONGEST_TEXT, _LARGEST_INTEGER, _HIGHEST_PROTOCOL = 1 << 16, 1 << 60, 5
# Containers that are open at one time: an n-gram stands in a dict in a dict.
_MOST_MARKS = 32
_GET_1, _GET_4, _GET_LINE, _PUT_4, _PUT_LINE, _MEMOIZE, _FLOAT_8 = b"hjgrp\x94G"
_NUMBER_4, _NUMBER_8 = struct.Struct("<I").unpack_from, struct.Struct(">d").unpack_from
# Of a line with an index of the memo.
_LONGEST_NUMBER = 22


def read_plain_pickle(content: bytes):
    """Reads a pickle of dicts, lists, tuples of tokens, texts and numbers, of any protocol and of Python 2 or 3.

    Args:
        content: The pickle. The texts of Python 2 are read as UTF-8.

    Returns:
        What it holds; a defaultdict, OrderedDict or Counter as a dict.

    Raises:
        ValueError: It is none, or asks for anything else; the message names the byte.

    >>> import pickle
    >>> read_plain_pickle(pickle.dumps({("a", "cat"): 2.0}))
    {('a', 'cat'): 2.0}
    >>> read_plain_pickle(pickle.dumps(len))
    Traceback (most recent call last):
        ...
    ValueError: the pickle asks for builtins.len, expected plain containers and numbers only
    """
    machine = _Machine(content)
    try:
        machine.run()
        return machine.result()
    except IndexError:
        raise ValueError("the pickle ends too early, or takes what it does not have") from None
    except (TypeError, struct.error, OverflowError) as error:
        raise ValueError(f"the pickle is damaged at byte {machine.place}: {error}") from None


class _Missing:
    """Stands where the memo has nothing; no container takes it for a key or a token."""


_MISSING = _Missing()


class _Machine:
    """The stack, the marks in it and the memo; each instruction takes the place behind it and returns the next one."""

    def __init__(self, content: bytes):
        self.content, self.stack, self.marks, self.memo, self.place = content, [], [], [], 0
        # One byte asks for a container of some 64, and no byte for a place in the memo with a large number.
        self.containers_left = self.most_kept = 1000 + len(content) // 4
        self.push, self.instructions = self.stack.append, [self.unknown] * 256
        for codes, instruction in {
            b".": self.stop,
            b"R": self.reduce,
            b"c": self.name,
            b"\x93": self.stack_name,
            b"\x80": self.protocol,
            b"\x95": self.frame,
            b"q": self.put_1,
            b"}": self.empty_dict,
            b"d": self.dict,
            b"s": self.set_item,
            b"u": self.set_items,
            b"]": self.empty_list,
            b"l": self.list,
            b"a": self.append,
            b"e": self.appends,
            b"(": self.mark,
            b")": self.empty_tuple,
            b"t": self.tuple,
            b"\x85": self.tuple_1,
            b"\x86": self.tuple_2,
            b"\x87": self.tuple_3,
            b"U\x8c": self.text_1,
            b"TX": self.text_4,
            b"\x8d": self.text_8,
            b"S": self.quoted,
            b"V": self.escaped,
            b"K": self.int_1,
            b"M": self.int_2,
            b"J": self.int_4,
            b"\x8a": self.long_1,
            b"IL": self.int_line,
            b"F": self.float_line,
            b"N": self.none,
            b"\x88": self.true,
            b"\x89": self.false,
        }.items():
            for code in codes:
                self.instructions[code] = instruction

    def run(self):
        """Follows the instructions up to the last one.

        Those that a table is mostly made of (numbers, and what is put into the memo and got from it) stand here: a
        million n-grams take 7 s, and 11 s with a call for each.
        """
        content, stack, memo, push, instructions = self.content, self.stack, self.memo, self.push, self.instructions
        place = 0
        while place >= 0:
            code = content[place]
            if code == _GET_4:
                push(memo[_NUMBER_4(content, place + 1)[0]])
                place += 5
            elif code == _GET_1:
                push(memo[content[place + 1]])
                place += 2
            elif code == _PUT_4:
                number = _NUMBER_4(content, place + 1)[0]
                memo.append(stack[-1]) if number == len(memo) else self.put(number)
                place += 5
            elif code == _FLOAT_8:
                push(_NUMBER_8(content, place + 1)[0])
                place += 9
            elif code == _MEMOIZE:
                memo.append(stack[-1])
                place += 1
            elif code == _GET_LINE or code == _PUT_LINE:
                end = content.index(b"\n", place, place + _LONGEST_NUMBER)
                number = int(content[place + 1 : end])
                if number < 0:
                    raise IndexError
                if code == _GET_LINE:
                    push(memo[number])
                else:
                    memo.append(stack[-1]) if number == len(memo) else self.put(number)
                place = end + 1
            else:
                self.place = place
                place = instructions[code](place + 1)

    def unknown(self, place):
        raise ValueError(
            f"the pickle has the instruction {self.content[place - 1 : place]!r} at byte {place - 1}, "
            "expected those of plain containers, texts and numbers"
        )

    def result(self):
        if len(self.stack) != 1 or self.marks or self.content[self.place + 1 :].strip():
            raise ValueError("the pickle does not end with one value")
        return self.stack[0]

    def stop(self, place):
        return -1

    def protocol(self, place):
        if self.content[place] > _HIGHEST_PROTOCOL:
            raise ValueError(f"the pickle has the protocol {self.content[place]}, expected 0 to {_HIGHEST_PROTOCOL}")
        return place + 1

    def frame(self, place):
        if self.number(place, 8) > len(self.content) - place - 8:
            raise ValueError(f"the pickle has a frame at byte {place} that it does not fill")
        return place + 8

    # Numbers and lines behind an instruction.

    def number(self, place, width):
        return int.from_bytes(self.content[place : place + width], "little")

    def line(self, place, longest=400):
        end = self.content.find(b"\n", place, place + longest + 1)
        if end < 0:
            raise ValueError(f"the pickle has no line at byte {place}, expected one of at most {longest} bytes")
        return self.content[place:end], end + 1

    def whole(self, place):
        text, end = self.line(place)
        digits = text.removesuffix(b"L")
        if not digits.removeprefix(b"-").isdigit() or len(digits) > 20:
            raise ValueError(f"the pickle has {text[:40]!r} at byte {place}, expected a number")
        return int(digits), end

    # The memo.

    def put_1(self, place):
        self.put(self.content[place])
        return place + 1

    def put(self, number):
        if number >= self.most_kept:
            raise ValueError(f"the pickle keeps value {number}, more than its {len(self.content)} bytes can hold")
        # Optimized pickles leave numbers out.
        self.memo.extend([_MISSING] * (number + 1 - len(self.memo)))
        self.memo[number] = self.stack[-1]

    # Texts.

    def text(self, place, width):
        start = place + width
        length = self.number(place, width)
        if length > _LONGEST_TEXT or start + length > len(self.content):
            raise ValueError(
                f"the pickle has a text of {length} bytes at byte {place}, expected at most "
                f"{_LONGEST_TEXT}, all in the file"
            )
        self.push(self.content[start : start + length].decode("utf-8", "surrogatepass"))
        return start + length

    def text_1(self, place):
        return self.text(place, 1)

    def text_4(self, place):
        return self.text(place, 4)

    def text_8(self, place):
        return self.text(place, 8)

    def quoted(self, place):
        text, end = self.line(place, _LONGEST_TEXT)
        if len(text) < 2 or text[0] != text[-1] or text[0] not in b"'\"":
            raise ValueError(f"the pickle has {text[:40]!r} at byte {place}, expected a text in quotes")
        self.push(codecs.escape_decode(text[1:-1])[0].decode("utf-8", "surrogatepass"))
        return end

    def escaped(self, place):
        text, end = self.line(place, _LONGEST_TEXT)
        self.push(text.decode("raw-unicode-escape"))
        return end

    # Numbers.

    def int_1(self, place):
        self.push(self.content[place])
        return place + 1

    def int_2(self, place):
        self.push(self.number(place, 2))
        return place + 2

    def int_4(self, place):
        self.push(int.from_bytes(self.content[place : place + 4], "little", signed=True))
        return place + 4

    def long_1(self, place):
        end = place + 1 + self.content[place]
        self.integer(int.from_bytes(self.content[place + 1 : end], "little", signed=True), place)
        return end

    def int_line(self, place):
        number, end = self.whole(place)
        self.integer(number, place)
        return end

    def integer(self, number, place):
        if abs(number) >= _LARGEST_INTEGER:
            raise ValueError(f"the pickle has an integer at byte {place} that is no token or count: it is too large")
        self.push(number)

    def float_line(self, place):
        text, end = self.line(place)
        self.push(float(text))
        return end

    def none(self, place):
        self.push(None)
        return place

    def true(self, place):
        self.push(True)
        return place

    def false(self, place):
        self.push(False)
        return place

    # Tuples.

    def mark(self, place):
        if len(self.marks) == _MOST_MARKS:
            raise ValueError(f"the pickle nests {_MOST_MARKS} deep at byte {place}")
        self.marks.append(len(self.stack))
        return place

    def since_mark(self):
        start = self.marks.pop()
        items = self.stack[start:]
        del self.stack[start:]
        return items

    def empty_tuple(self, place):
        self.push(())
        return place

    def tuple(self, place):
        self.push(token_tuple(self.since_mark()))
        return place

    def tuple_1(self, place):
        self.stack[-1] = token_tuple(self.stack[-1:])
        return place

    def tuple_2(self, place):
        self.stack[-2:] = (token_tuple(self.stack[-2:]),)
        return place

    def tuple_3(self, place):
        self.stack[-3:] = (token_tuple(self.stack[-3:]),)
        return place

    # Lists and dicts.

    def container(self, made):
        self.containers_left -= 1
        if self.containers_left < 0:
            raise ValueError(f"the pickle has more containers than its {len(self.content)} bytes can fill")
        self.push(made)

    def empty_list(self, place):
        self.container([])
        return place

    def list(self, place):
        self.container(self.since_mark())
        return place

    def append(self, place):
        item = self.stack.pop()
        self.top(list).append(item)
        return place

    def appends(self, place):
        items = self.since_mark()
        self.top(list).extend(items)
        return place

    def empty_dict(self, place):
        self.container({})
        return place

    def dict(self, place):
        items = self.since_mark()
        self.container({})
        set_items(self.stack[-1], items)
        return place

    def set_item(self, place):
        value, key = self.stack.pop(), self.stack.pop()
        made = self.top(dict)
        if key.__class__ is tuple and key not in made:
            made[key] = value
        else:
            set_items(made, [key, value])
        return place

    def set_items(self, place):
        items = self.since_mark()
        set_items(self.top(dict), items)
        return place

    def top(self, kind):
        if type(self.stack[-1]) is not kind:
            raise ValueError(f"the pickle adds to {kind_of(self.stack[-1])}, expected a {kind.__name__}")
        return self.stack[-1]

    # Classes, of which there is none.

    def name(self, place):
        module, place = self.line(place)
        name, place = self.line(place)
        self.push(plain_name(module.decode(), name.decode()))
        return place

    def stack_name(self, place):
        name, module = self.stack.pop(), self.stack.pop()
        self.push(plain_name(module, name))
        return place

    def reduce(self, place):
        arguments, name = self.stack.pop(), self.stack.pop()
        self.container(filled_container(name, arguments))
        return place

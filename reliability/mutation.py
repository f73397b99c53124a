"""Broken files from whole ones: bytes changed, cut, repeated and spliced, and JSON with other values in it.

Everything is a function of the random generator that is passed, so that an input is known by its seed. That is why no library does
this: hypothesis has no inputs by number, remembers all of them (3 MB for a thousand, where the fuzzer allows 256 MB in all) and makes
some 400 a second, a third of them twice, where the readers take 1,200 and this makes 40,000; atheris changes bytes only inside its own
loop, which ``guided.py`` runs.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from random import Random
from typing import Any

#: Numbers at which programs stumble.
NUMBERS = (0, 1, -1, *(2**bits - 1 for bits in (7, 8, 15, 16, 31, 32, 63)), *(2**bits for bits in (8, 31, 53, 63, 64)))
NUMBERS += (10**18, 10**400)
#: What is hostile in any format: signs that mean something, bytes that are no text, and words.
TOKENS = (b"", b"\r\n", b'""', *(bytes([sign]) for sign in b"\0\n\r\t \"',;|\\<>{[#@\x1a\x80"))
TOKENS += (
    b"\xef\xbb\xbf",
    b"\xff\xfe",
    b"\xc0\x80",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\xe2\x80\xa8",
    b"\xd9\xa3",
)
TOKENS += (b"\x1b[31m", b"a" * 300, *b"-1 1e400 NaN Infinity null 99999999999999999999 0x10 .. /dev/zero".split())
#: What may stand where JSON has a value.
VALUES: tuple[Any, ...] = (None, True, False, [], {}, [[]], {"": {}}, [None] * 9, 0.5, -0.0, 1e308, *NUMBERS)
VALUES += (float("nan"), float("inf"), "", "x", "\0", "\ud800", "9" * 400, "../../etc/passwd")
#: The changes of bytes; what is named twice is done twice as often.
CHANGES = (
    "flip",
    "flip",
    "delete",
    "cut",
    "repeat",
    "insert",
    "insert",
    "replace",
    "replace",
    "number",
    "noise",
    "splice",
)


def mutate(random: Random, data: bytes, tokens: Sequence[bytes] = (), others: Sequence[bytes] = ()) -> bytes:
    """Return the bytes of a file after one to four changes; `others` are files to splice with."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        data = _changed(random, data, (*TOKENS, *tokens), others or (data,))
    return data


def _changed(random: Random, data: bytes, tokens: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    """Return the bytes with something else in the place of a few of them, of none, or of all that follow."""
    start = random.randrange(len(data) + 1)
    new = b""
    match random.choice(CHANGES):
        case "flip":
            old = data[start : start + 1]
            new = bytes(byte ^ 1 << random.randrange(8) for byte in old)
        case "delete":
            old = data[start : start + random.randrange(65)]
        case "cut":
            old = data[start:]
            if random.random() < 0.2:
                start, old = 0, data[:start]
        case "repeat":
            old = data[start : start + random.randrange(65)]
            new = old * random.choice((2, 3, 11, 101))
        case "insert":
            old, new = b"", random.choice(tokens) * random.choice((1, 1, 1, 3, 50))
        case "replace":
            old, new = data[start : start + random.randrange(13)], random.choice(tokens)
        case "number":
            size = random.choice((1, 2, 4, 8))
            old = data[start : start + size]
            new = (random.choice(NUMBERS) % (1 << 8 * size)).to_bytes(size, random.choice(("little", "big")))
        case "noise":
            old = data[start : start + random.randrange(33)]
            new = random.randbytes(len(old))
        case _:  # splice
            old, other = data[start:], random.choice(others)
            new = other[random.randrange(len(other) + 1) :]
    return data[:start] + new + data[start + len(old) :]


def mutate_json(random: Random, value: Any) -> Any:
    """Return a JSON value in which one or two parts are others, missing or doubled."""
    for _ in range(random.choice((1, 1, 2))):
        value = _other_part(random, value)
    return value


def _other_part(random: Random, value: Any) -> Any:
    if isinstance(value, dict) and value and random.random() < 0.85:
        key = random.choice(list(value))
        if random.random() < 0.1:
            return {name: each for name, each in value.items() if name != key}
        if random.random() < 0.05:
            return {**value, random.choice(("", "x", "__proto__", key + " ")): value[key]}
        return {**value, key: _other_part(random, value[key])}
    if isinstance(value, list) and value and random.random() < 0.7:
        place = random.randrange(len(value))
        new = [] if random.random() < 0.2 else [_other_part(random, value[place])]
        return [*value[:place], *new, *value[place + 1 :]]
    if isinstance(value, int) and random.random() < 0.5:
        return value + random.choice((1, -1, 2**31, -(2**63), 10**18))
    if random.random() < 0.03:
        depth = random.choice((10, 500, 900))
        return json.loads("[" * depth + "]" * depth)
    return random.choice(VALUES)


def dumps(value: Any) -> bytes:
    """Return JSON as a careless program would write it."""
    return json.dumps(value).encode()


def with_header(header: bytes, rest: bytes, length: int | None = None) -> bytes:
    """Return a safetensors file of a header and what follows, the length being told right or as given."""
    return struct.pack("<Q", len(header) if length is None else length % 2**64) + header + rest

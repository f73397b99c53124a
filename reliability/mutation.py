"""Broken files from whole ones: bytes changed, cut, repeated and spliced, and JSON with other values in it.

Everything is a function of the random generator that is passed, so that an input is known by its seed.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Sequence
from random import Random
from typing import Any

#: Numbers at which programs stumble.
NUMBERS = (
    0,
    1,
    -1,
    127,
    255,
    256,
    32767,
    65535,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**53,
    2**63 - 1,
    2**63,
    2**64,
    10**18,
    10**400,
)
#: What is hostile in any format.
TOKENS = (
    *(
        b"",
        b"\0",
        b"\n",
        b"\r",
        b"\r\n",
        b"\t",
        b" ",
        b'"',
        b'""',
        b"'",
        b",",
        b";",
        b"|",
        b"\\",
        b"<",
        b">",
        b"{",
        b"[",
        b"#",
        b"@",
    ),
    *(
        b"\xef\xbb\xbf",
        b"\xff\xfe",
        b"\x80",
        b"\xc0\x80",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\xe2\x80\xa8",
        b"\x1b[31m",
        b"\x1a",
    ),
    *(
        b"-1",
        b"1e400",
        b"NaN",
        b"Infinity",
        b"null",
        b"99999999999999999999",
        b"0x10",
        b"\xd9\xa3",
        b"..",
        b"/dev/zero",
        b"a" * 300,
    ),
)
#: What may stand where JSON has a value.
VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        "",
        "x",
        "\0",
        "\ud800",
        "9" * 400,
        "../../etc/passwd",
        [],
        {},
        [[]],
        {"": {}},
        [None] * 9,
        0.5,
        -0.0,
        1e308,
    ),
    *(float("nan"), float("inf"), *NUMBERS),
)


def mutate(random: Random, data: bytes, tokens: Sequence[bytes] = (), others: Sequence[bytes] = ()) -> bytes:
    """Return the bytes of a file after one to four changes; `others` are files to splice with."""
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        data = random.choice(_CHANGES)(random, data, (*TOKENS, *tokens), others)
    return data


def mutate_json(random: Random, value: Any) -> Any:
    """Return a JSON value in which one or two parts are others, missing or doubled."""
    for _ in range(random.choice((1, 1, 2))):
        value = _other_part(random, value)
    return value


def dumps(value: Any) -> bytes:
    """Return JSON as a careless program would write it."""
    return json.dumps(value).encode()


def with_header(header: bytes, rest: bytes, length: int | None = None) -> bytes:
    """Return a safetensors file of a header and what follows, the length being told right or as given."""
    return struct.pack("<Q", len(header) if length is None else length % 2**64) + header + rest


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
        if random.random() < 0.2:
            return value[:place] + value[place + 1 :]
        return [*value[:place], _other_part(random, value[place]), *value[place + 1 :]]
    if isinstance(value, int) and random.random() < 0.5:
        return value + random.choice((1, -1, 2**31, -(2**63), 10**18))
    if random.random() < 0.03:
        depth = random.choice((10, 500, 3000))
        return json.loads("[" * min(depth, 900) + "]" * min(depth, 900))
    return random.choice(VALUES)


# ---------------------------------------------------------------------- changes of bytes


def _span(random: Random, data: bytes, longest: int = 64) -> tuple[int, int]:
    start = random.randrange(len(data) + 1)
    return start, min(len(data), start + random.randrange(longest + 1))


def _flip(random: Random, data: bytes, tokens: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    if not data:
        return data
    place = random.randrange(len(data))
    return data[:place] + bytes([data[place] ^ (1 << random.randrange(8))]) + data[place + 1 :]


def _delete(random: Random, data: bytes, tokens: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    start, stop = _span(random, data)
    return data[:start] + data[stop:]


def _cut(random: Random, data: bytes, tokens: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    place = random.randrange(len(data) + 1)
    return data[:place] if random.random() < 0.8 else data[place:]


def _repeat(random: Random, data: bytes, tokens: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    start, stop = _span(random, data)
    return data[:stop] + data[start:stop] * random.choice((1, 2, 10, 100)) + data[stop:]


def _insert(random: Random, data: bytes, tokens: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    place = random.randrange(len(data) + 1)
    return data[:place] + random.choice(tokens) * random.choice((1, 1, 1, 3, 50)) + data[place:]


def _replace(random: Random, data: bytes, tokens: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    start, stop = _span(random, data, 12)
    return data[:start] + random.choice(tokens) + data[stop:]


def _number(random: Random, data: bytes, tokens: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    """Overwrite some bytes with a number of 1, 2, 4 or 8 bytes."""
    size = random.choice((1, 2, 4, 8))
    place = random.randrange(len(data) + 1)
    packed = (random.choice(NUMBERS) % (1 << 8 * size)).to_bytes(size, random.choice(("little", "big")))
    return data[:place] + packed + data[place + size :]


def _noise(random: Random, data: bytes, tokens: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    start, stop = _span(random, data, 32)
    return data[:start] + random.randbytes(stop - start) + data[stop:]


def _splice(random: Random, data: bytes, tokens: Sequence[bytes], others: Sequence[bytes]) -> bytes:
    other = random.choice(others) if others else data
    return data[: random.randrange(len(data) + 1)] + other[random.randrange(len(other) + 1) :]


_CHANGES = (_flip, _flip, _delete, _cut, _repeat, _insert, _insert, _replace, _replace, _number, _noise, _splice)

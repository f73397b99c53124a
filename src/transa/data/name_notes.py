"""What a user should know about the names of a graph: those that nearly are one, and those that look like spoilt numbers."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc

from transa.errors import quote
from transa.readable import counted

#: How many examples a note has.
EXAMPLES = 3
#: A whole number as a float, and any other number with a point.
_SPOILT, _BROKEN = r"^[-+]?\d+\.0$", r"^[-+]?\d*\.\d*[1-9]\d*$"


def notes_on_names(entities: pa.Array, relations: pa.Array) -> Iterator[str]:
    """Yield notes on the keys of a graph."""
    alike, examples = 0, []
    for names in (entities, relations):
        forms = pc.utf8_lower(pc.utf8_trim_whitespace(names))
        distinct = forms.unique()
        if len(distinct) < len(forms):
            alike += len(forms) - len(distinct)
            counts = forms.value_counts()
            several = counts.field("values").filter(pc.greater(counts.field("counts"), 1))[:EXAMPLES]
            examples += [names.filter(pc.equal(forms, form)).to_pylist() for form in several]
    if alike:
        shown = ", ".join(" and ".join(map(quote, each[:EXAMPLES])) for each in examples[:EXAMPLES])
        more = ", …" if alike > EXAMPLES else ""
        differ = "differs from another one" if alike == 1 else "differ from others"
        yield f"{counted(alike, 'name')} {differ} only by case or by blanks at the ends (kept apart): {shown}{more}"
    spoilt = entities.filter(pc.match_substring_regex(entities, _SPOILT))
    if len(spoilt) and not pc.any(pc.match_substring_regex(entities, _BROKEN)).as_py():
        yield (
            f"{counted(len(spoilt), 'entity', 'entities')} such as {quote(spoilt[0])} may be whole numbers that became floats, "
            "as pandas does where a value is missing; astype('int64') makes 3 of 3.0 again"
        )

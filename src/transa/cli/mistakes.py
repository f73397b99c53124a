"""What people write in place of the form that works, and the messages that show it.

Words that no argument takes are joined to the option before them, as its metavar says (``FIELD=VALUE``, ``TRAIN,VALID,TEST``); without
such an option, the message shows the command's example. An option that is a setting is shown as ``--set``, and a command that does not
exist as the one that is called nearly so, or that does what the word means elsewhere.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Any

from typer.core import TyperCommand, TyperGroup

from transa.errors import quote, suggest
from transa.readable import one_line

#: What other tools call our commands.
SYNONYMS = {
    **dict.fromkeys(("fit", "learn"), "train"),
    **dict.fromkeys(("test", "score", "rank", "benchmark"), "evaluate"),
    **dict.fromkeys(("ask", "answer", "query"), "predict"),
    **dict.fromkeys(("info", "describe", "summary"), "stats"),
    **dict.fromkeys(("hpo", "optimize", "optimise"), "tune"),
}


class Command(TyperCommand):
    """A command that shows the form which works where it is given too many words, or a setting as an option."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, unless there are mistakes that click has less to say about."""
        if not ctx.resilient_parsing and not {*args} & {*ctx.help_option_names}:
            self._check_settings(ctx, args)
            self._check_extra(ctx, args)
        return super().parse_args(ctx, args)

    def _check_settings(self, ctx: Any, words: list[str]) -> None:
        """Refuse a setting that is written as if it were an option, in a command that has ``--set``."""
        known = self._options()
        for place, word in enumerate(words if "--set" in known else []):
            name, _, value = word.partition("=")
            if word.startswith("--") and name not in (*known, "--"):
                from transa.training import Recipe

                field = name[2:].replace("-", "_")
                if field in Recipe.model_fields:
                    value = value or next(_bare(words[place + 1 :]), "VALUE")
                    form = f"--set {shlex.quote(f'{field}={value}')}"
                    ctx.fail(one_line(f"No such option: {name}, which is a setting. Did you mean {form}?"))

    def _check_extra(self, ctx: Any, words: list[str]) -> None:
        """Refuse words that no argument takes."""
        _, extra, _ = self.make_parser(ctx).parse_args(args=[*words])
        if extra:
            forms = " ".join(self._forms(words, len(extra)))
            better = f"Did you mean {forms}?" if forms else self.epilog or ""
            ctx.fail(one_line(f"Got unexpected extra argument(s) ({' '.join(extra)}). {better}".strip()))

    def _options(self) -> dict[str, Any]:
        """Return the options by what people write."""
        return {name: each for each in self.params for name in (*each.opts, *each.secondary_opts) if name[0] == "-"}

    def _forms(self, words: list[str], spare: int) -> Iterator[str]:
        """Yield the options that would take up to `spare` of the words which follow their values, in the form that works."""
        for place, word in enumerate(words):
            name, equals, value = word.partition("=")
            option = self._options().get(name)
            if option is None or getattr(option, "is_flag", False):
                continue
            given, after = (
                ([value], words[place + 1 :]) if equals else (words[place + 1 : place + 2], words[place + 2 :])
            )
            further = list(islice(_bare(after), spare))
            values = _joined([*given, *further], option.metavar or "", repeatable=option.multiple)
            if further and values:
                spare -= len(further)
                yield from (f"{name} {shlex.quote(each)}" for each in values)


class Group(TyperGroup):
    """The commands; one that does not exist is answered with those that may be meant."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that is called."""
        word = args[0]
        if self.get_command(ctx, word) is None and not word.startswith("-") and not ctx.resilient_parsing:
            near = suggest(SYNONYMS.get(word.casefold(), word), self.list_commands(ctx))
            ctx.fail(f"No such command {quote(word)}{near}")
        return super().resolve_command(ctx, args)


def _bare(words: list[str]) -> Iterator[str]:
    """Yield the words before the next option."""
    return takewhile(lambda word: not word.startswith("-"), words)


def _joined(words: list[str], metavar: str, *, repeatable: bool) -> list[str]:
    """Return the values of an option that words stand for, by its metavar; none if it takes a single word."""
    if "=" in metavar:
        pairs: list[str] = []
        for word in (word for word in words if word != "="):
            if pairs and not pairs[-1].partition("=")[2]:
                pairs[-1] = f"{pairs[-1].rstrip('=')}={word.lstrip('=')}"
            else:
                pairs.append(word)
        return pairs if repeatable else pairs[:1]
    if "," in metavar:
        return [",".join(word.strip(",") for word in words if word != ",")]
    return words if repeatable else []

"""What several bodies share."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, StringConstraints

from transa.server.limits import NAME

Name = Annotated[str, StringConstraints(min_length=1, max_length=NAME)]


class Sent(BaseModel):
    """What a client sends: nothing but the fields."""

    model_config = ConfigDict(extra="forbid")


class Got(BaseModel):
    """What a client gets: nothing but the fields."""

    model_config = ConfigDict(extra="forbid")


class Error(Got):
    """Why a request was not served."""

    error: str


class TripleSent(Sent):
    """A triple by keys or whole names."""

    head: Name
    relation: Name
    tail: Name

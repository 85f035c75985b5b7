"""A kind of channel that appends each message to a file. It is complete, and only the tests register it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from executors.errors import Transient
from flowapp.channels.kinds.base import ChannelField, ChannelKind, InvalidChannel, Option
from flowapp.channels.message import Message


@dataclass(frozen=True, slots=True)
class LogFile:
    kind: ClassVar[str] = "file_log"
    path: str
    prefix: str = ""


def check(log: LogFile) -> None:
    if not log.path.startswith("/"):
        raise InvalidChannel("file_log.path_invalid", "The path is not absolute.", hint="Begin it with a slash.")


def send(packed: Mapping[str, Any], messages: Sequence[Message], key: str) -> str:
    log = LogFile(**packed)
    lines = [f"{log.prefix}{key} {message.headline}\n" for message in messages]
    try:
        with Path(log.path).open("a") as file:
            file.writelines(lines)
    except OSError as error:
        raise Transient("file_log.unwritable", "The file cannot be written.", hint="Check its folder.") from error
    return ""


FIELDS = (
    ChannelField("path", "Path", is_changeable=True, option=Option("--file-log", "PATH", "a file to append to")),
    ChannelField(
        "prefix",
        "Prefix",
        required=False,
        is_changeable=True,
        option=Option("--prefix", "TEXT", "what each line begins with"),
    ),
)
KIND = ChannelKind(
    label="File log",
    address=LogFile,
    fields=FIELDS,
    public_fields=FIELDS,
    most_at_once=10,
    check=check,
    public_settings=asdict,
    recipient=lambda settings: str(settings["path"]),
    send=send,
    error_fields={"file_log.path_invalid": "path"},
)

"""Translates the errors of the Delta library and of its stores into failures of a run."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from deltalake.exceptions import CommitFailedError, DeltaError, DeltaProtocolError

from executors.errors import Failure, Terminal, Transient

_CODE = re.compile(r"<Code>([A-Za-z]{1,60})|\b(AccessDenied|PermissionDenied|Unauthenticated|403 Forbidden)\b")
_REFUSED = frozenset(
    {
        "AccessDenied",
        "PermissionDenied",
        "Unauthenticated",
        "403 Forbidden",
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
    }
)


@contextmanager
def translate(table: str, node: str | None = None) -> Iterator[None]:
    """Raise the errors of the block as Terminal or Transient `target.…`, except for conflicts of commits.

    The texts of the library have addresses and headers of requests, so no message and no cause repeats them.
    """
    try:
        yield
    except CommitFailedError:
        raise
    except DeltaProtocolError:
        raise Terminal(
            "target.delta_unsupported",
            f"{table} uses features of Delta tables that Flow does not support.",
            node=node,
            hint="Load another table, or remove the feature from this one.",
        ) from None
    except PermissionError:
        raise _refused(table, "permission denied", node) from None
    except (DeltaError, OSError) as error:
        raise _failure(table, error, node) from None


def _failure(table: str, error: Exception, node: str | None) -> Failure:
    found = _CODE.search(str(error))
    code = next(filter(None, found.groups()), "") if found else ""
    if code in _REFUSED:
        return _refused(table, code, node)
    if code == "NoSuchBucket":
        return Terminal(
            "target.store_missing",
            f"The bucket of {table} does not exist.",
            node=node,
            hint="Correct the bucket of the connection, or create it.",
        )
    return Transient(
        "target.store_failed",
        f"The store of {table} fails: {type(error).__name__}{f' ({code})' if code else ''}.",
        node=node,
        hint="Test the connection of the target. If the store responds, the next attempt may succeed.",
    )


def _refused(table: str, code: str, node: str | None) -> Terminal:
    return Terminal(
        "target.store_refused",
        f"The store of {table} refuses access ({code}).",
        node=node,
        hint="Give the key of the connection the rights to list, read, write and delete objects.",
    )

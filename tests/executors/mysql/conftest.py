from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.mariadb import WHY_NONE, MariaDB, has_mariadb, running_mariadb


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    if not has_mariadb:
        pytest.skip(WHY_NONE)
    with running_mariadb() as server:
        yield server

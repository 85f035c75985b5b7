"""Workers that are killed, and sessions and servers that end, at every stage: afterwards the target equals the source,
and each change was applied once."""

from __future__ import annotations

from contextlib import suppress

import pytest

from executors.errors import Transient
from tests.executors.change_log.killed import FIRST_LOAD, WINDOW, Killed
from tests.executors.mysql_cdc.killed_follow import OWN
from tests.executors.mysql_cdc.log_of_table import TableLog
from tests.executors.mysql_cdc.mirror import Mirror

pytestmark = [pytest.mark.spark, pytest.mark.postgres, pytest.mark.slow]

CHANGES = 38
"""How many rows of the target one `change` inserts, updates or deletes."""


def begin(log: TableLog) -> None:
    log.run(
        "CREATE TABLE s (id int primary key, n int, name varchar(40), big text)",
        "INSERT INTO s SELECT seq, 0, CONCAT('n', seq), REPEAT(MD5(seq), 90) FROM seq_1_to_2000",
    )


def change(log: TableLog, seed: int) -> None:
    """Change rows in several transactions, one of which is rolled back: other rows for each seed, each of them once."""
    first = 20 * (seed % 100) + 1
    log.run(
        f"UPDATE s SET n = n + 1 WHERE id BETWEEN {first} AND {first + 9}",
        "BEGIN",
        f"UPDATE s SET name = 'r{seed}' WHERE id BETWEEN {first + 10} AND {first + 13}",
        f"DELETE FROM s WHERE id IN ({first + 14}, {first + 15})",
        "COMMIT",
        f"UPDATE s SET id = {100_000 + seed} WHERE id = {first + 16}",
        f"INSERT INTO s SELECT {200_000 + 100 * seed} + seq, {seed}, 'new', REPEAT('ö', 999) FROM seq_1_to_20",
        "BEGIN",
        "DELETE FROM s",
        "ROLLBACK",
    )


def count_applied(mirror: Mirror) -> None:
    """Let the target note each change of a row."""
    with mirror.connect() as connection:
        connection.execute("create table applied (id int, what text)")
        connection.execute(
            f"create function note() returns trigger language plpgsql as $$ begin insert into {mirror.schema}.applied"
            " values (coalesce(new.id, old.id), tg_op); return null; end $$"
        )
        connection.execute(
            "create trigger notes after insert or update or delete on t for each row execute function note()"
        )


def applied(mirror: Mirror) -> tuple[int, int]:
    """Return how many rows of the target were changed, and how many of them differ."""
    with mirror.connect() as connection:
        row = connection.execute("select count(*), count(distinct (id, what)) from applied").fetchone()
    assert row is not None
    return row[0], row[1]


def killed(mirror: Mirror, log: TableLog) -> Killed:
    module = "tests.executors.mysql_cdc.killed_follow"
    return Killed(module, mirror, lambda seed: change(log, seed), lambda: mirror.difference("id, n, name, big"))


@pytest.mark.parametrize("point", [*OWN, *WINDOW])
def test_a_worker_that_is_killed_loses_and_repeats_nothing(mirror: Mirror, log: TableLog, point: str) -> None:
    begin(log)
    if point in (*FIRST_LOAD, *OWN):
        killed(mirror, log).at(point)
    else:
        mirror.follow()
    if point in OWN:
        return
    count_applied(mirror)
    change(log, 0)
    killed(mirror, log).at(point)
    assert applied(mirror) == (2 * CHANGES, 2 * CHANGES)


def test_workers_killed_at_any_time_while_others_write(mirror: Mirror, log: TableLog) -> None:
    begin(log)
    mirror.follow()
    killed(mirror, log).while_others_write()


@pytest.mark.parametrize("step", ["list", "pass", "load"])
def test_a_server_that_crashes_during_a_run(mirror: Mirror, log: TableLog, step: str) -> None:
    begin(log)
    mirror.follow()
    count_applied(mirror)
    change(log, 1)

    def crash(name: str, node: str | None) -> None:
        if name == step:
            mirror.memory.on_step = lambda name, node: None
            log.server.kill()
            log.server.start()

    mirror.memory.on_step = crash
    with suppress(Transient):  # from "pass" on, the window has been read
        mirror.run_once()
    change(log, 2)
    killed(mirror, log).catch_up()
    assert mirror.difference("id, n, name, big") == []
    assert applied(mirror) == (2 * CHANGES, 2 * CHANGES)

"""The query for one page of quarantine entries. It only probes indexes, regardless of the numbers of entries and
pipelines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, LiteralString, NamedTuple

from psycopg import sql

from executors.postgres.names import identifier_of
from executors.postgres.quarantined import Owners
from executors.table_name import TableName

STATUSES = ("open", "fixed", "ignored", "replayed", "superseded")
HIGHEST = 2**63 - 1
Group = Literal["rule", "pipeline"]
GROUP_COLUMNS: Mapping[Group, str] = {"rule": "ruleId", "pipeline": "pipelineId"}


@dataclass(frozen=True, slots=True)
class EntryOrder:
    """The order of entries: by group, then newest first. `is_reversed` reverses the order of groups. Without a group,
    the order is by time, with the oldest first if reversed."""

    group: Group | None = None
    is_reversed: bool = False

    @property
    def is_oldest_first(self) -> bool:
        return self.group is None and self.is_reversed


NEWEST_FIRST = EntryOrder()


@dataclass(frozen=True, slots=True)
class EntryQuery:
    """A filter of entries. `runs` restricts them to these runs, None means all; `search` is a text in the row."""

    runs: tuple[str, ...] | None = None
    rule: str | None = None
    field: str | None = None
    status: str | None = None
    replay_run: str | None = None
    search: str | None = None
    order: EntryOrder = NEWEST_FIRST


class Position(NamedTuple):
    """The position of an entry in an order: its id, and the rule or pipeline by which it is ordered, else ''."""

    id: int
    group: str = ""


@dataclass(frozen=True, slots=True)
class PageQuery:
    """The query for the positions of up to `most` entries that follow `after`.

    Each group and status is queried separately and the first entries of all are merged, because one index cannot return
    several of them in one order. Entries of one pipeline come from indexes that begin with the pipeline, those of
    several from indexes that begin with the workspace.
    """

    owners: Owners
    table: TableName
    entry_query: EntryQuery
    after: Position | None
    most: int

    def positions(self) -> sql.Composed:
        order = self.entry_query.order
        return sql.SQL(
            "{rules}SELECT e.id, {group} FROM {arms}, LATERAL ({arm}) AS e ORDER BY {order} LIMIT {most}"
        ).format(
            rules=self._all_rules() if order.group == "rule" else sql.SQL(""),
            group=sql.SQL("g.key" if order.group else "''"),
            arms=sql.SQL(", ").join([self._groups(), self._range()]),
            arm=self._first_of_each_status(),
            order=sql.SQL("{}e.id {}").format(sql.SQL("g.place, " if order.group else ""), self._direction),
            most=sql.Literal(self.most),
        )

    @property
    def _direction(self) -> sql.SQL:
        return sql.SQL("ASC" if self.entry_query.order.is_oldest_first else "DESC")

    # --- groups -------------------------------------------------------------------------------------------------------

    def _groups(self) -> sql.Composable:
        """Return the groups from that of `after` on, in order. They are sorted before the join, so that only the groups
        that fill the page are read."""
        order = self.entry_query.order
        if order.group is None:
            return sql.SQL("(SELECT 0) AS g(place)")
        if order.group == "rule":
            keys: sql.Composable = sql.SQL("(SELECT key FROM rules WHERE key IS NOT NULL)")
        else:
            keys = sql.SQL("unnest({}::text[])").format(sql.Literal(list(self.owners.pipelines)))
        # By code point, because results of several tables are merged in this order.
        return sql.SQL(
            '(SELECT k.key, row_number() OVER (ORDER BY k.key COLLATE "C" {turned}) AS place FROM {keys} AS k(key)'
            " WHERE {follows} ORDER BY place) AS g"
        ).format(
            turned=sql.SQL("DESC" if order.is_reversed else "ASC"),
            keys=keys,
            follows=sql.SQL('k.key COLLATE "C" {} {}').format(
                sql.SQL("<=" if order.is_reversed else ">="), sql.Literal(self.after.group)
            )
            if self.after
            else sql.SQL("true"),
        )

    def _all_rules(self) -> sql.Composed:
        """Return each rule once. The query jumps from one rule to the next by index, however many entries each has."""
        if self.entry_query.rule is not None:
            return sql.SQL("WITH rules(key) AS (SELECT {}::text) ").format(sql.Literal(self.entry_query.rule))
        return sql.SQL(
            "WITH RECURSIVE rules(key) AS (SELECT {first} UNION ALL SELECT {next} FROM rules WHERE key IS NOT NULL) "
        ).format(first=self._first_rule("true"), next=self._first_rule('q."ruleId" > rules.key'))

    def _first_rule(self, condition: LiteralString) -> sql.Composed:
        return sql.SQL('(SELECT q."ruleId" FROM {} AS q WHERE {} AND {} ORDER BY q."ruleId" LIMIT 1)').format(
            identifier_of(self.table), self._is_owned(by_pipeline=self._of_one), sql.SQL(condition)
        )

    # --- one group, one status ----------------------------------------------------------------------------------------

    def _range(self) -> sql.Composed:
        """Return the range of ids of the wanted entries: entries of a run, or of the runs of a day, have close ids."""
        if self.entry_query.runs is None:
            return sql.SQL("(SELECT 0::bigint, {}::bigint) AS r(lo, hi)").format(sql.Literal(HIGHEST))
        ends = (
            sql.SQL('(SELECT x.id FROM {} AS x WHERE x."runId" = u.run ORDER BY x.id {} LIMIT 1)').format(
                identifier_of(self.table), sql.SQL(order)
            )
            for order in ("ASC", "DESC")
        )
        return sql.SQL("(SELECT min({}), max({}) FROM unnest({}::text[]) AS u(run)) AS r(lo, hi)").format(
            *ends, sql.Literal(list(self.entry_query.runs))
        )

    def _first_of_each_status(self) -> sql.Composed:
        if not self._by_status:
            return self._arm()
        statuses = [self.entry_query.status] if self.entry_query.status else list(STATUSES)
        return sql.SQL(
            "SELECT a.id FROM unnest({}::text[]) AS s(status), LATERAL ({}) AS a ORDER BY a.id {} LIMIT {}"
        ).format(sql.Literal(statuses), self._arm(), self._direction, sql.Literal(self.most))

    @property
    def _of_one(self) -> bool:
        return len(self.owners.pipelines) == 1

    @property
    def _only_run(self) -> str | None:
        runs = self.entry_query.runs
        return runs[0] if runs is not None and len(runs) == 1 else None

    @property
    def _by_status(self) -> bool:
        n = self.entry_query
        if n.replay_run is not None:
            return False
        named = any(value is not None for value in (n.rule, n.field, n.status, n.order.group))
        return self._only_run is None or named

    def _arm(self) -> sql.Composed:
        """Return the query of one group and status. It uses a range on all columns of the index that leads to the id:
        with equality conditions, the planner would see that the id alone gives the order, and scan the primary key
        through all unwanted entries."""
        n, leads = self.entry_query, self._leads()
        columns = sql.SQL(", ").join(sql.Identifier("q", name) for name in (*leads, "id"))
        by_pipeline = self._of_one or n.order.group == "pipeline"
        conditions: list[sql.Composable] = [self._is_owned(by_pipeline=by_pipeline)]
        for sign, end in ((">=", self._least()), ("<=", self._most())):
            ends = sql.SQL(", ").join([*leads.values(), end])
            conditions.append(sql.SQL("({}) {} ({})").format(columns, sql.SQL(sign), ends))
        if n.order.group == "pipeline":
            conditions.append(sql.SQL('q."pipelineId" = g.key'))
        if n.runs is not None and "runId" not in leads:
            # Another collation prevents the planner from using the index of runs.
            conditions.append(sql.SQL('q."runId" COLLATE "C" = ANY ({}::text[])').format(sql.Literal(list(n.runs))))
        if n.replay_run is not None:
            conditions.append(sql.SQL('q."replayRun" IS NOT NULL'))
        named = {"ruleId": n.rule, "field": n.field, "status": None if self._by_status else n.status}
        conditions += [
            sql.SQL("q.{} = {}").format(sql.Identifier(name), sql.Literal(value))
            for name, value in named.items()
            if value is not None and name not in leads
        ]
        order = sql.SQL(", ").join(
            sql.SQL("{} {}").format(sql.Identifier("q", name), self._direction) for name in (*leads, "id")
        )
        return sql.SQL("SELECT q.id FROM {} AS q WHERE {} ORDER BY {} LIMIT {}").format(
            identifier_of(self.table), sql.SQL(" AND ").join(conditions), order, sql.Literal(self.most)
        )

    def _is_owned(self, *, by_pipeline: bool) -> sql.Composed:
        """Return conditions on the owner of which only one can use an index: the cast or collation hides the other
        column from the planner, which might choose the wrong index if it has few statistics."""
        pipelines = sql.Literal(list(self.owners.pipelines))
        tenant = sql.Literal(self.owners.tenant)
        if self._of_one:
            return sql.SQL('q."pipelineId" = {} AND q.tenant::text = {}').format(
                sql.Literal(self.owners.pipelines[0]), tenant
            )
        if by_pipeline:
            return sql.SQL("q.tenant::text = {}").format(tenant)
        return sql.SQL('q.tenant = {} AND q."pipelineId" COLLATE "C" = ANY ({}::text[])').format(tenant, pipelines)

    def _leads(self) -> dict[str, sql.Composable]:
        """Return the index columns between the pipeline or workspace and the id."""
        n = self.entry_query
        if n.replay_run is not None:
            return {"replayRun": sql.Literal(n.replay_run)}
        if not self._by_status:
            return {"runId": sql.Literal(self._only_run)}
        first: dict[str, sql.Composable] = {}
        if n.order.group == "rule":
            first = {"ruleId": sql.SQL("g.key")}
        elif n.rule is not None:
            first = {"ruleId": sql.Literal(n.rule)}
        elif n.field is not None:
            first = {"field": sql.Literal(n.field)}
        return {**first, "status": sql.SQL("s.status")}

    def _least(self) -> sql.Composable:
        if self.after is None or not self.entry_query.order.is_oldest_first:
            return sql.SQL("r.lo")
        return sql.SQL("greatest(r.lo, {}::bigint)").format(sql.Literal(self.after.id + 1))

    def _most(self) -> sql.Composable:
        order = self.entry_query.order
        if self.after is None or order.is_oldest_first:
            return sql.SQL("r.hi")
        below = sql.SQL("{}::bigint").format(sql.Literal(self.after.id - 1))
        if order.group is not None:
            below = sql.SQL("CASE WHEN g.key = {} THEN {} END").format(sql.Literal(self.after.group), below)
        return sql.SQL("least(r.hi, {})").format(below)

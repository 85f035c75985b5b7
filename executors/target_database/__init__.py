"""The interface of target databases for the layers above: inspects them, and reads and changes the data that Flow
stores there.

Every function takes a `Connection` and opens its own session; sessions, cursors and SQL are hidden. For runs see
`executors.api`.
"""

from executors.postgres.file_rows import FileRows, RunRows
from executors.postgres.first_rows import FirstRows
from executors.postgres.moved_state import WrittenState
from executors.postgres.quarantine_pages import COUNT_SECONDS, EVERY, WITHOUT_VALUES, Counted
from executors.postgres.quarantine_query import (
    GROUP_COLUMNS,
    HIGHEST,
    NEWEST_FIRST,
    STATUSES,
    EntryOrder,
    EntryQuery,
    Group,
    Position,
)
from executors.postgres.quarantined import Owner, Owners, Verb
from executors.postgres.reject_reader import ROW_FLAGS
from executors.postgres.replay_results import RETENTION_DAYS as RESULTS_RETENTION_DAYS
from executors.postgres.replay_results import StoredResult
from executors.postgres.roles import in_words
from executors.postgres.row_previews import Cut, RowPreview
from executors.postgres.samples import RETENTION_DAYS as SAMPLES_RETENTION_DAYS
from executors.postgres.samples import SampleRow
from executors.postgres.superseding import SUPERSEDED
from executors.postgres.watermark_doubts import WatermarkDoubt
from executors.postgres.watermark_moves import WatermarkMove
from executors.postgres.watermarks import NO_WATERMARK, WatermarkChange, WatermarkKey
from executors.rejected_rows import RejectedRow
from executors.rejects import GROUP
from executors.row_search import SECONDS as SEARCH_SECONDS
from executors.row_search import Row, SearchResult, SourceKey
from executors.stage_plan import FILLED
from executors.table_name import TableName
from executors.target_database.file_rows import preview_undo
from executors.target_database.first_rows import read_first_rows
from executors.target_database.inspection import (
    ConnectionCheck,
    ServerIdentity,
    check_connection,
    inspect_tables,
    list_columns,
    list_tables,
    read_identity,
)
from executors.target_database.moved_state import read_moved_state, write_moved_state
from executors.target_database.rejects import Entry, Rejects, open_rejects
from executors.target_database.replays import read_replay_results
from executors.target_database.samples import read_samples
from executors.target_database.structure import (
    SourceTable,
    StructureStatement,
    describe_sources,
    fields_after,
    find_missing_schemas,
    plan_quarantine,
    plan_structure,
)
from executors.target_database.tracing import LoadedRow, RowSearch, RowTrace, trace_row, trace_row_of_lake
from executors.target_database.upkeep import (
    clear_pipeline,
    delete_watermarks,
    drop_backups,
    drop_dead_staging,
    drop_expired_rows,
    drop_staged_load,
)
from executors.target_database.watermarks import (
    describe_content,
    plan_watermark_move,
    read_watermark,
    reset_watermark,
    set_watermark,
)
from executors.validation.rows import GROUP_KEY

__all__ = [
    "COUNT_SECONDS",
    "EVERY",
    "FILLED",
    "GROUP",
    "GROUP_COLUMNS",
    "GROUP_KEY",
    "HIGHEST",
    "NEWEST_FIRST",
    "NO_WATERMARK",
    "RESULTS_RETENTION_DAYS",
    "ROW_FLAGS",
    "SAMPLES_RETENTION_DAYS",
    "SEARCH_SECONDS",
    "STATUSES",
    "SUPERSEDED",
    "WITHOUT_VALUES",
    "ConnectionCheck",
    "Counted",
    "Cut",
    "Entry",
    "EntryOrder",
    "EntryQuery",
    "FileRows",
    "FirstRows",
    "Group",
    "LoadedRow",
    "Owner",
    "Owners",
    "Position",
    "RejectedRow",
    "Rejects",
    "Row",
    "RowPreview",
    "RowSearch",
    "RowTrace",
    "RunRows",
    "SampleRow",
    "SearchResult",
    "ServerIdentity",
    "SourceKey",
    "SourceTable",
    "StoredResult",
    "StructureStatement",
    "TableName",
    "Verb",
    "WatermarkChange",
    "WatermarkDoubt",
    "WatermarkKey",
    "WatermarkMove",
    "WrittenState",
    "check_connection",
    "clear_pipeline",
    "delete_watermarks",
    "describe_content",
    "describe_sources",
    "drop_backups",
    "drop_dead_staging",
    "drop_expired_rows",
    "drop_staged_load",
    "fields_after",
    "find_missing_schemas",
    "in_words",
    "inspect_tables",
    "list_columns",
    "list_tables",
    "open_rejects",
    "plan_quarantine",
    "plan_structure",
    "plan_watermark_move",
    "preview_undo",
    "read_first_rows",
    "read_identity",
    "read_moved_state",
    "read_replay_results",
    "read_samples",
    "read_watermark",
    "reset_watermark",
    "set_watermark",
    "trace_row",
    "trace_row_of_lake",
    "write_moved_state",
]

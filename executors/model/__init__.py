"""The input of the engine, and the data that its parts exchange. Plain data; no Django, no Spark, no drivers."""

from __future__ import annotations

from executors.backfill.model import BackfillMark as BackfillMark
from executors.backfill.model import Chunk as Chunk
from executors.backfill.model import ChunkChange as ChunkChange
from executors.backfill.model import ChunkJob as ChunkJob
from executors.backfill.model import ChunkPlan as ChunkPlan
from executors.backfill.model import ChunkRange as ChunkRange
from executors.backfill.model import LoadedChunk as LoadedChunk
from executors.model.connections import Connection as Connection
from executors.model.connections import StoreConnection as StoreConnection
from executors.model.connections import WebhookConnection as WebhookConnection
from executors.model.counts import PassResult as PassResult
from executors.model.counts import RecordRef as RecordRef
from executors.model.counts import ReferenceRead as ReferenceRead
from executors.model.counts import RuleCount as RuleCount
from executors.model.counts import TaskCount as TaskCount
from executors.model.counts import branch_key as branch_key
from executors.model.counts import join_key as join_key
from executors.model.files import ArchiveMember as ArchiveMember
from executors.model.files import FileCopy as FileCopy
from executors.model.files import FileScan as FileScan
from executors.model.files import NewestFile as NewestFile
from executors.model.files import SourceField as SourceField
from executors.model.files import SourceFile as SourceFile
from executors.model.files import Split as Split
from executors.model.jobs import Backup as Backup
from executors.model.jobs import BackupRef as BackupRef
from executors.model.jobs import FileUndo as FileUndo
from executors.model.jobs import RowsRef as RowsRef
from executors.model.jobs import RunJob as RunJob
from executors.model.jobs import SourceState as SourceState
from executors.model.modules import MODULE_BYTES as MODULE_BYTES
from executors.model.modules import ModuleCode as ModuleCode
from executors.model.modules import ModuleFacts as ModuleFacts
from executors.model.plans import RulePlan as RulePlan
from executors.model.plans import StageColumn as StageColumn
from ir.destinations import Destination as Destination
from ir.destinations import DestinationColumn as DestinationColumn

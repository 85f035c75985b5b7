"""Settings of PostgreSQL that a role may set to any value without harm to a load, and the reasons."""

from __future__ import annotations

REVIEWED: dict[str, str] = {
    "how a plan is made, or how fast it runs": """
        enable_async_append enable_bitmapscan enable_distinct_reordering enable_gathermerge enable_group_by_reordering
        enable_hashagg enable_hashjoin enable_incremental_sort enable_indexonlyscan enable_indexscan enable_material
        enable_memoize enable_mergejoin enable_nestloop enable_parallel_append enable_parallel_hash
        enable_partition_pruning enable_partitionwise_aggregate enable_partitionwise_join enable_presorted_aggregate
        enable_self_join_elimination enable_seqscan enable_sort enable_tidscan constraint_exclusion
        cpu_index_tuple_cost cpu_operator_cost cpu_tuple_cost cursor_tuple_fraction default_statistics_target
        effective_cache_size effective_io_concurrency from_collapse_limit join_collapse_limit geqo geqo_effort
        geqo_generations geqo_pool_size geqo_seed geqo_selection_bias geqo_threshold hash_mem_multiplier
        io_combine_limit jit jit_above_cost jit_expressions jit_inline_above_cost jit_optimize_above_cost
        jit_tuple_deforming jit_debugging_support jit_dump_bitcode jit_profiling_support maintenance_io_concurrency
        max_parallel_maintenance_workers max_parallel_workers max_parallel_workers_per_gather
        min_parallel_index_scan_size min_parallel_table_scan_size parallel_leader_participation parallel_setup_cost
        parallel_tuple_cost plan_cache_mode random_page_cost recursive_worktable_factor seq_page_cost
        synchronize_seqscans force_parallel_mode debug_parallel_query debug_discard_caches ignore_system_indexes
        post_auth_delay deadlock_timeout commit_delay commit_siblings""",
    "memory and disk: too little of it causes an error": """
        work_mem maintenance_work_mem temp_buffers temp_file_limit temp_tablespaces max_stack_depth
        logical_decoding_work_mem gin_pending_list_limit backend_flush_after wal_skip_threshold wal_compression
        wal_consistency_checking wal_init_zero wal_recycle file_copy_method vacuum_buffer_usage_limit""",
    "where and how tables are stored": """
        default_tablespace default_table_access_method default_toast_compression""",
    "a commit that a crash of the server takes back is found by the next run": "synchronous_commit",
    "the language of texts that functions of the user's own make": """
        default_text_search_config lc_numeric lc_time lc_messages""",
    "logs and statistics": """
        application_name client_min_messages log_connections log_disconnections log_duration log_error_verbosity
        log_executor_stats log_lock_failures log_lock_waits log_min_duration_sample log_min_duration_statement
        log_min_error_statement log_min_messages log_parameter_max_length log_parameter_max_length_on_error
        log_parser_stats log_planner_stats log_replication_commands log_statement log_statement_sample_rate
        log_statement_stats log_temp_files log_transaction_sample_rate backtrace_functions compute_query_id
        debug_pretty_print debug_print_parse debug_print_plan debug_print_rewritten debug_raw_parsetree
        escape_string_warning md5_password_warnings stats_fetch_consistency trace_notify trace_sort track_activities
        track_cost_delay_timing track_counts track_functions track_io_timing track_wal_io_timing
        update_process_title""",
    "a client that is gone is found by it, no other": """
        client_connection_check_interval tcp_keepalives_count tcp_keepalives_idle tcp_keepalives_interval""",
    "when VACUUM works, and how": """
        vacuum_cost_delay vacuum_cost_limit vacuum_cost_page_dirty vacuum_cost_page_hit vacuum_cost_page_miss
        vacuum_failsafe_age vacuum_freeze_min_age vacuum_freeze_table_age vacuum_max_eager_freeze_failure_rate
        vacuum_multixact_failsafe_age vacuum_multixact_freeze_min_age vacuum_multixact_freeze_table_age
        vacuum_truncate""",
    "statements and sessions that loads do not have": """
        allow_in_place_tablespaces allow_system_table_mods check_function_bodies createrole_self_grant
        debug_logical_replication_streaming event_triggers icu_validation_level lo_compat_privileges
        password_encryption scram_iterations wal_sender_timeout output_plugin_libraries""",
    "which libraries an administrator has the server load": """
        dynamic_library_path extension_control_path extension_destdir local_preload_libraries
        session_preload_libraries composite_type_mismatch""",
    "given for each transaction": "transaction_deferrable transaction_isolation transaction_read_only",
}

NAMES = frozenset(name for names in REVIEWED.values() for name in names.split())

"""The Spark SQL functions that expressions may call: functions of one row without side effects, with the same result on
every attempt."""

from ir.spelling import words

FUNCTIONS: frozenset[str] = words(
    """
    abs acos acosh asin asinh atan atan2 atanh bround cbrt ceil ceiling conv cos cosh cot csc degrees e exp expm1
    factorial floor greatest hypot least ln log log10 log1p log2 mod negative pi pmod positive pow power radians rint
    round sec sign signum sin sinh sqrt tan tanh try_add try_divide try_mod try_multiply try_subtract width_bucket
    bit_count bit_get shiftleft shiftright shiftrightunsigned

    ascii base64 bit_length btrim char char_length character_length chr concat concat_ws contains decode elt encode
    endswith find_in_set format_number format_string initcap instr lcase left len length levenshtein locate lower lpad
    ltrim luhn_check mask octet_length printf regexp_count regexp_extract regexp_extract_all
    regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse right rpad rtrim soundex space split
    split_part startswith substr substring substring_index to_char to_number to_varchar translate trim try_to_number
    ucase unbase64 upper url_decode url_encode unhex hex bin

    coalesce if ifnull isnan isnotnull isnull nanvl nullif nullifzero nvl nvl2 zeroifnull equal_null

    add_months convert_timezone date_add date_diff date_format date_from_unix_date date_part date_sub date_trunc
    dateadd datediff datepart day dayname dayofmonth dayofweek dayofyear from_unixtime from_utc_timestamp hour
    last_day make_date make_dt_interval make_timestamp make_timestamp_ntz make_ym_interval minute month monthname
    months_between next_day quarter second timestamp_micros timestamp_millis timestamp_seconds to_date to_timestamp
    to_timestamp_ntz to_unix_timestamp to_utc_timestamp trunc try_make_timestamp try_to_date try_to_timestamp unix_date
    unix_micros unix_millis unix_seconds weekday weekofyear year

    crc32 hash md5 sha sha1 sha2 xxhash64

    get_json_object json_array_length json_object_keys

    array array_contains array_distinct array_join array_max array_min array_position array_size element_at get
    size sort_array try_element_at

    bigint binary boolean date decimal double float int smallint string timestamp tinyint
    """
)

NOT_REPEATABLE: frozenset[str] = words(
    """
    current_catalog current_database current_date current_schema current_time current_timestamp current_timezone
    current_user curdate localtimestamp monotonically_increasing_id now rand randn random randstr session_user shuffle
    spark_partition_id uniform unix_timestamp user uuid version input_file_name input_file_block_length
    input_file_block_start
    """
)
"""Functions whose results may differ between attempts of a run or between machines."""

WITHOUT_PARENTHESES: frozenset[str] = words(
    """
    current_catalog current_database current_date current_schema current_time current_timestamp current_user
    grouping__id localtimestamp session_user user
    """
)
"""Functions that Spark calls by their bare name if there is no such column."""

REFUSED: tuple[tuple[frozenset[str], str], ...] = (
    (
        words("reflect java_method try_reflect transform assert_true raise_error session_window window"),
        "it uses more than the row",
    ),
    (
        words(
            """
            aggregate any any_value approx_count_distinct approx_percentile array_agg avg bool_and bool_or collect_list
            collect_set corr count count_if count_min_sketch covar_pop covar_samp every first first_value grouping
            grouping_id histogram_numeric kurtosis last last_value listagg max max_by mean median min min_by mode
            percentile percentile_approx regr_avgx regr_avgy regr_count skewness some std stddev stddev_pop
            stddev_samp string_agg sum try_avg try_sum var_pop var_samp variance
            """
        ),
        "it uses several rows, but an expression sees one row",
    ),
    (
        words("row_number rank dense_rank percent_rank cume_dist lag lead nth_value ntile"),
        "it uses several rows, but an expression sees one row",
    ),
    (
        words("explode explode_outer posexplode posexplode_outer inline inline_outer stack json_tuple"),
        "it returns several rows",
    ),
)
"""Functions that users are likely to try, and why they are refused."""

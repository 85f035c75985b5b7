"""The codes of web services and of other sources whose rows are fetched before they are read."""

from __future__ import annotations

from ir.error_codes import ErrorCode

CODES = (
    ErrorCode(
        "http_api.count_differs",
        "A web service returned another number of records than it states.",
        "Records may have changed between two pages: run the pipeline again. If the number always differs, check pages "
        "and total.",
        status=503,
    ),
    ErrorCode(
        "http_api.error_response",
        "A web service returned an error instead of records, as if the request had succeeded.",
        "Open the URL with the same parameters and headers, and read the error.",
    ),
    ErrorCode(
        "http_api.field_unreadable",
        "The field of an incremental source has a value that is not a number or a time, or both occur.",
        "Choose another field. Times need the form 2024-01-31T08:00:00Z.",
    ),
    ErrorCode(
        "http_api.more_pages",
        "The last response of a web service says that there are more pages.",
        "Set pages to the kind of paging of the service, such as link_header, and check its path.",
    ),
    ErrorCode(
        "http_api.next_elsewhere",
        "A web service names a next page on another server, or not below the address of the connection.",
        "Use the address of that server as url, or another kind of pages.",
    ),
    ErrorCode(
        "http_api.next_unreadable",
        "A web service names the next page by a value that is neither a cursor nor a URL.",
        "Correct pages: its path is that of the cursor or of the URL, such as $.meta.next.",
    ),
    ErrorCode(
        "http_api.no_records",
        "A response has no list of records at the path.",
        "Correct records: it is the path of the list, such as $.data.",
    ),
    ErrorCode(
        "http_api.not_json",
        "A response is not JSON.",
        "Open the URL with the same parameters and headers, and check what it returns.",
    ),
    ErrorCode(
        "http_api.outside_connection",
        "The URL is not below the address of the connection, so its secrets would not be sent.",
        "Choose a connection to the server of this address, or none if the address is public.",
    ),
    ErrorCode(
        "http_api.page_too_large",
        "A response is too large.",
        "Ask for fewer records per page with a parameter of the service.",
    ),
    ErrorCode(
        "http_api.pages_repeat",
        "A web service returned a page again, or its pages do not end.",
        "Check pages: a service that does not know the parameter returns the first page again and again.",
    ),
    ErrorCode(
        "http_api.refused_for_now",
        "A web service does not answer now, although it was asked several times.",
        "Run the pipeline again later. Limit requestsPerMinute if the service limits requests.",
        status=503,
    ),
    ErrorCode(
        "source.interrupted",
        "Fetching rows was interrupted, because the run was cancelled or exceeded its time.",
        "Run the pipeline again, or set a higher maxMinutes.",
        status=503,
    ),
    ErrorCode(
        "source.spool_failed",
        "Fetched rows cannot be stored before they are read.",
        "Free space in FLOW_FILES_ROOT, or give the worker's user write permission.",
    ),
)

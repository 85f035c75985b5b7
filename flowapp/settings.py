"""Django's settings, from the environment only. README.md has the table of names."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

from csp.constants import NONCE, NONE, SELF

from flowapp import environment as env

BASE_DIR = Path(__file__).resolve().parent.parent
FLOW_HOME = Path(os.environ.get("FLOW_HOME") or BASE_DIR / ".flow").expanduser().resolve()
FLOW_ENV = env.read_choice("FLOW_ENV", ("development", "production"))
PRODUCTION = FLOW_ENV == "production"
DEBUG = False

SECRET_KEY, *SECRET_KEY_FALLBACKS = env.read_secret("FLOW_SECRET_KEY", FLOW_HOME, production=PRODUCTION)
ENCRYPTION_KEYS = env.read_secret("FLOW_ENCRYPTION_KEYS", FLOW_HOME, production=PRODUCTION)

FLOW_BIND = os.environ.get("FLOW_BIND") or "127.0.0.1:8000"
FLOW_PUBLIC_URL = os.environ.get("FLOW_PUBLIC_URL") or f"http://{FLOW_BIND}"
FLOW_WORKSPACE = os.environ.get("FLOW_WORKSPACE") or "default"
FLOW_STREAMING_ENABLED = env.read_flag("FLOW_STREAMING_ENABLED")
# The folder of a project of manifests, for the workspace FLOW_WORKSPACE; and the variables that the browser may use as
# secrets of its connections.
PROJECT = os.environ.get("FLOW_PROJECT", "").strip()
PROJECT_ENV = env.read_list("FLOW_PROJECT_ENV")
TAPS = FLOW_HOME / "taps"
FILES_ROOT = Path(os.environ.get("FLOW_FILES_ROOT") or FLOW_HOME / "files").expanduser().resolve()
# Delta tables, in a folder for each workspace.
LAKE_ROOT = Path(os.environ.get("FLOW_LAKE_FOLDER") or FLOW_HOME / "lake").expanduser().resolve()

TRUSTED_PROXIES = env.read_networks("FLOW_TRUSTED_PROXIES")

_public = urlsplit(FLOW_PUBLIC_URL)
# Loopback names serve health checks on this machine; links use only FLOW_PUBLIC_URL.
ALLOWED_HOSTS = [_public.hostname or "localhost", "localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _public.scheme == "https"

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    # Lower layers first: they declare the hooks that higher layers register with.
    "flowapp.processes",
    "flowapp.web",
    "flowapp.api",
    "flowapp.accounts",
    "flowapp.lists",
    "flowapp.connections",
    "flowapp.modules",
    "flowapp.pipelines",
    "flowapp.uploads",
    "flowapp.alerts",
    "flowapp.channels",
    "flowapp.runs",
    "flowapp.backups",
    "flowapp.undos",
    "flowapp.manifests",
    "flowapp.watermarks",
    "flowapp.schema_changes",
    "flowapp.backfills",
    "flowapp.streams",
    "flowapp.triggers",
    "flowapp.cleanup",
    "flowapp.quarantine",
    "flowapp.suggestions",
    "flowapp.home",
]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "flowapp.web.static_files.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "flowapp.web.errors.FlowErrorMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "csp.context_processors.nonce",
                "flowapp.accounts.context.shell",
            ],
        },
    }
]
# Flow uses none of Django's permissions or groups, only the role in a workspace.
AUTH_USER_MODEL = "accounts.User"
LOGIN_URL = "accounts:login"
AUTH_PASSWORD_VALIDATORS = [
    {
        "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
        "OPTIONS": {"user_attributes": ["email"]},
    },
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
SESSION_COOKIE_AGE = 14 * 24 * 3600
SESSION_COOKIE_NAME, CSRF_COOKIE_NAME = "flow_session", "flow_csrf"
CSRF_FAILURE_VIEW = "flowapp.web.views.csrf_failure"
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"

STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static" / "dist"]
STORAGES = {"staticfiles": {"BACKEND": "flowapp.web.static_files.FingerprintedStorage"}}
# Served from the source folder; URLs change with the content, so browsers may cache them.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
WHITENOISE_MAX_AGE = 365 * 24 * 3600
WHITENOISE_ALLOW_ALL_ORIGINS = False
# No file name contains a hash, and looking up unhashed names would fail.
WHITENOISE_IMMUTABLE_FILE_TEST = r"(?!)"

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        # Tabler's own pictures are in its stylesheet.
        "img-src": [SELF, "data:"],
        # The JSON editor makes its stylesheet at run time and is given the nonce.
        "style-src": [SELF, NONCE],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}

# Uploads are spooled to disk as they arrive, up to this many bytes.
FILE_UPLOAD_HANDLERS = ["flowapp.uploads.services.DiskUploadHandler"]
UPLOAD_BYTES = 2 * 1024**3
# Whatever is no upload: a document in a form or in JSON, each sign of which may be written as two.
BODY_BYTES = DATA_UPLOAD_MAX_MEMORY_SIZE = 3_000_000
# A form has some fields for each column of a file.
DATA_UPLOAD_MAX_NUMBER_FIELDS = 20_000

# Of one client, by token or session; a place is a request that is worked on, and holds a connection of the pool.
REQUESTS_AT_ONCE, REQUESTS_WAITING, REQUEST_WAIT_SECONDS = 4, 32, 15.0
# CPU seconds for the validation of a text.
VALIDATION_SECONDS = 1.0

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "flowapp.accounts.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["flowapp.accounts.permissions.WorkspaceRole"],
    "DEFAULT_PARSER_CLASSES": ["flowapp.api.parsers.BoundedJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["flowapp.api.renderers.AnyTextRenderer"],
    "DEFAULT_PAGINATION_CLASS": "flowapp.api.paging.FlowCursorPagination",
    "DEFAULT_SCHEMA_CLASS": "flowapp.api.openapi.FlowAutoSchema",
    "EXCEPTION_HANDLER": "flowapp.api.problems.handle_exception",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Flow",
    "DESCRIPTION": "Build data pipelines and trust what they load. Errors follow RFC 9457.",
    "VERSION": "1.0",
    "OAS_VERSION": "3.1.0",
    "ENUM_NAME_OVERRIDES": {
        "RunState": "flowapp.runs.models.State",
        "RunKind": "flowapp.runs.models.RunKind",
        "AlertState": "flowapp.alerts.models.AlertState",
        "Severity": "flowapp.alerts.models.Severity",
        "DeliveryState": "flowapp.channels.models.DeliveryState",
        "FileState": "flowapp.runs.load_units.models.UnitState",
        "EntryStatus": "executors.target_database.STATUSES",
        "ColumnChangeState": "flowapp.schema_changes.models.ChangeState",
        "ChunkStatus": "flowapp.backfills.models.ChunkStatus",
        "PipelinePhase": [("planning", "planning"), ("backfilling", "backfilling"), ("streaming", "streaming")],
        "HealthStatus": ["ok", "down", "unknown"],
        "HookState": ["succeeded", "failed", "not_run", "queued"],
        "ChannelKind": "flowapp.channels.kinds.CHANNEL_KINDS",
        "ConnectionKind": "flowapp.connections.kind_names.CONNECTION_KINDS",
        "ScheduleKind": ["cron", "every"],
        "SampleKind": ["source", "load"],
        "RowUnit": ["record", "row"],
    },
    "SERVE_INCLUDE_SCHEMA": False,
}

ROOT_URLCONF = "flowapp.urls"
ASGI_APPLICATION = "flowapp.asgi.application"

DATABASES = {"default": env.database_settings(os.environ.get("FLOW_DATABASE_URL", ""))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = os.environ.get("FLOW_REDIS_URL", "")

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False

# A worker's lease on a run, in seconds of the database's clock; renewed three times within it.
LEASE_SECONDS = 30.0
# A worker starts Spark before it takes its first run.
WARM_SPARK = True
# A load that exceeds its target's limits waits this long for a decision, then it is rejected.
HOLD_HOURS = env.read_hours("FLOW_HOLD_HOURS", 72.0)
# The most chunks of backfills that run at once, over all pipelines.
MAX_PARALLEL_CHUNKS = env.read_count("FLOW_MAX_PARALLEL_CHUNKS", 8)
# A queued run that no worker has claimed for this long is resent to the broker.
RESEND_SECONDS = 30.0
# A worker or scheduler without a heartbeat for this long counts as dead.
HEARTBEAT_SECONDS = 30.0

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"redact": {"()": "flowapp.logs.RedactSecrets"}},
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s: %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "filters": ["redact"], "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {"py4j": {"level": "WARNING"}},
}

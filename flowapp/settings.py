"""Django's settings, from the environment only. `docs/` has the table of names."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

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
FILES_ROOT = Path(os.environ.get("FLOW_FILES_ROOT") or FLOW_HOME / "files").expanduser().resolve()

_public = urlsplit(FLOW_PUBLIC_URL)
# Loopback names are for health checks on the machine itself; links are made from FLOW_PUBLIC_URL alone.
ALLOWED_HOSTS = [_public.hostname or "localhost", "localhost", "127.0.0.1", "[::1]"]
CSRF_TRUSTED_ORIGINS = [f"{_public.scheme}://{_public.netloc}"]
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = _public.scheme == "https"

INSTALLED_APPS = [
    "django.contrib.contenttypes",
    "django.contrib.auth",
    "flowapp.accounts",
    "flowapp.connections",
    "flowapp.pipelines",
    "flowapp.runs",
    "flowapp.files",
    "flowapp.health",
]
MIDDLEWARE = ["django.middleware.security.SecurityMiddleware", "django.middleware.common.CommonMiddleware"]
AUTH_USER_MODEL = "accounts.User"
ROOT_URLCONF = "flowapp.urls"
ASGI_APPLICATION = "flowapp.asgi.application"

DATABASES = {"default": env.database_settings(os.environ.get("FLOW_DATABASE_URL", ""))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = os.environ.get("FLOW_REDIS_URL", "")

USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = False

# A worker's hold on a run, in seconds of the database's clock; renewed three times within it.
LEASE_SECONDS = 30.0
# A worker starts Spark before it takes its first run.
WARM_SPARK = True
# A queued run that no worker took for so long is sent to the broker again.
RESEND_SECONDS = 30.0
# A worker or scheduler that was not heard of for so long is taken for dead.
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

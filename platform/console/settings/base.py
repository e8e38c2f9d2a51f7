"""All settings, with values that are safe for one machine on loopback; production.py tightens them."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

from csp.constants import NONCE, NONE, SELF
from django.utils.translation import gettext_lazy as _

from clusters.backends.kueue_volcano.addresses import AllowList
from clusters.contract import SharingMode
from console.settings.environment import (
    celery_broker_url,
    database_config,
    read,
    read_bool,
    read_int,
    read_oidc,
    read_parsed,
    state_dir,
)
from jobs.domain.words import CardSharing, JobState, Kind
from quotas.domain.live import Verdict

BASE_DIR = Path(__file__).resolve().parents[3]
STATE_DIR = state_dir()

DEBUG = False
SECRET_KEY = read("SLUICE_SECRET_KEY")
FERNET_KEYS = [key for key in read("SLUICE_FERNET_KEYS", "").split(",") if key]
ALLOWED_HOSTS = [host for host in read("SLUICE_ALLOWED_HOSTS", "127.0.0.1,localhost,[::1]").split(",") if host]
CSRF_TRUSTED_ORIGINS = [origin for origin in read("SLUICE_TRUSTED_ORIGINS", "").split(",") if origin]
DEMO = read_bool("SLUICE_DEMO", False)

INSTALLED_APPS = [
    "console",
    "jobs",
    "quotas",
    "clusters",
    "accounts",
    "common.operators.OperatorsConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django.forms",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.usersessions",
    "csp",
    "django_htmx",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "knox",
    "rest_framework",
    "template_partials",
]

MIDDLEWARE = [
    "console.middleware.HeadersMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "console.middleware.ContentPolicyMiddleware",
    "console.middleware.NeverCachedMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "accounts.middleware.PersonLocaleMiddleware",
    "accounts.middleware.ActorMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "accounts.middleware.SessionSeenMiddleware",
    "accounts.middleware.SecondFactorMiddleware",
    "console.middleware.PageErrorMiddleware",
]

ROOT_URLCONF = "console.urls"
WSGI_APPLICATION = "console.wsgi.application"
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
                "console.middleware.script_nonce",
                "console.navigation.navigation",
            ],
        },
    }
]
FORM_RENDERER = "django.forms.renderers.TemplatesSetting"

# --- data ---------------------------------------------------------------------
DATABASES = {"default": database_config(read("DATABASE_URL"))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = read("REDIS_URL")
CACHES = {"default": {"BACKEND": "common.cache.SteadyCache", "LOCATION": REDIS_URL, "KEY_PREFIX": "sluice"}}
SESSION_ENGINE = "django.contrib.sessions.backends.db"  # an emptied cache signs nobody out

# --- people -------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 10}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "account_login"
ACCOUNT_ADAPTER = "accounts.adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "password1*", "password2*"]
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_LOGOUT_ON_GET = False
ACCOUNT_SESSION_REMEMBER = None
ACCOUNT_PREVENT_ENUMERATION = True
ACCOUNT_RATE_LIMITS = {"login": "60/m/ip", "login_failed": "20/5m/ip,50/1h/key"}
SOCIALACCOUNT_ADAPTER = "accounts.oidc.adapter.SocialAccountAdapter"
OIDC = read_oidc()  # None: nobody signs in with a provider
MFA_ADAPTER = "accounts.adapter.SecondFactorAdapter"
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes"]
MFA_RECOVERY_CODES_SHOW_ONCE = True
MFA_TOTP_ISSUER = "Sluice"
MFA_TOTP_TOLERANCE = 1  # clocks of telephones differ by half a minute
MFA_ALLOW_UNVERIFIED_EMAIL = True  # addresses are not used here, so none is verified
ADMIN_NEEDS_SECOND_FACTOR = read_bool("SLUICE_ADMIN_NEEDS_SECOND_FACTOR", False)
SESSION_COOKIE_AGE = int(timedelta(days=14).total_seconds())
SESSION_COOKIE_NAME = "sluice_session"
CSRF_COOKIE_NAME = "sluice_csrf"
KNOX_TOKEN_MODEL = "accounts.ApiToken"
MIGRATION_MODULES = {"knox": None}  # its own migrations make a table beside ours that nothing ever uses
REST_KNOX = {
    "TOKEN_MODEL": "accounts.ApiToken",
    "AUTH_HEADER_PREFIX": "Token",
    "TOKEN_TTL": timedelta(days=90),
    "AUTO_REFRESH": False,
}

# --- API ----------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "accounts.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["common.renderers.JsonRenderer"],
    "DEFAULT_PARSER_CLASSES": ["common.parsers.BodyParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "common.api.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "COERCE_DECIMAL_TO_STRING": False,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Sluice API",
    "DESCRIPTION": "Submit jobs with four facts and follow them; read quotas and nodes.",
    "VERSION": "1",
    "SERVE_INCLUDE_SCHEMA": False,
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_SETTINGS": {"deepLinking": True},  # without persistAuthorization: a token stays in no browser
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "JobState": [state.value for state in JobState],
        "JobKind": [kind.value for kind in Kind],
        "CardSharing": [sharing.value for sharing in CardSharing],
        "ClusterKind": ["sandbox", "kubernetes"],
        "NodeGroupState": ["proposed", "confirmed", "aside"],
        "SharingMode": [mode.value for mode in SharingMode],
        "StartVerdict": [verdict.value for verdict in Verdict],
        "SubmitKind": [kind.value for kind in Kind if kind is not Kind.INFERENCE],
    },
}
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

# --- language, time -----------------------------------------------------------
USE_TZ = True
TIME_ZONE = "UTC"
LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English")), ("zh-hans", _("Simplified Chinese"))]
LOCALE_PATHS = [BASE_DIR / "locale"]
STORAGE_ROOT = read("SLUICE_STORAGE_ROOT", "")
SITE_TIME_ZONE = read("SLUICE_TIME_ZONE", "UTC")

# --- static files -------------------------------------------------------------
STATIC_URL = "/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
WHITENOISE_USE_FINDERS = True  # one machine: served from the tree, no collect step
WHITENOISE_AUTOREFRESH = False

# --- headers ------------------------------------------------------------------
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [NONCE],  # neither 'self' nor 'strict-dynamic': what no template named does not run
        "style-src": [SELF],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "object-src": [NONE],
    }
}
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"

# --- tasks --------------------------------------------------------------------
CELERY_BROKER_URL = celery_broker_url(REDIS_URL)
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_REJECT_ON_WORKER_LOST = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_WORKER_CANCEL_LONG_RUNNING_TASKS_ON_CONNECTION_LOSS = True
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_BROKER_CONNECTION_MAX_RETRIES = None
CELERY_BROKER_CHANNEL_ERROR_RETRY = True
CELERY_BROKER_CONNECTION_TIMEOUT = 1
CELERY_BROKER_TRANSPORT_OPTIONS = {
    "visibility_timeout": 300,
    "socket_keepalive": True,
    "socket_timeout": 5,
    # a hint gives up at once: nobody waits for a broker that is away, the sweep finds the work
    "max_retries": 1,
    "interval_start": 0,
    "interval_step": 0,
}
CELERY_TASK_TIME_LIMIT = 60
CELERY_TASK_SOFT_TIME_LIMIT = 45
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = "UTC"
CELERY_TASK_DEFAULT_QUEUE = "sync"
CELERY_TASK_ROUTES = {"jobs.*": {"queue": "reconcile"}, "clusters.*": {"queue": "sync"}, "quotas.*": {"queue": "sync"}}

# --- what an installation may tune -------------------------------------------
SLUICE: dict[str, Any] = {
    "LEASE_SECONDS": read_int("SLUICE_LEASE_SECONDS", 30),
    "SWEEP_BATCH": read_int("SLUICE_SWEEP_BATCH", 200),
    "STALE_AFTER_SECONDS": 90,
    "FIGURES_SECONDS": 1.0,  # so old may be what a submit knows of free cards: it chooses a node group by them
    "WASTE_SECONDS": 60.0,  # so old may be the ranking of teams by waste, which reads the runs of days
    # how long the water level is kept by the minute and by the hour; whole months go at once
    "WATER_MINUTES_DAYS": read_int("SLUICE_WATER_MINUTES_DAYS", 14),
    "WATER_HOURS_MONTHS": read_int("SLUICE_WATER_HOURS_MONTHS", 13),
    # where API servers may be: networks, addresses, names; see docs/connect-a-cluster.md for what stays closed
    "CLUSTER_ADDRESSES": read_parsed(
        "SLUICE_CLUSTER_ADDRESSES", "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,fc00::/7", AllowList.parse
    ),
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "%(asctime)s %(levelname)s %(name)s %(message)s"}},
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {"celery.app.trace": {"level": "WARNING"}, "django.request": {"level": "ERROR"}},
}

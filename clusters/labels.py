"""What people read about connecting clusters: kinds, accounts, what a kubeconfig is refused for, what went wrong."""

from __future__ import annotations

from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from clusters.backends.kueue_volcano.addresses import AddressProblem
from clusters.backends.kueue_volcano.credentials import Account
from clusters.backends.kueue_volcano.kubeconfig import Problem
from clusters.contract import SharingMode

PUBLIC_KINDS = {"sandbox": "sandbox", "kueue_volcano": "kubernetes"}
"""What the API calls a kind of cluster: people know the platform, not the schedulers on it."""

KINDS: dict[str, str | Promise] = {"sandbox": _("Sandbox"), "kueue_volcano": "Kubernetes"}

ACCOUNTS: dict[Account, str | Promise] = {
    Account.RUNTIME: _("Jobs"),
    Account.QUOTA: _("Quotas"),
    Account.NODE: _("Nodes"),
}

SHARING: dict[SharingMode, str | Promise] = {
    SharingMode.EXCLUSIVE: _("a whole card"),
    SharingMode.MIG: _("a slice that is cut in hardware"),
    SharingMode.TIME_SLICED: _("a share of a card's time"),
    SharingMode.VGPU: _("a virtual card"),
}
"""What one unit of a resource is."""

REFUSALS: dict[str, str | Promise] = {
    Problem.TOO_LARGE: _(
        "This file is larger than 64 KiB. Upload what kubectl config view --minify --flatten --raw prints: one context"
        " alone."
    ),
    Problem.NOT_TEXT: _("This file is not text in UTF-8."),
    Problem.NOT_YAML: _("This file is not YAML. Upload a kubeconfig as kubectl writes it."),
    Problem.SEVERAL_DOCUMENTS: _("This file holds several documents. Upload a kubeconfig alone."),
    Problem.ALIASES: _("This file uses YAML anchors or aliases, which are not read. Write the values out."),
    Problem.TAGS: _("This file uses YAML tags, which are not read. Take them out."),
    Problem.TOO_DEEP: _("This file is nested too deeply for a kubeconfig."),
    Problem.DUPLICATE_KEY: _("This file has an entry twice in one place (%(name)s). Keep the one that is meant."),
    Problem.NOT_KUBECONFIG: _("This file is not a kubeconfig: it needs clusters, users and contexts."),
    Problem.DUPLICATE_NAME: _(
        "This kubeconfig has two entries of the same name (%(name)s). Keep the one that is meant."
    ),
    Problem.CONTEXT_MISSING: _("This kubeconfig has no context."),
    Problem.CONTEXT_UNCLEAR: _("This kubeconfig has several contexts and no current one. Name the one to use."),
    Problem.CONTEXT_UNKNOWN: _("This kubeconfig has no context of the name %(name)s."),
    Problem.CLUSTER_MISSING: _("The context names a cluster that this kubeconfig does not have."),
    Problem.USER_MISSING: _("The context names a user that this kubeconfig does not have."),
    Problem.SERVER_MISSING: _("This kubeconfig does not say where the API server is."),
    Problem.PROXY: _(
        "This kubeconfig goes through a proxy (proxy-url), which is not supported. The console connects directly."
    ),
    Problem.INSECURE: _(
        "This kubeconfig switches the check of the server's certificate off. Give the certificate authority instead"
        " (certificate-authority-data)."
    ),
    Problem.TLS_SERVER_NAME: _(
        "This kubeconfig expects a certificate of another name (tls-server-name), which is not supported. Use an"
        " address that the server's certificate names."
    ),
    Problem.CA_MISSING: _("This kubeconfig has no certificate authority (certificate-authority-data)."),
    Problem.CA_FILE: _(
        "This kubeconfig names a file with the certificate authority. Upload what kubectl config view --minify"
        " --flatten --raw prints: it has the content."
    ),
    Problem.CA_BAD: _("The certificate authority in this kubeconfig cannot be read: it must be PEM in base64."),
    Problem.EXEC: _(
        "This kubeconfig runs a program to sign in (exec). The console runs none: use a service account's token."
    ),
    Problem.AUTH_PROVIDER: _(
        "This kubeconfig signs in through a provider (auth-provider). Use a service account's token instead."
    ),
    Problem.PASSWORD: _("This kubeconfig signs in by a password. Use a service account's token instead."),
    Problem.IMPERSONATION: _("This kubeconfig acts as somebody else (as). Use the account itself."),
    Problem.TOKEN_FILE: _("This kubeconfig names a file with the token (tokenFile). Put the token itself in."),
    Problem.TOKEN_BAD: _("The token in this kubeconfig is not one line of plain characters."),
    Problem.CERTIFICATE_FILE: _(
        "This kubeconfig names files with the client certificate or its key. Upload what kubectl config view --minify"
        " --flatten --raw prints: it has their content."
    ),
    Problem.CERTIFICATE_BAD: _("The client certificate in this kubeconfig cannot be read: it must be PEM in base64."),
    Problem.CERTIFICATE_INCOMPLETE: _(
        "A client certificate and its key belong together; this kubeconfig has only one."
    ),
    Problem.KEY_BAD: _(
        "The client key in this kubeconfig cannot be read: it must be a PEM key (RSA, EC, Ed25519) in base64."
    ),
    Problem.KEY_LOCKED: _("The client key in this kubeconfig is locked by a passphrase. Unlock it first."),
    Problem.KEY_FOREIGN: _("The client key in this kubeconfig does not belong to the client certificate."),
    Problem.ACCOUNT_MISSING: _("This kubeconfig has neither a token nor a client certificate."),
    Problem.ACCOUNT_UNCLEAR: _("This kubeconfig has a token and a client certificate. Keep the one that is meant."),
    Problem.UNKNOWN_ENTRY: _("This kubeconfig has an entry that is not known (%(name)s). Take it out."),
    AddressProblem.NOT_HTTPS: _("The API server's address must begin with https://."),
    AddressProblem.USER_INFO: _("The API server's address must not hold a user or a password."),
    AddressProblem.PATH: _("The API server's address must not have a path: connect to the API server itself."),
    AddressProblem.ODD: _(
        "The API server's address is not plainly spelled: write a DNS name or an IP address, and a port."
    ),
    AddressProblem.NOT_ALLOWED: _(
        "The console may not connect to %(name)s. Whoever operates it can allow the address in the setting"
        " SLUICE_CLUSTER_ADDRESSES."
    ),
    AddressProblem.NO_SUCH_NAME: _("The name %(name)s cannot be looked up. Check the API server's address."),
}

ERRORS: dict[str, str | Promise] = {
    "address_not_allowed": _(
        "The console may not connect to this address. Whoever operates it can allow it in the setting"
        " SLUICE_CLUSTER_ADDRESSES."
    ),
    "busy": _("The cluster asks us to slow down."),
    "conflict": _("Somebody else changed the same object at the same time."),
    "credentials_unreadable": _(
        "The stored credentials open with none of the console's keys. Replace them, or have the key put back."
    ),
    "credentials_unusable": _("The certificates cannot be used for a connection."),
    "forbidden": _("The account lacks a right. Compare its rights with those that the console ships."),
    "internal_error": _("The console could not make sense of what it read. Its log says more."),
    "name_not_found": _("The name of the API server cannot be looked up."),
    "no_api_server": _("What answers at this address is no API server."),
    "no_gate": _("Admission queues are not installed in the cluster, so it takes no jobs."),
    "no_node_account": _("No account for nodes is stored."),
    "no_quota_account": _("No account for quotas is stored, so quotas do not reach the cluster."),
    "no_runtime_account": _("No account for jobs is stored."),
    "read_only": _("This cluster is only looked at: nothing is written there until somebody starts managing it."),
    "server_error": _("The API server answers with an error of its own."),
    "silent": _("The API server does not answer in time."),
    "tls": _(
        "The API server's certificate does not fit: it is not signed by the given authority, or names another host."
    ),
    "unauthorized": _(
        "The API server does not accept the account: its token or certificate has ended or was withdrawn."
    ),
    "unreachable": _("The API server cannot be reached."),
    "webhook_silent": _("A checkpoint inside the cluster does not answer, so nothing can be made there now."),
}


def error_text(code: str) -> str:
    """A cluster's error in words; the code itself where there are none."""
    known = ERRORS.get(code)
    return (
        str(known) if known is not None else gettext("The cluster answers with an error (%(code)s).") % {"code": code}
    )

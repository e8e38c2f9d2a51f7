"""Exit 0 when the web server of this container answers /readyz with 200, under a host name that it accepts.

Usage: healthcheck.py [PORT]
"""

from __future__ import annotations

import http.client
import os
import sys

PORT = 8000


def main() -> int:
    """The exit code for the container's health check."""
    host = os.environ.get("SLUICE_ALLOWED_HOSTS", "localhost").split(",")[0].lstrip(".")
    port = int(sys.argv[1]) if len(sys.argv) > 1 else PORT
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", "/readyz", headers={"Host": host})
        return 0 if connection.getresponse().status == 200 else 1
    except (OSError, http.client.HTTPException):
        return 1


if __name__ == "__main__":
    sys.exit(main())

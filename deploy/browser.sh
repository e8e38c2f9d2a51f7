#!/bin/sh
# Make sure that the browser tests can run: a Chromium, and a font that has Chinese characters.
# As root both come by apt unless SLUICE_NO_INSTALL=1 forbids it; otherwise the command to type is printed. Exits 1
# when something is still missing: the browser tests are then skipped and say so.
set -eu

packages=""
chromium=""
for name in "${SLUICE_CHROMIUM:-}" chromium chromium-browser google-chrome; do
    if [ -n "$name" ] && command -v "$name" >/dev/null 2>&1; then
        chromium=$name
        break
    fi
done
[ -n "$chromium" ] || packages="chromium"
if ! command -v fc-list >/dev/null 2>&1 || [ -z "$(fc-list :lang=zh family 2>/dev/null)" ]; then
    packages="${packages:+$packages }fonts-noto-cjk"
fi
[ -n "$packages" ] || exit 0

install="apt-get install --yes --no-install-recommends $packages"
if [ "$(id -u)" != 0 ] || [ "${SLUICE_NO_INSTALL:-0}" = 1 ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "The browser tests need $packages. They are skipped until you run, as root: $install" >&2
    exit 1
fi
echo "The browser tests need $packages. Installing by apt (SLUICE_NO_INSTALL=1 forbids this)."
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # the command is a list of words
if ! { apt-get update --quiet=2 && $install --quiet=2 >/dev/null; }; then
    echo "The packages could not be installed: $packages. The browser tests are skipped." >&2
    exit 1
fi

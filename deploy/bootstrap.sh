#!/bin/sh
# Bring the virtual environment .venv to a lock file, by hashes: bootstrap.sh LOCK
# Needs Python 3.11 or newer with its venv module and nothing else. PYTHON names the interpreter (python3).
# The packages come by uv, which pip installs first; where uv fails, pip installs them itself, only slower.
set -eu

lock=$1
python=${PYTHON:-python3}
venv=.venv

fail() {
    echo "$*" >&2
    exit 1
}

command -v "$python" >/dev/null 2>&1 || fail "Sluice needs Python 3.11 or newer, and there is no $python here."
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "Sluice needs Python 3.11 or newer, and $python is $("$python" -V 2>&1). Name another one: make run PYTHON=python3.12"

# The interpreter's own pip serves any environment from 22.3 on; making one more takes longer than all the rest.
lends_pip() {
    "$python" -c 'import sys, pip; sys.exit(tuple(map(int, pip.__version__.split(".")[:2])) < (22, 3))' 2>/dev/null
}

if lends_pip; then
    own_pip=--without-pip
    pip() { "$python" -m pip --python "$venv/bin/python" "$@"; }
    is_whole() { "$venv/bin/python" -c '' 2>/dev/null; }
else
    own_pip=
    pip() { "$venv/bin/python" -m pip "$@"; }
    is_whole() { "$venv/bin/python" -c 'import pip' 2>/dev/null; }
fi

if ! is_whole; then
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        fail "Python's venv module is missing. On Debian and Ubuntu: apt-get install python3-venv"
    echo "Creating $venv with $("$python" -V 2>&1)"
    "$python" -m venv --clear $own_pip "$venv" || fail "Creating $venv failed."
fi

echo "Installing the packages of $lock"
export PIP_DISABLE_PIP_VERSION_CHECK=1
# uv does not read pip's configuration: hand it the package index that this machine prefers.
index_file=$venv/.index
echo "${PIP_INDEX_URL:-$(pip config get global.index-url 2>/dev/null || true)}" >"$index_file" &
# Like pip, it trusts whom this machine trusts: a company's proxy signs with an authority of its own.
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}" UV_PYTHON_DOWNLOADS=never
install_by_uv() {
    wait
    index=${UV_DEFAULT_INDEX:-$(cat "$index_file")}
    [ -z "$index" ] || export UV_DEFAULT_INDEX="$index"
    "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" --require-hashes --requirement "$lock"
}
if pip install --quiet --no-compile --require-hashes --requirement deploy/bootstrap.lock && install_by_uv; then
    :
else
    echo "uv could not install them; installing by pip"
    pip install --quiet --require-hashes --requirement "$lock" ||
        fail "The packages of $lock could not be installed. Is the package index within reach?"
fi

# Python finds the repository's packages without PYTHONPATH; the paths are relative, so the folder may be moved.
printf '%s\n' ../../../.. ../../../../platform >"$venv/lib/python$(
    "$venv/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
)/site-packages/sluice.pth"

#!/bin/sh
# Makes .venv with Flow and its extras ($1, such as "demo" or "demo,dev"), once: nothing is fetched again until
# pyproject.toml, requirements.lock, the folder or the Python change.
set -eu
cd "$(dirname "$0")/.."
extras=$1

fail() {
    printf '\nflow: %s\n' "$1" >&2
    [ $# -lt 2 ] || printf '      %s\n' "$2" >&2
    exit 1
}

key() { # of all that the environment depends on
    { pwd; cat pyproject.toml requirements.lock; "$1" -c 'import sys; print(sys.version)'; } | cksum
}

is_ready() { # whether .venv works and holds the extras
    [ -x .venv/bin/python ] && .venv/bin/python -c '' 2>/dev/null &&
        for stamp in ".venv/flow-$extras" .venv/flow-demo,dev; do
            [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(key .venv/bin/python)" ] && return 0
        done
    return 1
}

find_python() {
    for candidate in ${PYTHON:-python3.11 python3.12 python3.13 python3.14 python3 python}; do
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || continue
        echo "$candidate"
        return
    done
}

check_machine() {
    [ -n "$python" ] || fail "Flow needs Python 3.11 or newer; ${PYTHON:-python3} is $(${PYTHON:-python3} -V 2>&1 || echo missing)." \
        "Install one (Debian: apt-get install python3 python3-venv), or name one: make PYTHON=/path/to/python3.12"
    "$python" -c 'import venv, ensurepip' 2>/dev/null || fail "$("$python" -V) has no venv module." \
        "Debian and Ubuntu: apt-get install $("$python" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')"
    free=$(df -Pk . | awk 'NR == 2 { print $4 }')
    [ "$free" -gt 2500000 ] || fail "Only $((free / 1024)) MB are free in $(pwd); Flow and its libraries need 2500 MB."
}

explain_pip() {
    if grep -q 'No space left on device' .venv/pip.log; then
        fail "The disk is full." "Free some space in $(pwd) and in ${TMPDIR:-/tmp}, then try again."
    elif grep -qE 'NewConnectionError|NameResolutionError|ConnectTimeout|ProxyError|SSLError|Max retries|from versions: none' .venv/pip.log; then
        fail "pip cannot reach its package registry." \
            "Look at the network, the proxy (HTTPS_PROXY) and pip's own settings (pip config list); output: .venv/pip.log"
    fi
    fail "pip could not install Flow." "Its output is in .venv/pip.log"
}

is_ready && exit 0
python=$(find_python)
check_machine
if ! [ -x .venv/bin/python ] || ! .venv/bin/python -c 'import pip' 2>/dev/null || ! [ -f .venv/flow-place ] ||
    [ "$(cat .venv/flow-place)" != "$(pwd)" ]; then
    echo "Making .venv with $("$python" -V) ..."
    "$python" -m venv --clear .venv || fail "A virtual environment could not be made in $(pwd)/.venv."
    pwd >.venv/flow-place
fi
echo "Installing Flow and its libraries into .venv (about 1 GB, once) ..."
# Without a usable home pip has no cache and says so in every line.
[ -w "${HOME:-/nonexistent}" ] || export PIP_NO_CACHE_DIR=1
.venv/bin/python -m pip install --disable-pip-version-check --progress-bar off -q --no-compile -c requirements.lock -e ".[$extras]" \
    >.venv/pip.log 2>&1 || { tail -n 5 .venv/pip.log >&2; explain_pip; }
key .venv/bin/python >".venv/flow-$extras"

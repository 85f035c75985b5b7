#!/bin/sh
# Prints the path of a Chromium for the browser tests: what the machine has, else Debian's by apt when root, else
# Playwright's download into .venv. The headless shell takes a third less processor time than the whole browser. Fails loudly when there is none.
set -eu
cd "$(dirname "$0")/.."

works() { [ -n "$1" ] && "$1" --version >/dev/null 2>&1; }

installed() {
    for name in chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable \
        "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"; do
        found=$(command -v "$name" 2>/dev/null) && works "$found" && echo "$found" && return
    done
    return 1
}

apt_install() { apt-get install -y -q --no-install-recommends "$1"; }

by_apt() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null || return 1
    echo "Installing Debian's chromium for the browser tests ..." >&2
    export DEBIAN_FRONTEND=noninteractive
    { apt-get update -q && { apt_install chromium-headless-shell || apt_install chromium; }; } >.venv/apt.log 2>&1 ||
        { tail -n 3 .venv/apt.log >&2; return 1; }
}

downloaded() {
    export PLAYWRIGHT_BROWSERS_PATH="$PWD/.venv/browsers"
    path='from playwright.sync_api import sync_playwright as s
with s() as p: print(p.chromium.executable_path)'
    found=$(.venv/bin/python -c "$path")
    if ! [ -x "$found" ]; then
        echo "Downloading a Chromium for the browser tests ..." >&2
        .venv/bin/python -m playwright install chromium >&2 || return 1
    fi
    works "$found" && echo "$found"
}

if [ -n "${FLOW_TEST_BROWSER:-}" ]; then
    works "$FLOW_TEST_BROWSER" || { echo "flow: FLOW_TEST_BROWSER is $FLOW_TEST_BROWSER, which does not start." >&2; exit 1; }
    echo "$FLOW_TEST_BROWSER"
    exit
fi
installed || { by_apt && installed; } || downloaded || {
    echo "flow: there is no Chromium for the browser tests, and none could be installed." >&2
    echo "      Install chromium or Google Chrome, or set FLOW_TEST_BROWSER to its path." >&2
    exit 1
}

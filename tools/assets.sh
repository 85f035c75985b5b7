#!/bin/sh
# Makes static/dist from static/src; with --check only says whether it is what the sources make, and runs the
# sources' own tests. A machine without Node has nothing to check: dist is committed.
set -eu
cd "$(dirname "$0")/.."

if ! command -v node >/dev/null; then
    echo "No Node here: static/dist is taken as it is."
    exit 0
fi
[ -d node_modules ] || npm ci --silent
if [ "${1:-}" != --check ]; then
    exec node tools/build.mjs static/dist
fi
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
node tools/build.mjs "$made"
diff -rq "$made" static/dist || { echo "static/dist is not what static/src makes: run tools/assets.sh and commit it." >&2; exit 1; }
node --test --test-reporter=dot static/src/*/*.test.mjs

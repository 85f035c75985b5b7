#!/bin/sh
# Installs Debian's MariaDB for the tests of the connector mysql, when root and apt is there. Without it these tests are skipped.
set -eu
cd "$(dirname "$0")/.."
[ -x /usr/sbin/mariadbd ] || [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null && exit 0
echo "Installing Debian's mariadb-server for the tests ..." >&2
export DEBIAN_FRONTEND=noninteractive
{ apt-get update -q && apt-get install -y -q --no-install-recommends mariadb-server; } >.venv/mariadb.log 2>&1 || {
    echo "flow: MariaDB could not be installed; its tests are skipped. See .venv/mariadb.log" >&2
}

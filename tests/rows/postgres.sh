#!/usr/bin/env bash
# postgres.sh start FOLDER: a PostgreSQL of our own, for this machine alone; prints its address.
# It is installed by apt-get if there is none and we may. postgres.sh stop FOLDER takes it away.
set -euo pipefail
what=$1 folder=$2
user=$(id -un)
programs() { ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1; }
# PostgreSQL does not run as root
as() { if [ "$user" = root ]; then runuser -u postgres -- "$@"; else "$@"; fi; }
case $what in
  start)
    if [ -z "$(programs)" ]; then
      test "$user" = root || { echo "PostgreSQL is not installed, and only root can" >&2; exit 1; }
      export DEBIAN_FRONTEND=noninteractive
      { apt-get update && apt-get install -y --no-install-recommends postgresql; } >&2
    fi
    place=$(mktemp -d /tmp/postgres.XXXXXX)
    echo "$place" >"$folder/place"
    if [ "$user" = root ]; then chown postgres "$place"; fi
    cd "$place"
    port=$(python3 -c '
import socket
with socket.socket() as s:
    s.bind(("127.0.0.1", 0))
    print(s.getsockname()[1])')
    as "$(programs)/initdb" -D "$place/data" -A trust -U shirley >&2
    as "$(programs)/pg_ctl" -D "$place/data" -w -l "$place/log" start -o \
      "-p $port -k $place -c listen_addresses=127.0.0.1 -c fsync=off" >/dev/null 2>&1 </dev/null
    echo "postgresql://shirley@127.0.0.1:$port/postgres"
    ;;
  stop)
    test -e "$folder/place" || exit 0
    place=$(cat "$folder/place")
    cd "$place"
    as "$(programs)/pg_ctl" -D "$place/data" -m immediate stop >/dev/null
    cd / && rm -r "$place" "$folder/place"
    ;;
esac

#!/usr/bin/env bash
# Runs the bench scenarios against a fresh one-node Mayfly and, when PEER is set,
# against that broker too, in turn (A B A B), printing one JSON line a run.
#   PEER=amqp://… PEER_PIDS=1,2,3 PEER_TYPE=quorum  the peer
#   SCENARIOS="publish pubcon"                      what to run
#   ROUNDS=2 COUNT=300000 SIZES="1024 100"
set -euo pipefail
bin=$(realpath "${1:-bin/mayfly}")
rounds=${ROUNDS:-2} count=${COUNT:-300000} sizes=${SIZES:-1024}
scenarios=${SCENARIOS:-publish pubcon latency backlog manyqueues}
data=$(mktemp -d)
"$bin" server --data-dir "$data" --amqp 127.0.0.1:0 --management off --log-level warn 2> "$data/log" &
pid=$!
trap 'kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; rm -rf "$data"' EXIT
for _ in $(seq 100); do
  [ -f "$data/endpoints.json" ] && break
  kill -0 "$pid" || { cat "$data/log"; exit 1; }
  read -rt 0.1 <> <(:) || true
done
url="amqp://guest:guest@$(sed -n 's/.*"amqp": "\([^"]*\)".*/\1/p' "$data/endpoints.json")/"

one() { # scenario size url pids type
  local n=$count
  [ "$1" = manyqueues ] && n=${QUEUES:-1000}
  "$bin" bench "$1" --size "$2" --count "$n" --url "$3" --pids "$4" --type "$5"
}
for scenario in $scenarios; do
  for size in $sizes; do
    for _ in $(seq "$rounds"); do
      one "$scenario" "$size" "$url" "$pid" ""
      [ -z "${PEER:-}" ] || one "$scenario" "$size" "$PEER" "${PEER_PIDS:-}" "${PEER_TYPE:-}"
    done
  done
done

#!/usr/bin/env bash
# Drives stock clients against a fresh `mayfly server`, or against the broker that
# MAYFLY_TEST_URL names: each connects with its default settings, declares,
# publishes with confirms, consumes, acks and closes (amqp.md, checklist 123-127).
set -euo pipefail
bin=$(realpath "${1:-bin/mayfly}")
cd "$(dirname "$0")"
url=${MAYFLY_TEST_URL:-}
if [ -z "$url" ]; then
  data=$(mktemp -d)
  "$bin" server --data-dir "$data" --amqp 127.0.0.1:0 --management off --log-level warn 2> "$data/log" &
  pid=$!
  trap 'kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; rm -rf "$data"' EXIT
  for _ in $(seq 100); do
    [ -f "$data/endpoints.json" ] && break
    kill -0 "$pid" || { cat "$data/log"; exit 1; }
    read -rt 0.1 <> <(:) || true
  done
  address=$(sed -n 's/.*"amqp": "\([^"]*\)".*/\1/p' "$data/endpoints.json")
  url="amqp://guest:guest@$address" # no slash: some clients take one for the vhost ""
fi
export AMQP_URL=$url
passed=0 failed=0
for client in pika_client.py kombu_client.py celery_client.py bunny_client.rb amqplib_client.js amqp_tools.sh; do
  case $client in
    *.py) run=(/usr/bin/python3) ;;
    *.rb) run=(ruby) ;;
    *.js) run=(node) ;;
    *.sh) run=(bash) ;;
  esac
  if timeout 60 "${run[@]}" "$client"; then
    echo "ok   $client"; passed=$((passed + 1))
  else
    echo "FAIL $client"; failed=$((failed + 1))
  fi
done
echo "clients: $passed passed, $failed failed"
[ "$failed" = 0 ]

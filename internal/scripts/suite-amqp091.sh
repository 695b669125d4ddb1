#!/usr/bin/env bash
# Runs amqp091-go's own integration suite, from the module cache, against a fresh
# `mayfly server`. The one test that needs rabbitmqctl skips itself. The suite asks
# the management API at localhost:15672, a port that it does not let us choose. It
# leaves out two tests, and their connections open, unless the product is RabbitMQ.
set -euo pipefail
management=127.0.0.1:15672
if (exec 3<> "/dev/tcp/${management/://}") 2> /dev/null; then
  echo "$0: $management is in use, and the suite talks to the management API there: stop what listens on it" >&2
  exit 1
fi
bin=$(realpath "${1:-bin/mayfly}")
cd "$(dirname "$0")/../.."
src=$(go list -m -f '{{.Dir}}' github.com/rabbitmq/amqp091-go)
work=$(mktemp -d)
cp -r "$src" "$work/suite"
chmod -R u+w "$work/suite"
"$bin" server --data-dir "$work/data" --amqp 127.0.0.1:0 --management "$management" \
  --set amqp.compat.product=RabbitMQ --log-level warn 2> "$work/log" &
pid=$!
trap 'kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; rm -rf "$work"' EXIT
for _ in $(seq 100); do
  [ -f "$work/data/endpoints.json" ] && break
  kill -0 "$pid" || { cat "$work/log"; exit 1; }
  read -rt 0.1 <> <(:) || true
done
address=$(sed -n 's/.*"amqp": "\([^"]*\)".*/\1/p' "$work/data/endpoints.json")
cd "$work/suite"
AMQP_URL="amqp://guest:guest@$address/" go test -count=1 -timeout 300s -tags integration "${@:2}" ./

#!/usr/bin/env bash
# Installs the stock clients that internal/conformance/clients/run.sh drives: Debian's packages
# and one from npm. Nothing is installed that is there already.
set -euo pipefail
cd "$(dirname "$0")"
sudo=""
[ "$(id -u)" = 0 ] || sudo=sudo
need=()
for p in python3-pika python3-amqp python3-kombu celery ruby-bunny amqp-tools; do
  dpkg -s "$p" >/dev/null 2>&1 || need+=("$p")
done
if [ "${#need[@]}" -gt 0 ]; then
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends "${need[@]}"
fi
[ -d node_modules/amqplib ] || npm install --no-audit --no-fund --no-package-lock --silent amqplib@0.10

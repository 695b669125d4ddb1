#!/usr/bin/env bash
# The command line tools of librabbitmq (checklist 123).
set -euo pipefail
url=$AMQP_URL
amqp-declare-queue -u "$url" -d -q tools-q > /dev/null
amqp-publish -u "$url" -r tools-q -p -b "one"
amqp-publish -u "$url" -r tools-q -p -b "two"
[ "$(amqp-get -u "$url" -q tools-q)" = one ]
[ "$(amqp-consume -u "$url" -q tools-q -c 1 cat)" = two ]
amqp-delete-queue -u "$url" -q tools-q > /dev/null

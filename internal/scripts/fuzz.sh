#!/usr/bin/env bash
# Runs every fuzz target of the tree for the given time each.
set -euo pipefail
cd "$(dirname "$0")/../.."
for file in $(git ls-files '*_test.go'); do
  dir=$(dirname "$file")
  for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
    echo "== $dir $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "${1:-30s}" "./$dir"
  done
done

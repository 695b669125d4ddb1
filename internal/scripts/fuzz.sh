#!/usr/bin/env bash
# Runs every fuzz target of the tree for the given number of executions (50000x) or
# time (5m) each. A time that ends during a minimisation can fail for that alone,
# so a number is the default.
set -euo pipefail
cd "$(dirname "$0")/../.."
for file in $(git ls-files '*_test.go'); do
  dir=$(dirname "$file")
  for target in $(sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$file"); do
    echo "== $dir $target"
    go test -run '^$' -fuzz "^$target\$" -fuzztime "${1:-50000x}" -fuzzminimizetime 10x "./$dir"
  done
done

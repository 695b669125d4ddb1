# Each target is one line that a person could type. `make` alone lists them.
GO      ?= go
T       ?= 50000x
BIN     ?= bin/mayfly
VERSION ?= 0.1.0

.DEFAULT_GOAL := help

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-16s %s\n", $$1, $$2}' Makefile

build: ## build bin/mayfly
	$(GO) build -trimpath -ldflags "-X main.version=$(VERSION)" -o $(BIN) ./cmd/mayfly

run: build ## run one node
	$(BIN) server

test: check race e2e ## everything a change must pass

check: ## format, vet, tests on the tree, unit tests, scenarios, crash points
	@test -z "$$(gofmt -l $$(git ls-files '*.go'))" || { gofmt -l $$(git ls-files '*.go'); echo "gofmt would change these files"; exit 1; }
	$(GO) vet ./...
	$(GO) test -timeout 300s $$($(GO) list ./... | grep -v internal/conformance | grep -v cmd/mayfly)
	$(GO) test -timeout 300s -tags invariants ./queue/... ./fsm/...

race: ## race detector where goroutines meet
	$(GO) test -race -timeout 300s ./cluster/... ./amqp/ ./internal/password

clients: ## install the stock clients of other languages that are missing
	internal/conformance/clients/install.sh

e2e: build clients ## a real server: command line, conformance suite, crash runs, stock clients
	$(GO) test -timeout 400s ./cmd/mayfly ./internal/conformance
	internal/conformance/clients/run.sh $(BIN)

oracle: ## the conformance suite against a RabbitMQ: make oracle URL=amqp://... (import internal/conformance/testdata/definitions.json there first)
	MAYFLY_TEST_URL=$(URL) MAYFLY_TEST_KIND=rabbitmq $(GO) test -count=1 -timeout 600s ./internal/conformance

suite-amqp091: build ## amqp091-go's own integration suite against mayfly server
	internal/scripts/suite-amqp091.sh $(BIN)

kills: ## 200 times kill -9 under load: SEED=n repeats a run
	MAYFLY_KILLS=200 MAYFLY_SEED=$(SEED) $(GO) test -count=1 -timeout 30m -v -run TestKill9UnderLoad ./cmd/mayfly

mutations: ## 100,000 mutations of recorded sessions, 10,000 half-open connections: SEED=n repeats a run
	MAYFLY_MUTATIONS=100000 MAYFLY_HALF_OPEN=10000 MAYFLY_SEED=$(SEED) $(GO) test -count=1 -timeout 30m -v -run 'TestMutations|TestHalfOpen' ./cmd/mayfly

fuzz: ## every fuzz target, T each: 50000x executions, or a time such as 5m
	internal/scripts/fuzz.sh $(T)

bench: build ## speed and cost of one node
	internal/scripts/bench.sh $(BIN)

bench-compare: build ## the same against a peer, in turn: PEER=urls PEER_PIDS=pids [PEER_TYPE=quorum]
	PEER=$(PEER) PEER_PIDS=$(PEER_PIDS) PEER_TYPE=$(PEER_TYPE) internal/scripts/bench.sh $(BIN)

microbench: ## benchmarks beside the code, with allocations
	$(GO) test -run '^$$' -bench . -benchmem ./...

gen: ## regenerate the AMQP methods
	$(GO) generate ./...

.PHONY: help build run test check race clients e2e oracle suite-amqp091 kills mutations fuzz bench bench-compare microbench gen

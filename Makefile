GO ?= go
BIN := bin/memctl

.DEFAULT_GOAL := help

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-12s %s\n", $$1, $$2}'

build: ## build bin/memctl
	$(GO) build -trimpath -o $(BIN) ./cmd/memctl

demo: build ## import a small history, ask it five questions
	@./$(BIN) demo

# Files of tests lie in memory where there is enough of it: no test but those of engine/faulttest, which has a disk of its own making, asks what a loss
# of power leaves. "make race" uses the real disk. Where nothing may be run from memory, as in some containers, the tests' own programs could not be.
ROOM := $(shell [ "$$(df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 {print $$4}')" -gt 8000000 ] 2>/dev/null && \
	! grep -q ' /dev/shm .*noexec' /proc/mounts && echo TMPDIR=/dev/shm)

# Those that take longest begin first.
FIRST := ./engine ./engine/upkeep ./engine/recall ./engine/faulttest ./cmd/memctl ./engine/session

# Most binutils bring a second linker, gold, which takes two thirds of the first one's time.
LINKER := $(shell command -v ld.gold >/dev/null && echo -extldflags=-fuse-ld=gold)

# What repeats a test with other numbers is for continuous integration, which has SHORT empty.
SHORT := -short

# Debuggers' tables are left out, for to link them takes more than half of the time in which a package of tests is made, and go vet, which "make lint" runs.
test: ## run the tests in their short form: some minutes; "make test SHORT=", as continuous integration does, runs more of each
	$(ROOM) $(GO) test $(SHORT) -vet=off -ldflags='-s -w $(LINKER)' $(TESTFLAGS) -timeout 45m $(FIRST) ./...

test-long: ## run all tests in their long form, those of faults too: some hours
	MALLARD_LONG=1 $(GO) test $(TESTFLAGS) -timeout 6h $(FIRST) ./...

test-faults: ## lose power, kill, fail and damage at every moment of a file's life: two hours
	MALLARD_LONG=faults $(GO) test $(TESTFLAGS) -v -timeout 3h ./engine/faulttest

race: ## run the engine's tests under the race detector
	$(GO) test -race -short -timeout 45m ./engine/...

bench: ## run each benchmark once, so that none rots
	$(GO) test -run '^$$' -bench . -benchtime 1x ./...

lint: ## gofmt, go vet, staticcheck
	@test -z "$$(gofmt -l .)" || { echo "not gofmt-ed:"; gofmt -l .; exit 1; }
	$(GO) vet ./...
	$(GO) tool staticcheck ./...

fuzz: ## fuzz every parser for ten seconds
	@grep -roE 'func Fuzz[A-Za-z0-9]+' --include=*_test.go --exclude-dir='.?*' . | sed -E 's|/[^/]*:func | |' | sort | while read -r folder target; do \
		$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime 10s -fuzzminimizetime 5x $$folder </dev/null || exit 1; done

golden: ## accept the present results as the goldens
	$(GO) test ./engine/recall ./engine/assemble -run "Ranking|AssembledForms" -update && $(GO) test ./engine/text ./engine/text/extract ./engine/text/standin ./engine/prompts -update

.PHONY: help build demo test test-long test-faults race bench lint fuzz golden

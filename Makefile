# Custos. `make` alone lists what there is.

VERSION ?= $(shell git describe --always --dirty 2>/dev/null || echo unknown)
GOFLAGS_BUILD = -trimpath -ldflags '-s -w -X main.version=$(VERSION)'
HISTORIES ?= 10000

.DEFAULT_GOAL := help
.PHONY: help run build test deps check unit histories reader bench soak week fuzz conformance mutate chaos evening town night browser docs release reproducible package-check edge-check service-check cgroup-check lint clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-8s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## build, then take the first look at this machine (changes nothing)
	@./bin/custos

build: ## build the static binaries: custos, what it puts around agents, and custos-hub
	@CGO_ENABLED=0 go build $(GOFLAGS_BUILD) -o bin/ ./cmd/custos ./cmd/custos-shim ./cmd/custos-hook ./cmd/custos-hub

test: deps check unit histories reader ## install what the tests need, then run everything

deps: ## install tmux, git and a C compiler (for -race) from Debian, or say what is missing
	@./scripts/deps tmux git gcc:gcc

# Where Custos is a client of machines that are watched. To vet a program is to compile all that is in it: 80 s for both
# the first time, on two cores, and a second after that.
CLIENTS = darwin/arm64 freebsd/amd64

check: ## formatting and go vet, for Linux and for where Custos is a client
	@fmt=$$(gofmt -l cmd internal); test -z "$$fmt" || { echo "not gofmt-ed:"; echo "$$fmt"; exit 1; }
	@go vet ./...
	@go vet -tags conformance ./internal/conformance
	@for m in $(CLIENTS); do GOOS=$${m%/*} GOARCH=$${m#*/} go vet ./cmd/custos ./cmd/custos-hook || exit 1; done

# SQLite, translated from C, takes 5 to 30 times as long under the race detector, which has nothing to find in it.
UNRACED = -gcflags=modernc.org/sqlite/lib=-race=false

# A test that fails beside all the others is run once more by itself; what passes then is listed as such at the
# end, and is a fault to look into. Never where a data race was seen, a package did not end, or over five tests failed.
ALONE = --rerun-fails=1 --rerun-fails-max-failures=5 --rerun-fails-run-root-test --rerun-fails-abort-on-data-race

unit: ## every test, with the race detector
	@go run gotest.tools/gotestsum@v1.13.0 $(ALONE) --packages ./... -- -race $(UNRACED) -timeout 45m

histories: ## the pure core, with HISTORIES (10 000) random histories; a busy week in a day, days and nights: what runs in one goroutine, without the race detector
	@CUSTOS_HISTORIES=$(HISTORIES) go test -timeout 45m ./internal/assess ./internal/decide/... ./internal/fleet ./internal/ledger
	@CUSTOS_HISTORIES=3000 go test -timeout 45m -run TestThePageCounts ./internal/daemon
	@CUSTOS_HISTORIES=$(HISTORIES) CUSTOS_DAYS=1 go test -timeout 45m -run 'Histor|Week|Day|Night|Month|Ambiguous|Soak' ./internal/loop

week: ## a busy town for a week of fake time: work, gates, convoys, mail, plugins, and a Custos that is killed again and again
	@CUSTOS_DAYS=7 go test -timeout 30m -v -run TestWeek ./internal/loop

reader: ## fuzz the reader of formulas for a minute: they are other people's files
	@go test -run '^$$' -fuzz '^FuzzParse$$' -fuzztime 60s ./internal/formula

bench: ## the numbers of docs/performance.md
	@go test -timeout 30m -run '^$$' -bench . -benchmem ./internal/...

soak: HISTORIES := $(if $(filter file,$(origin HISTORIES)),1000000,$(HISTORIES))
soak: ## HISTORIES (1 000 000) random histories through the pure core, and 60 towns of half an hour
	@CUSTOS_SOAKS=60 CUSTOS_SEED=$$(date +%s) go test -timeout 2h -run TestSoak ./internal/loop
	@CUSTOS_HISTORIES=$(HISTORIES) go test -timeout 24h -run 'Histor|Propert' ./internal/decide/... ./internal/assess ./internal/loop

mutate: ## changes one line after the other of what decides and acts, and wants a test to be red for each (half an hour)
	@CUSTOS_MUTATE=1 go test -timeout 2h -count=1 -run TestMutants ./internal/arch

evening: ## a stranger's first evening, timed: clone, build, setup, two agents, one waits and is answered (20 s)
	@./scripts/first-evening

town: ## every agent rule on real, scripted agents, a hammered daemon, and 90 seconds of the night: a quarter of an hour
	@CUSTOS_TOWN=1 CUSTOS_HAMMER_FOR=1m go test -timeout 40m -count=1 -v -run 'TestRules|TestFormulaKilled|TestPluginsKilled|TestTutorial|TestHammer|TestAHostThatIsBack' ./internal/daemon
	@CUSTOS_TOWN=1 CUSTOS_NIGHT_FOR=90s go test -timeout 20m -count=1 -v -run TestNight ./internal/daemon
	@CUSTOS_TOWN=1 go test -timeout 20m -count=1 -run 'Day|Ambiguous' ./internal/loop

night: ## a night in ten minutes on real tmux: servers killed, disk filled, configuration broken, 30 daemons killed, and a person throughout; CUSTOS_NIGHT_SEED makes one again
	@CUSTOS_TOWN=1 go test -timeout 40m -count=1 -v -run TestNight ./internal/daemon

FUZZTIME ?= 60s
fuzz: ## every fuzz target for FUZZTIME each
	@for p in $$(grep -rl --include='*_test.go' '^func Fuzz' internal cmd | xargs -n1 dirname | sort -u); do \
	  for f in $$(grep -ho '^func Fuzz[A-Za-z0-9]*' $$p/*_test.go | cut -c6-); do \
	    echo "$$p $$f"; go test -run '^$$' -fuzz "^$$f$$" -fuzztime $(FUZZTIME) ./$$p || exit 1; done; done

conformance: ## real agent CLIs from npm, as taught and as newest, against a mock model server
	@./scripts/conformance

CHAOS ?= 30m
chaos: ## a hub of three nodes and hosts under faults (killed, stopped, cut off, disks full, stores cut, clocks apart) for CHAOS (30m), and a checker over all that was written down (root)
	@CUSTOS_CHAOS=$(CHAOS) go test -timeout 3h -count=1 -v -run TestLong ./internal/hub/chaos

browser: ## the page used and attacked in a real Chromium, and looked at by axe-core from npm; CUSTOS_SHOTS is a folder for pictures
	@./scripts/deps chromium
	CUSTOS_AXE=$$(./scripts/axe) go test -count=1 -v -run 'RealBrowser|EverybodyCan|ABrowser' ./internal/web/... ./internal/daemon

docs: ## rewrite the generated pages of docs/
	@go test ./internal/rules ./internal/cli ./internal/catalog -run 'Doc|Pages' -update

DIST ?= dist
release: ## every file of a release in DIST (dist): make release VERSION=v0.1.0 [KEY=FILE [PASSWORD_FILE=FILE]] [ARCH=amd64]
	@go run ./cmd/custos-release build --version '$(VERSION)' --out '$(DIST)' $(if $(ARCH),--arch '$(ARCH)') $(if $(KEY),--key '$(KEY)') $(if $(PASSWORD_FILE),--password-file '$(PASSWORD_FILE)')

reproducible: ## builds a release twice, the second time out of nothing, elsewhere, and holds every byte of one against the other
	@./scripts/reproducible $(if $(ARCH),'$(ARCH)')

package-check: ## tries the .deb in DIST in a Debian of its own: installed, watching, removed, purged (root and debootstrap; a minute)
	@./scripts/package-check '$(DIST)'

edge-check: ## the image and compose of deploy/edge with a real engine, beside a Disinto factory, and what was seen of each criterion (root; six minutes)
	@$(MAKE) -s build
	@./scripts/edge-check bin

service-check: ## has a real systemd keep the release in DIST: killed, hung, restarted, upgraded to NEWER, uninstalled, agents go on (root and debootstrap; two minutes)
	@./scripts/service-check '$(DIST)' $(if $(NEWER),'$(NEWER)')

cgroup-check: ## agents held to their caps of memory and processes by a real kernel with a cgroup v2 of its own (root, user-mode-linux, bubblewrap; half a minute)
	@$(MAKE) -s build
	@./scripts/cgroup-check bin

lint: ## golangci-lint, when it is installed
	@golangci-lint run

clean: ## remove what was built
	@rm -rf bin dist

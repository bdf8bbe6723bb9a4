# The front door. Meson is behind it (build/), Maven behind picothreads/.
#
#   make run      install what lacks, build, serve on 127.0.0.1:8080 (PORT=n changes it)
#   make test     install what lacks, build, run the tests
#   make check    everything that CI runs: clang, sanitizers, hostile build, models, JVM
#   make bench    list the benchmarks; bench/run NAME runs one
#   make install  the library, headers, tools and man pages (PREFIX=/usr/local)
#   make clean

PORT ?= 8080
ROOT ?= apps/web/www
MODE ?= uk
PREFIX ?= /usr/local
BUILD := build

.PHONY: all run test check bench install clean deps-run deps-test

all: $(BUILD)/build.ninja
	@ninja -C $(BUILD)

$(BUILD)/build.ninja:
	@meson setup $(BUILD) --prefix $(PREFIX) -Dwerror=true

deps-run:
	@scripts/deps run

deps-test:
	@scripts/deps run test

run: deps-run all
	@echo
	@echo "  ukweb serves $(ROOT), one user thread per connection"
	@echo "    http://127.0.0.1:$(PORT)/           the pages"
	@echo "    http://127.0.0.1:$(PORT)/-/status   threads, processors and rates, live"
	@echo "    http://127.0.0.1:$(PORT)/metrics    the same for Prometheus"
	@echo "  Ctrl-C stops it; Ctrl-\\ prints every thread and what it waits for."
	@echo
	@exec $(BUILD)/ukweb --mode=$(MODE) --port=$(PORT) --root=$(ROOT)

test: deps-test all
	@scripts/test

check: deps-test all
	@scripts/check

bench:
	@bench/run --list

install: all
	@meson install -C $(BUILD)

clean:
	@rm -rf $(BUILD) build-*

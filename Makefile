# The front end of the build. It calls Meson (in build/) and, for picothreads/, Maven.
#
#   make run      install missing packages, build the web server, serve on 127.0.0.1:8080 (PORT=n)
#   make pico     install missing packages, build pico.jar: PicoThreads in one file (picothreads/)
#   make test     install missing packages, build, run the tests: 8 minutes
#   make check    what CI runs: tests, sanitizers, models, the core of the JVM part: 20 minutes
#   make check-all      everything: also clang, the hostile build, glibc's own tests, the whole
#                       JVM part: hours
#   make test-programs  programs of other projects under uk run: an hour
#   make nightly  check-all; the README's commands in bare roots of Debian and Ubuntu, and the
#                 Debian packages there (scripts/fresh, as root); the tests while all is
#                 stopped half of the time (tests/stall.py); servers under load for 20 minutes
#                 each, natively and under uk run (tests/posix/soak.py); the jars for
#                 publication: hours
#   make doctor   print what this machine offers
#   make deb      install missing packages, build the Debian packages into build-deb/
#   make bench    list the benchmarks; bench/run NAME runs one
#   make install  install the library, headers, tools and man pages (PREFIX=/usr/local, DESTDIR=)
#   make clean    remove the build directories

PORT ?= 8080
ROOT ?= apps/web/www
MODE ?= uk
PREFIX ?= /usr/local
WERROR ?= false
SANITIZED ?= false
BUILD := build
RUN := build-run

.PHONY: all run pico doctor test test-programs check check-all nightly deb bench install clean deps-run deps-pico deps-build deps-test deps-check deps-all deps-programs deps-deb quick

all: deps-build $(BUILD)/build.ninja
	@ninja -C $(BUILD)

# Meson finds Debian's multiarch directory only if dpkg-dev is installed. Otherwise it takes lib64,
# where neither the loader nor pkg-config looks.
multiarch = $(if $(wildcard /etc/debian_version),$(shell gcc -print-multiarch))
$(BUILD)/build.ninja:
	@meson setup $(BUILD) --prefix $(abspath $(PREFIX)) $(addprefix --libdir lib/,$(multiarch)) \
		-Dwerror=$(WERROR) -Dsanitized=$(SANITIZED)

deps-run:
	@scripts/deps run

deps-pico:
	@scripts/deps pico

deps-build:
	@scripts/deps build

deps-test:
	@scripts/deps test

deps-check:
	@scripts/deps check

deps-all:
	@scripts/deps all

deps-deb:
	@scripts/deps deb

deps-programs:
	@scripts/deps programs

# Only what `make run` serves, without Meson, so that a bare machine need not fetch it and Python.
quick: deps-run
	@$(MAKE) --no-print-directory -s -j$$(nproc) -f scripts/run.mk OUT=$(RUN)

run: quick
	@echo
	@echo "  ukweb serves $(ROOT), one user thread per connection"
	@echo "    http://127.0.0.1:$(PORT)/           the pages"
	@echo "    http://127.0.0.1:$(PORT)/-/status   threads, virtual processors and rates, live"
	@echo "    http://127.0.0.1:$(PORT)/metrics    the same for Prometheus"
	@echo "  Ctrl-C stops it. Ctrl-\\ does not: it prints every thread and what it waits for."
	@echo
	@exec $(RUN)/ukweb --mode=$(MODE) --port=$(PORT) --root=$(ROOT)

pico: deps-pico
	@PICO_CACHE=off picothreads/bin/pico version >/dev/null
	@echo "java -jar $(CURDIR)/picothreads/pico-cli/target/pico.jar run -cp DIR MAIN"

doctor: quick
	@$(RUN)/uk doctor

test: deps-test all
	@scripts/test

test-programs: deps-programs all
	@python3 tests/posix/programs.py $(BUILD)

check: deps-check
	@scripts/check

check-all: deps-all
	@scripts/check all

nightly: deps-all deps-programs
	@rc=0; scripts/check all || rc=1; scripts/fresh || rc=1; \
		scripts/fresh --deb || rc=1; \
		tests/stall.py python3 tests/run.py --build $(BUILD) || rc=1; \
		tests/posix/soak.py $(BUILD) || rc=1; \
		mvn -q -B -f picothreads -P publish -DskipTests package || rc=1; exit $$rc

deb: deps-deb
	@scripts/deb

bench:
	@bench/run --list

install: all
	@scripts/install $(BUILD) $(abspath $(PREFIX))

clean:
	@rm -rf $(BUILD) build-*

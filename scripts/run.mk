# SPDX-License-Identifier: Apache-2.0
# Builds only what `make run` needs: the library, ukweb and uk, with make and a compiler. Meson
# and Python would be the largest part of what a bare machine must fetch before the first page. Meson
# builds everything else, and everything that is installed, measured and tested.
# tests/quick.py checks that this file compiles the same sources as Meson.
#   make -f scripts/run.mk -j2        into build-run/
OUT ?= build-run
CC := $(if $(filter default,$(origin CC)),gcc,$(CC))
CFLAGS ?= -O2 -g1
ARCH := $(patsubst arm64,aarch64,$(shell uname -m))
VERSION := $(shell sed -n "s/^  version: '\(.*\)',/\1/p" meson.build)

# the same check as in src/meson.build
UNWIND := $(shell printf '\043define UNW_LOCAL_ONLY\n\043include <libunwind.h>\nint main(void) \
	{ unw_cursor_t c; unw_context_t u; return unw_init_local2(&c, &u, 0); }\n' | \
	$(CC) -x c - -lunwind -o /dev/null 2>/dev/null && echo 1)

flags = -std=gnu17 -D_GNU_SOURCE -DUK_VERSION='"$(VERSION)"' -Iinclude -fno-omit-frame-pointer \
	-fno-strict-aliasing -pthread -MMD -MP
VALGRIND := $(shell printf '\043include <valgrind/valgrind.h>\n' | \
	$(CC) -x c -fsyntax-only - 2>/dev/null && echo 1)
SDT := $(shell printf '\043include <sys/sdt.h>\n' | $(CC) -x c -fsyntax-only - 2>/dev/null && echo 1)
lib_flags = -Isrc -fPIC -fvisibility=hidden -DUK_HAVE_LIBUNWIND=$(or $(UNWIND),0) \
	-DUK_HAVE_VALGRIND=$(or $(VALGRIND),0) -DUK_HAVE_SDT=$(or $(SDT),0)
lib_libs = $(if $(UNWIND),-lunwind) -ldl

lib_src := $(filter-out src/preload/%,$(wildcard src/*/*.c src/*/*_$(ARCH).S)) $(wildcard src/arch/$(ARCH)/*.c src/arch/$(ARCH)/*.S)
web_src := $(wildcard apps/web/*.c)
tool_src := $(wildcard tool/*.c tool/*/*.c)
obj = $(patsubst %,$(OUT)/%.o,$(1))
so := $(OUT)/libukthreads.so.1

all: $(OUT)/ukweb $(OUT)/uk
.PHONY: all sources

$(so): $(call obj,$(lib_src)) src/ukthreads.map
	$(CC) $(CFLAGS) -shared -pthread -o $@ $(filter %.o,$^) -Wl,-soname,libukthreads.so.1 \
		-Wl,--version-script,src/ukthreads.map -Wl,-z,defs -Wl,-z,now $(lib_libs)

$(OUT)/ukweb: $(call obj,$(web_src)) $(so)
	$(CC) $(CFLAGS) -pthread -o $@ $^ -Wl,-rpath,'$$ORIGIN' -lssl -lcrypto

$(OUT)/uk: $(call obj,$(tool_src)) $(so)
	$(CC) $(CFLAGS) -pthread -o $@ $^ -Wl,-rpath,'$$ORIGIN'

$(OUT)/src/%.o: src/% scripts/run.mk
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(flags) $(lib_flags) -c -o $@ $<

$(OUT)/%.o: % scripts/run.mk
	@mkdir -p $(@D)
	$(CC) $(CFLAGS) $(flags) -c -o $@ $<

# for tests/quick.py: one source on each line
sources:
	@printf '%s\n' $(lib_src) $(web_src) $(tool_src)

-include $(patsubst %.o,%.d,$(call obj,$(lib_src) $(web_src) $(tool_src)))

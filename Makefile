# Doorward.  Plain make, no configure: compiler flags are probed and printed.
#
#	make deps		install by apt what building needs
#	make			build/doorward, build/doorward-relay
#	make demo		build, then run the demonstration
#	make check		all tests that fit into a quarter of an hour
#	make check SANITIZE=1	the same under ASan and UBSan
#	make CC=clang		another compiler

VERSION = 0.1.0
PREFIX ?= /usr/local
BINDIR ?= $(PREFIX)/bin
LIBEXECDIR ?= $(PREFIX)/libexec/doorward
DATADIR ?= $(PREFIX)/share/doorward
MANDIR ?= $(PREFIX)/share/man
FUZZ_SECONDS ?= 5

# A sanitizer build has other names: its relays live under a wider filter
# and must never be mistaken for the real thing.
ifdef SANITIZE
SUFFIX := -san
BUILD ?= build-san
SAN_FLAGS := -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer -DDOORWARD_SANITIZE
OPT ?= -O1 -g
else
SUFFIX :=
BUILD ?= build
OPT ?= -O2 -g
HARDEN := -D_FORTIFY_SOURCE=3
endif

probe = $(shell echo 'int main(void){return 0;}' | $(CC) -Werror $(1) -x c - \
	-o /dev/null 2>/dev/null && echo $(1))

CPPFLAGS += -D_GNU_SOURCE -Isupervisor -Ipolicy \
	-DDW_VERSION='"$(VERSION)"' -DDW_SUFFIX='"$(SUFFIX)"' \
	-DDW_BINDIR='"$(BINDIR)"' -DDW_LIBEXECDIR='"$(LIBEXECDIR)"' \
	-DDW_DATADIR='"$(DATADIR)"' $(HARDEN)
WARN := -Wall -Wextra -Werror -Wshadow -Wvla -Wformat=2 -Wswitch-enum \
	-Wimplicit-fallthrough -Wmissing-prototypes -Wstrict-prototypes \
	-Wwrite-strings -Wundef
PROBED := $(call probe,-fstack-protector-strong) \
	$(call probe,-fstack-clash-protection) $(call probe,-fcf-protection) \
	$(call probe,-ftrivial-auto-var-init=zero) \
	$(call probe,-fzero-call-used-regs=used-gpr)
CFLAGS += -std=c11 $(OPT) $(WARN) -fno-common -fPIE $(PROBED) $(SAN_FLAGS)
LDFLAGS += -pie -Wl,-z,relro,-z,now,-z,noexecstack $(SAN_FLAGS)

# V=1 shows the commands.
ifeq ($(V),)
Q := @
say = @echo "  $(1)	$@"
else
Q :=
say =
endif

B := $(BUILD)
LIBS_DOORWARD := -lcjson -lyaml -lseccomp -lcap -lsodium -lpcre2-8
LIBS_RELAY := -lseccomp -lcap

objs = $(patsubst %.c,$(B)/obj/%.o,$(wildcard $(1)))
testing = $(patsubst $(B)/obj/%,$(B)/testing/%,$(1))

PROTO := $(call objs,supervisor/proto/*.c)
POLICY := $(call objs,policy/*.c)
RELAY := $(filter-out %/main.o,$(call objs,relay/*.c))
SUPERVISOR := $(filter-out %/main.o,$(call objs,supervisor/*.c))

PROGRAMS := $(B)/doorward$(SUFFIX) $(B)/doorward-relay$(SUFFIX) \
	$(B)/doorward-helpdesk$(SUFFIX)

# Programs for the tests only.  Those in $(B)/test have the hooks that an
# installed binary does not have (-DDOORWARD_TESTING).
UNIT := $(patsubst tests/unit/%.c,$(B)/unit/%,$(wildcard tests/unit/test_*.c))
HELPERS := $(patsubst tests/e2e/%.c,$(B)/test/%,$(wildcard tests/e2e/*.c)) \
	$(patsubst tests/breach/%.c,$(B)/test/%,$(wildcard tests/breach/*.c)) \
	$(patsubst tests/bench/%.c,$(B)/test/%,$(wildcard tests/bench/*.c))
TESTED := $(B)/test/doorward$(SUFFIX) $(B)/test/doorward-relay$(SUFFIX)
FUZZERS := $(patsubst tests/fuzz/%.c,$(B)/fuzz/%,$(wildcard tests/fuzz/fuzz_*.c))

# A program looks for packs beside itself.  One that is gone from packs/ has to
# go there, too.
PACKS := $(wildcard packs/*.yaml)
PACKS_BESIDE := $(patsubst packs/%,$(B)/packs/%,$(PACKS))
PACKS_TESTED := $(patsubst packs/%,$(B)/test/packs/%,$(PACKS))
PACKS_GONE := $(filter-out $(PACKS_BESIDE) $(PACKS_TESTED), \
	$(wildcard $(B)/packs/*.yaml $(B)/test/packs/*.yaml))
ifneq ($(PACKS_GONE),)
$(shell rm -f $(PACKS_GONE))
endif

all: $(PROGRAMS) $(PACKS_BESIDE)

$(B)/packs/%.yaml: packs/%.yaml
	@mkdir -p $(@D)
	$(Q)install -m 644 $< $@
$(B)/test/packs/%.yaml: packs/%.yaml
	@mkdir -p $(@D)
	$(Q)install -m 644 $< $@

$(B)/doorward$(SUFFIX): $(B)/obj/supervisor/main.o $(SUPERVISOR) $(POLICY) $(PROTO)
	$(call say,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_DOORWARD)
$(B)/doorward-relay$(SUFFIX): $(B)/obj/relay/main.o $(RELAY) $(PROTO)
	$(call say,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_RELAY)
$(B)/doorward-helpdesk$(SUFFIX): $(call objs,tests/demo/*.c)
	$(call say,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcjson

$(B)/test/doorward$(SUFFIX): $(call testing,$(B)/obj/supervisor/main.o $(SUPERVISOR) $(POLICY) $(PROTO))
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_DOORWARD)
$(B)/test/doorward-relay$(SUFFIX): $(call testing,$(B)/obj/relay/main.o $(RELAY) $(PROTO))
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_RELAY)

# Paths and flags are compiled in: other ones make everything anew.
STAMP := $(B)/flags
WANT := $(CC) $(CPPFLAGS) $(CFLAGS) $(LDFLAGS)
ifneq ($(file <$(STAMP)),$(WANT))
$(shell mkdir -p $(B))
$(file >$(STAMP),$(WANT))
endif

$(B)/obj/%.o: %.c $(STAMP)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS) -MMD -MP -c -o $@ $<
$(B)/testing/%.o: %.c $(STAMP)
	@mkdir -p $(@D)
	$(call say,CC)
	$(Q)$(CC) $(CPPFLAGS) -DDOORWARD_TESTING $(CFLAGS) -MMD -MP -c -o $@ $<

# A test links the real objects, never a copy.
$(B)/unit/%: $(B)/obj/tests/unit/%.o $(SUPERVISOR) $(RELAY) $(POLICY) $(PROTO)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcmocka $(LIBS_DOORWARD)
$(B)/test/%: $(B)/obj/tests/e2e/%.o
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcjson
$(B)/test/%: $(B)/obj/tests/bench/%.o
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ -lcjson
$(B)/test/%: $(B)/obj/tests/breach/%.o $(RELAY) $(PROTO)
	@mkdir -p $(@D)
	$(call say,LD)
	$(Q)$(CC) $(LDFLAGS) -o $@ $^ $(LIBS_RELAY)

FUZZ_SOURCES := $(wildcard supervisor/proto/*.c policy/*.c) \
	$(filter-out relay/main.c,$(wildcard relay/*.c)) supervisor/message.c \
	$(wildcard supervisor/pins*.c) supervisor/canon.c supervisor/order.c \
	supervisor/jsonw.c
$(B)/fuzz/%: tests/fuzz/%.c $(FUZZ_SOURCES)
	@mkdir -p $(@D)
	clang -g -O1 -std=c11 -fsanitize=fuzzer,address,undefined \
	    -fno-sanitize-recover=all $(filter-out -D_FORTIFY_SOURCE=3,$(CPPFLAGS)) \
	    -DDOORWARD_SANITIZE -o $@ $^ $(LIBS_DOORWARD)

flags:
	@echo "CC=$(CC)"; echo "CFLAGS=$(CFLAGS)"; echo "LDFLAGS=$(LDFLAGS)"

# What building needs; the tests need more.
deps:
	@tests/deps.sh build

test-deps:
	@tests/deps.sh test

test-programs: all $(UNIT) $(HELPERS) $(TESTED) $(PACKS_TESTED)

unit: $(UNIT)
	@for t in $(UNIT); do $$t || exit 1; done

demo: deps
	@$(MAKE) --no-print-directory all
	@$(B)/doorward$(SUFFIX) demo

check: deps test-deps
	@BUILD=$(B) SUFFIX=$(SUFFIX) FUZZ_SECONDS=$(FUZZ_SECONDS) tests/check.sh

check-long: deps test-deps
	@BUILD=$(B) SUFFIX=$(SUFFIX) FUZZ_SECONDS=$(FUZZ_SECONDS) tests/check.sh --long

lint:
	@tests/lint.sh

fuzzers: $(FUZZERS)

fuzz: $(FUZZERS)
	@BUILD=$(B) FUZZ_SECONDS=$(FUZZ_SECONDS) tests/fuzz/run.sh

bench: deps test-deps
	@$(MAKE) --no-print-directory all test-programs
	@BUILD=$(B) tests/bench/run.sh

MAN1 := $(wildcard man/*.1)
MAN5 := $(wildcard man/*.5)
MAN7 := $(wildcard man/*.7)

install: all
	install -d $(DESTDIR)$(BINDIR) $(DESTDIR)$(LIBEXECDIR) \
	    $(DESTDIR)$(MANDIR)/man1 $(DESTDIR)$(MANDIR)/man5 \
	    $(DESTDIR)$(MANDIR)/man7 $(DESTDIR)$(DATADIR)/packs
	install -m 755 $(B)/doorward$(SUFFIX) $(DESTDIR)$(BINDIR)/
	install -m 755 $(B)/doorward-relay$(SUFFIX) \
	    $(B)/doorward-helpdesk$(SUFFIX) $(DESTDIR)$(LIBEXECDIR)/
	install -m 644 $(PACKS) $(DESTDIR)$(DATADIR)/packs/
	install -m 644 $(MAN1) $(DESTDIR)$(MANDIR)/man1/
	install -m 644 $(MAN5) $(DESTDIR)$(MANDIR)/man5/
	install -m 644 $(MAN7) $(DESTDIR)$(MANDIR)/man7/

uninstall:
	rm -f $(DESTDIR)$(BINDIR)/doorward$(SUFFIX) \
	    $(addprefix $(DESTDIR)$(MANDIR)/man1/,$(notdir $(MAN1))) \
	    $(addprefix $(DESTDIR)$(MANDIR)/man5/,$(notdir $(MAN5))) \
	    $(addprefix $(DESTDIR)$(MANDIR)/man7/,$(notdir $(MAN7)))
	rm -f $(DESTDIR)$(LIBEXECDIR)/doorward-relay$(SUFFIX) \
	    $(DESTDIR)$(LIBEXECDIR)/doorward-helpdesk$(SUFFIX) \
	    $(addprefix $(DESTDIR)$(DATADIR)/,$(PACKS))
	-rmdir $(DESTDIR)$(LIBEXECDIR) $(DESTDIR)$(DATADIR)/packs \
	    $(DESTDIR)$(DATADIR) 2>/dev/null

dist:
	@mkdir -p dist
	git archive --prefix=doorward-$(VERSION)/ -o dist/doorward-$(VERSION).tar.gz HEAD

clean:
	rm -rf build build-san dist

.PHONY: all flags deps test-deps test-programs unit demo check check-long lint fuzz fuzzers \
	bench install uninstall dist clean
.SECONDARY:

-include $(shell find $(B) -name '*.d' 2>/dev/null)

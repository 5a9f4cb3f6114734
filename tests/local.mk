# Tests: t_*.c are unit tests speaking TAP, *.bats drive the tools.  Run with `make check`.

TEST_EXTENSIONS = .bats
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER = $(TAP_DRIVER)
BATS_LOG_DRIVER = $(TAP_DRIVER)
BATS_LOG_COMPILER = $(BATS)
AM_BATS_LOG_FLAGS = --tap

AM_TESTS_ENVIRONMENT = \
	srcdir='$(abs_top_srcdir)'; export srcdir; \
	builddir='$(abs_top_builddir)'; export builddir; \
	PATH='$(abs_top_builddir)/tools':"$$PATH"; export PATH;

UNIT_TESTS = \
	tests/t_base \
	tests/t_ddplan \
	tests/t_dedisp \
	tests/t_delays \
	tests/t_lists \
	tests/t_psrfits \
	tests/t_psrfits_rows

check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
dist_noinst_DATA += tests/tap.h
tests_ldadd = lib/libpsrkit.a $(PSR_LIBS)

tests_t_base_SOURCES = tests/t_base.c
tests_t_base_LDADD = $(tests_ldadd)
tests_t_ddplan_SOURCES = tests/t_ddplan.c
tests_t_ddplan_LDADD = $(tests_ldadd)
tests_t_lists_SOURCES = tests/t_lists.c
tests_t_lists_LDADD = $(tests_ldadd)
tests_t_psrfits_SOURCES = tests/fits_check.h tests/fits_writer.h tests/t_psrfits.c
tests_t_psrfits_LDADD = $(tests_ldadd)
tests_t_psrfits_rows_SOURCES = tests/fits_check.h tests/fits_writer.h tests/t_psrfits_rows.c
tests_t_psrfits_rows_LDADD = $(tests_ldadd)

# Harnesses for hostile input.  In `make check` each takes a short, repeatable walk (fuzz_main.c);
# `make fuzz` gives each FUZZ_SECONDS of clang's libFuzzer.
FUZZ_NAMES = \
	sigproc
FUZZ_TESTS = \
	tests/fuzz/fuzz_sigproc
FUZZ_SECONDS = 1800
FUZZ_CC = clang
FUZZ_SOURCES = $(addprefix $(top_srcdir)/,$(filter lib/%.c,$(lib_libpsrkit_a_SOURCES)))

check_PROGRAMS += $(FUZZ_TESTS)
TESTS += $(FUZZ_TESTS)
EXTRA_DIST += tests/fuzz/corpus

tests_fuzz_fuzz_sigproc_SOURCES = tests/fuzz/fuzz_sigproc.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_sigproc_LDADD = $(tests_ldadd)

fuzz: $(FUZZ_NAMES:%=fuzz-%)
fuzz-%: tests/fuzz/libfuzzer_%
	mkdir -p tests/fuzz/found/$*
	tests/fuzz/libfuzzer_$* -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=tests/fuzz/found/$*- \
		tests/fuzz/found/$* $(top_srcdir)/tests/fuzz/corpus/$*
tests/fuzz/libfuzzer_%: $(top_srcdir)/tests/fuzz/fuzz_%.c $(FUZZ_SOURCES)
	mkdir -p tests/fuzz
	$(FUZZ_CC) -std=c11 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		$(DEFS) $(AM_CPPFLAGS) -o $@ $^ $(CFITSIO_LIBS) $(FFTW_LIBS) -lm
.PHONY: fuzz
.PRECIOUS: tests/fuzz/libfuzzer_%
clean-local:
	rm -rf tests/fuzz/libfuzzer_* tests/fuzz/found
tests_t_dedisp_SOURCES = tests/t_dedisp.c
tests_t_dedisp_LDADD = $(tests_ldadd)
tests_t_delays_SOURCES = tests/t_delays.c
tests_t_delays_LDADD = $(tests_ldadd)

CLI_TESTS = \
	tests/ddplan.bats
EXTRA_DIST += tests/golden/ddplan
dist_noinst_DATA += $(CLI_TESTS)
if HAVE_BATS
TESTS += $(CLI_TESTS)
endif

# Figures, not judgements: `make bench` prints speeds and their ratios to ceilings measured in the same run.
EXTRA_PROGRAMS += tests/bench_dedisp
tests_bench_dedisp_SOURCES = tests/bench_dedisp.c
tests_bench_dedisp_LDADD = $(tests_ldadd)
CLEANFILES += tests/bench_dedisp

bench: tests/bench_dedisp
	tests/bench_dedisp
.PHONY: bench

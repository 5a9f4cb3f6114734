# Tests: t_*.c are unit tests speaking TAP, *.bats drive the tools.  Run with `make check`.

TEST_EXTENSIONS = .bats
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER = $(TAP_DRIVER)
BATS_LOG_DRIVER = $(TAP_DRIVER)
BATS_LOG_COMPILER = $(BATS)
AM_BATS_LOG_FLAGS = --tap

AM_TESTS_ENVIRONMENT = \
	PATH='$(abs_top_builddir)/tools':"$$PATH"; export PATH; \
	builddir='$(abs_top_builddir)'; export builddir; \
	srcdir='$(abs_top_srcdir)'; export srcdir;

UNIT_TESTS = \
	tests/t_base \
	tests/t_dedisp \
	tests/t_delays \
	tests/t_lists

check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
dist_noinst_DATA += tests/tap.h
tests_ldadd = lib/libpsrkit.a $(PSR_LIBS)

tests_t_base_SOURCES = tests/t_base.c
tests_t_base_LDADD = $(tests_ldadd)
tests_t_lists_SOURCES = tests/t_lists.c
tests_t_lists_LDADD = $(tests_ldadd)
tests_t_dedisp_SOURCES = tests/t_dedisp.c
tests_t_dedisp_LDADD = $(tests_ldadd)
tests_t_delays_SOURCES = tests/t_delays.c
tests_t_delays_LDADD = $(tests_ldadd)

CLI_TESTS =
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

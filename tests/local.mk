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
	tests/t_lists

check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
dist_noinst_DATA += tests/tap.h
tests_ldadd = lib/libpsrkit.a $(PSR_LIBS)

tests_t_base_SOURCES = tests/t_base.c
tests_t_base_LDADD = $(tests_ldadd)
tests_t_lists_SOURCES = tests/t_lists.c
tests_t_lists_LDADD = $(tests_ldadd)

CLI_TESTS =
dist_noinst_DATA += $(CLI_TESTS)
if HAVE_BATS
TESTS += $(CLI_TESTS)
endif

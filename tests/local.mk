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
	tests/t_cluster \
	tests/t_pulse_steps \
	tests/t_pulseplot \
	tests/t_singlepulse

check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
dist_noinst_DATA += tests/tap.h
dist_noinst_DATA += tests/golden/t_DM47.00.dat tests/golden/t_DM47.00.singlepulse
tests_ldadd = lib/libpsrkit.a $(PSR_LIBS)

tests_t_base_SOURCES = tests/t_base.c
tests_t_base_LDADD = $(tests_ldadd)

tests_t_cluster_SOURCES = tests/pulse_tests.h tests/t_cluster.c
tests_t_cluster_LDADD = $(tests_ldadd)

tests_t_pulse_steps_SOURCES = tests/pulse_tests.h tests/t_pulse_steps.c
tests_t_pulse_steps_LDADD = $(tests_ldadd)

tests_t_pulseplot_SOURCES = tests/t_pulseplot.c tools/pulseplot.c tools/pulseplot.h
tests_t_pulseplot_LDADD = $(tests_ldadd)

tests_t_singlepulse_SOURCES = tests/pulse_tests.h tests/t_singlepulse.c
tests_t_singlepulse_LDADD = $(tests_ldadd)

CLI_TESTS =
dist_noinst_DATA += $(CLI_TESTS)
if HAVE_BATS
TESTS += $(CLI_TESTS)
endif

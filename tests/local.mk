# Tests: t_*.c are unit tests speaking TAP, *.bats drive the tools.  Run with `make check`.

TEST_EXTENSIONS = .bats
TAP_DRIVER = env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER = $(TAP_DRIVER)
BATS_LOG_DRIVER = $(TAP_DRIVER)
BATS_LOG_COMPILER = $(BATS)
AM_BATS_LOG_FLAGS = --tap

# The CUDA driver maps memory where AddressSanitizer keeps a gap.
if SANITIZE
sanitize_environment = \
	ASAN_OPTIONS="protect_shadow_gap=0:$$ASAN_OPTIONS"; export ASAN_OPTIONS; \
	UBSAN_OPTIONS="print_stacktrace=1:$$UBSAN_OPTIONS"; export UBSAN_OPTIONS;
endif

AM_TESTS_ENVIRONMENT = $(sanitize_environment) \
	srcdir='$(abs_top_srcdir)'; export srcdir; \
	builddir='$(abs_top_builddir)'; export builddir; \
	tools='$(bin_PROGRAMS:tools/%=%)'; export tools; \
	PATH='$(abs_top_builddir)/tools':"$$PATH"; export PATH;

UNIT_TESTS = \
	tests/t_base \
	tests/t_dedisp \
	tests/t_delays \
	tests/t_device \
	tests/t_lists
	tests/t_dedisp_presto \
	tests/t_delays

check_PROGRAMS += $(UNIT_TESTS)
TESTS += $(UNIT_TESTS)
dist_noinst_DATA += tests/example.c tests/tap.h
dist_noinst_DATA += \
	tests/golden/downsamp16.dat \
	tests/golden/downsamp3.dat \
	tests/golden/g1.fil \
	tests/golden/g2.fil \
	tests/golden/g8.fil \
	tests/golden/invert.dat \
	tests/golden/nbits1.dat \
	tests/golden/nbits2.dat \
	tests/golden/noclip.dat \
	tests/golden/nsubfull.dat
tests_ldadd = lib/libpsrkit.a $(PSR_LIBS)

tests_t_base_SOURCES = tests/t_base.c
tests_t_base_LDADD = $(tests_ldadd)
tests_t_dedisp_SOURCES = tests/t_dedisp.c
tests_t_dedisp_LDADD = $(tests_ldadd)
tests_t_dedisp_presto_SOURCES = tests/t_dedisp_presto.c
tests_t_dedisp_presto_LDADD = $(tests_ldadd)
tests_t_delays_SOURCES = tests/t_delays.c
tests_t_delays_LDADD = $(tests_ldadd)
tests_t_device_SOURCES = tests/t_device.c
tests_t_device_LDADD = $(tests_ldadd)
tests_t_lists_SOURCES = tests/t_lists.c
tests_t_lists_LDADD = $(tests_ldadd)

CLI_TESTS = \
	tests/demo.bats \
	tests/library.bats \
	tests/man.bats

dist_noinst_DATA += tests/helper.bash $(CLI_TESTS)
if HAVE_BATS
TESTS += $(CLI_TESTS)
else
check-local:
	@echo 'SKIP: $(CLI_TESTS): bats is not installed'
endif

# Tests of what runs on a GPU, in tests/gpu/; each says so and skips where there is none.
GPU_TESTS = \
	tests/gpu/t_dedisp_cuda

# Linked with what they use only, so that they run where CFITSIO and FFTW are not installed.
tests_gpu_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/kernels $(CUDA_CPPFLAGS)
tests_gpu_ldadd = lib/libpsrkit.a $(CUDA_LIBS)

tests_gpu_t_dedisp_cuda_SOURCES = tests/gpu/t_dedisp_cuda.c
tests_gpu_t_dedisp_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_dedisp_cuda_LDADD = $(tests_gpu_ldadd)

if HAVE_CUDA
check_PROGRAMS += $(GPU_TESTS)
TESTS += $(GPU_TESTS)
check-gpu:
	$(MAKE) $(AM_MAKEFLAGS) check TESTS='tests/t_device $(GPU_TESTS)'
else
check-gpu:
	@echo 'SKIP: check-gpu: this build is without CUDA'
endif

# Programs that print a figure of speed beside a ceiling measured in the same run.
BENCHES =
GPU_BENCHES = \
	tests/gpu/bench_dedisp_cuda

tests_gpu_bench_dedisp_cuda_SOURCES = tests/gpu/bench_dedisp_cuda.c tests/gpu/ceilings.h
tests_gpu_bench_dedisp_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_bench_dedisp_cuda_LDADD = tests/gpu/ceilings.$(OBJEXT) $(tests_gpu_ldadd)
EXTRA_DIST += tests/gpu/ceilings.cu
tests/gpu/ceilings.$(OBJEXT): kernels/ptx.cuh tests/gpu/ceilings.h kernels/nvcc-flags
CLEANFILES += tests/gpu/ceilings.$(OBJEXT)

EXTRA_PROGRAMS += $(BENCHES) $(GPU_BENCHES)
bench: all $(BENCHES)
	@for b in $(BENCHES); do echo "== $$b"; ./$$b || exit 1; done
if HAVE_CUDA
bench-gpu: all $(GPU_BENCHES)
	@for b in $(GPU_BENCHES); do echo "== $$b"; ./$$b || exit 1; done
else
bench-gpu:
	@echo 'SKIP: bench-gpu: this build is without CUDA'
endif
.PHONY: check-gpu bench bench-gpu

# A pulsar and a burst, made and found: `make demo`, which tests/demo.bats runs too.
demo_programs = tests/fold_dat tests/make_demo

check_PROGRAMS += $(demo_programs)
dist_noinst_SCRIPTS += tests/demo.sh
tests_fold_dat_SOURCES = tests/fold_dat.c
tests_fold_dat_LDADD = $(tests_ldadd)
tests_make_demo_SOURCES = tests/make_demo.c
tests_make_demo_LDADD = -lm
demo: all $(demo_programs)
	@$(srcdir)/tests/demo.sh
CLEANFILES += demo/demo.fil demo/demo.cand demo/burst.png
.PHONY: demo

# The library as a stranger uses it: what was installed, found through pkg-config.
installcheck-local:
	@$(MKDIR_P) tests
	PKG_CONFIG_PATH='$(DESTDIR)$(pkgconfigdir)'; export PKG_CONFIG_PATH; \
	    $(CC) $(CFLAGS) $(SANITIZE_CFLAGS) -std=c11 -o tests/example $(srcdir)/tests/example.c \
	    `$(PKG_CONFIG) --cflags --libs psrkit`
	./tests/example | grep '^DM  50: 256 at sample 1000 '
CLEANFILES += tests/example

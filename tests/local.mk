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
	LSAN_OPTIONS="suppressions=$(abs_top_srcdir)/tests/lsan.txt:print_suppressions=0:$$LSAN_OPTIONS"; \
	export LSAN_OPTIONS; \
	UBSAN_OPTIONS="print_stacktrace=1:$$UBSAN_OPTIONS"; export UBSAN_OPTIONS; \
	TSAN_OPTIONS="ignore_noninstrumented_modules=1:$$TSAN_OPTIONS"; export TSAN_OPTIONS;
endif

# Threads that wait for others sleep: spinning, they take most of the time where tests share the cores.
AM_TESTS_ENVIRONMENT = $(sanitize_environment) \
	OMP_WAIT_POLICY="$${OMP_WAIT_POLICY-passive}"; export OMP_WAIT_POLICY; \
	srcdir='$(abs_top_srcdir)'; export srcdir; \
	builddir='$(abs_top_builddir)'; export builddir; \
	tools='$(bin_PROGRAMS:bin/%=%)'; export tools; \
	PATH='$(abs_top_builddir)/bin':"$$PATH"; export PATH;

# A test of one source file needs its name here and nothing more: LDADD is the library.
UNIT_TESTS = \
	tests/search/matched/t_accel \
	tests/search/matched/t_accel_lines \
	tests/search/matched/t_accel_noise \
	tests/search/matched/t_accel_peaks \
	tests/compat/t_accel_presto \
	tests/search/matched/t_accel_sieve \
	tests/search/matched/t_accelsearch \
	tests/beam/t_array \
	tests/formats/spectra/t_band_gaps \
	tests/run/t_band_parts \
	tests/astro/t_barycentre \
	tests/base/t_base \
	tests/formats/voltages/t_baseband \
	tests/beam/t_beam \
	tests/search/singlepulse/t_beam_pulses \
	tests/beam/t_beam_rows \
	tests/run/t_beam_scales \
	tests/beam/t_beam_theorem \
	tests/run/t_beamformer \
	tests/dsp/t_block_sums \
	tests/formats/lists/t_candlist \
	tests/dsp/t_channelise \
	tests/rfi/auto/t_clean \
	tests/rfi/auto/t_clean_auto \
	tests/rfi/auto/t_clean_auto_noise \
	tests/rfi/auto/t_clean_auto_slow \
	tests/rfi/auto/t_clean_bursts \
	tests/rfi/auto/t_clean_files \
	tests/rfi/auto/t_clean_series \
	tests/search/sift/t_candidate \
	tests/search/singlepulse/t_cluster \
	tests/search/singlepulse/t_cluster_stream \
	tests/compat/t_compat \
	tests/formats/voltages/t_dada \
	tests/formats/spectra/t_dada_spectra \
	tests/formats/series/t_dat \
	tests/plan/t_ddplan \
	tests/search/dedisp/t_dedisp \
	tests/search/dedisp/t_dedisp_beams \
	tests/compat/t_dedisp_presto \
	tests/base/t_defaults \
	tests/dsp/t_delays \
	tests/base/t_desc \
	tests/base/t_device \
	tests/stats/t_eigen \
	tests/astro/t_ephemeris \
	tests/rfi/auto/t_equalise \
	tests/fake/t_fake \
	tests/fake/t_fake_rfi \
	tests/fake/t_fake_shape \
	tests/fake/t_fakeband \
	tests/fake/t_fakevolt \
	tests/search/dedisp/t_dedisp_multi \
	tests/search/dedisp/t_dedisp_tree \
	tests/search/pulscan/t_fundamental \
	tests/run/edit/t_edit \
	tests/run/edit/t_edit_add \
	tests/search/ffa/t_ffa \
	tests/search/ffa/t_ffa_integers \
	tests/search/ffa/t_ffa_noise \
	tests/run/t_filterbank \
	tests/run/t_filterbank_latency \
	tests/search/fold/t_fold \
	tests/search/fold/t_fold_noise \
	tests/search/fold/t_fold_ratio \
	tests/search/fold/t_fold_refine \
	tests/search/fold/t_fold_search \
	tests/run/t_folder \
	tests/formats/stream/t_frame_order \
	tests/formats/spectra/t_gaps \
	tests/formats/series/t_inf \
	tests/tools/t_json_read \
	tests/base/t_limits \
	tests/formats/spectra/t_channel_list \
	tests/search/singlepulse/t_marks \
	tests/rfi/t_mask \
	tests/base/t_memory \
	tests/rfi/t_mask_prepdata \
	tests/formats/lists/t_pfd \
	tests/search/matched/t_accel_template \
	tests/search/pulscan/t_candidate_refine \
	tests/tools/t_fast_number_io \
	tests/tools/t_fold_picture \
	tests/formats/spectra/t_obs \
	tests/astro/t_orbit \
	tests/stats/t_quantile \
	tests/base/t_out_of_memory \
	tests/base/t_outfile \
	tests/base/t_output_group \
	tests/base/t_overwrite_check \
	tests/run/t_pipeline \
	tests/run/t_pipeline_beams \
	tests/beam/t_pointing \
	tests/formats/spectra/t_polarisation \
	tests/formats/spectra/t_psrfits \
	tests/formats/spectra/t_psrfits_rows \
	tests/compat/t_presto_list \
	tests/compat/t_presto_zap \
	tests/search/pulscan/t_pulscan \
	tests/search/pulscan/t_pulscan_beside \
	tests/search/pulscan/t_pulscan_lines \
	tests/search/pulscan/t_pulscan_golden \
	tests/search/pulscan/t_pulscan_merge \
	tests/search/pulscan/t_pulscan_noise \
	tests/search/pulscan/t_pulscan_peaks \
	tests/search/pulscan/t_pulscan_plan \
	tests/search/singlepulse/t_pulse_levels \
	tests/search/singlepulse/t_pulse_spectrum \
	tests/search/singlepulse/t_pulse_view \
	tests/search/singlepulse/t_pulse_steps \
	tests/tools/t_pulseplot \
	tests/tools/t_quote \
	tests/formats/spectra/t_drop_reader \
	tests/run/t_dump \
	tests/run/t_read_ahead \
	tests/base/t_readfd \
	tests/dsp/t_resample \
	tests/run/t_resident_series \
	tests/rfi/t_rfi_clip \
	tests/rfi/t_rfi_dm0 \
	tests/rfi/t_rfi_fft \
	tests/rfi/t_rfi_files \
	tests/rfi/t_rfi_iqrm \
	tests/rfi/t_rfi_kernels \
	tests/rfi/t_rfi_lines \
	tests/rfi/t_rfi_mask \
	tests/rfi/t_rfi_moments \
	tests/rfi/t_rfi_noise \
	tests/rfi/t_rfi_shapes \
	tests/rfi/t_rfifind \
	tests/fake/t_rng \
	tests/base/t_runtime \
	tests/formats/series/t_series \
	tests/formats/series/t_series_exists \
	tests/run/t_series_search \
	tests/run/t_series_store \
	tests/formats/series/t_series_tim \
	tests/search/sift/t_sift \
	tests/search/sift/t_sift_curve \
	tests/search/sift/t_sift_files \
	tests/search/sift/t_sift_pairs \
	tests/stats/t_signif \
	tests/formats/spectra/t_sigproc \
	tests/stats/t_simplex \
	tests/search/singlepulse/t_singlepulse \
	tests/search/singlepulse/t_singlepulse_causal \
	tests/formats/spectra/t_source \
	tests/formats/spectra/t_source_list \
	tests/formats/spectra/t_source_pipe \
	tests/formats/series/t_spectrum \
	tests/formats/series/t_subband \
	tests/base/t_text_lines \
	tests/formats/stream/t_udp \
	tests/formats/stream/t_udp_frames \
	tests/formats/stream/t_udp_spectra \
	tests/formats/stream/t_udp_strays \
	tests/formats/spectra/t_unpack \
	tests/formats/lists/t_zaplist

check_PROGRAMS += $(UNIT_TESTS)
dist_noinst_DATA += \
	tests/support/accel_truth.h \
	tests/support/baseband_made.h \
	tests/support/beam_ref.h \
	tests/support/beam_rows.h \
	tests/bench/bench.bash \
	tests/bench/bench.h \
	tests/support/beams_shape.h \
	tests/support/bestprof_read.h \
	tests/bench/bench_adds.h \
	tests/bench/bench_beams.h \
	tests/support/channelise_ref.h \
	tests/support/clean_auto_ref.h \
	tests/support/clean_delays_ref.h \
	tests/support/clean_jumps_ref.h \
	tests/support/clean_modes_ref.h \
	tests/support/clean_scene.h \
	tests/support/clean_sweeps_ref.h \
	tests/support/clean_sparks_ref.h \
	tests/support/band_spread.h \
	tests/support/clean_pair.h \
	tests/support/clean_stream.h \
	tests/example.c \
	tests/support/fake_made.h \
	tests/support/dedisp_shape.h \
	tests/support/ffa_truth.h \
	tests/support/fil.h \
	tests/support/edited.h \
	tests/support/failing_heap.h \
	tests/support/fits_check.h \
	tests/support/fits_writer.h \
	tests/support/inf_text.h \
	tests/support/loopback.h \
	tests/support/mask_bytes.h \
	tests/support/noise_bits.h \
	tests/support/pulscan_list.h \
	tests/support/pulscan_truth.h \
	tests/support/pulse_causal.h \
	tests/support/pulse_reference.h \
	tests/support/pulse_search.h \
	tests/support/pulse_tests.h \
	tests/support/rfi_block_moments.h \
	tests/support/scratch.h \
	tests/support/sample_formats.h \
	tests/support/series_made.h \
	tests/support/sift_made.h \
	tests/support/source_made.h \
	tests/support/sum_sink.h \
	tests/support/voltages_read.h \
	tests/support/write_spectrum.h \
	tests/support/tap.h
EXTRA_DIST += \
	tests/abi \
	tests/golden \
	tests/science/README.md \
	tests/science/accel_noise.txt \
	tests/science/accelsearch.py \
	tests/science/accelsearch.txt \
	tests/science/accelsift.py \
	tests/science/accelsift.txt \
	tests/science/bright_lines.py \
	tests/science/bright_lines.txt \
	tests/science/clean_auto.py \
	tests/science/clean_auto.txt \
	tests/science/clean_bursts.py \
	tests/science/clean_bursts.txt \
	tests/science/clean_noise.txt \
	tests/science/consumers.sh \
	tests/science/consumers.txt \
	tests/science/crossing.py \
	tests/science/crossing.txt \
	tests/science/depth.py \
	tests/science/depth.txt \
	tests/science/false_alarms.txt \
	tests/science/ffa_depth.py \
	tests/science/ffa_depth.txt \
	tests/science/ffa_noise.py \
	tests/science/ffa_noise.txt \
	tests/science/ffa_riptide.py \
	tests/science/ffa_riptide.txt \
	tests/science/fit_score.py \
	tests/science/fold.py \
	tests/science/fold.txt \
	tests/science/fold_cases.py \
	tests/science/fold_cases.txt \
	tests/science/fold_consumers.sh \
	tests/science/fold_consumers.txt \
	tests/science/injection.py \
	tests/science/injection.txt \
	tests/science/interference.py \
	tests/science/interference.txt \
	tests/science/live_noise.py \
	tests/science/live_noise.txt \
	tests/science/made_inf.py \
	tests/science/mutants.txt \
	tests/science/observations.sh \
	tests/science/observations.txt \
	tests/science/par_pint.py \
	tests/science/par_pint.txt \
	tests/science/prepsubband.py \
	tests/science/prepsubband.txt \
	tests/science/readers.py \
	tests/science/readers.txt \
	tests/science/psrsearch.py \
	tests/science/psrsearch.txt \
	tests/science/presto.sh \
	tests/science/presto_mask.py \
	tests/science/presto.txt \
	tests/science/pulse_depth.txt \
	tests/science/rfi_noise.txt \
	tests/science/rfifind.py \
	tests/science/rfifind.txt \
	tests/science/rfifind_files.sh \
	tests/science/rfifind_files.txt \
	tests/science/score.txt \
	tests/science/seeds.txt \
	tests/science/skies.txt \
	tests/science/slow_pulsars.py \
	tests/science/slow_pulsars.txt \
	tests/science/sensitivity.txt \
	tests/science/tree_depth.txt

tests_tools_t_json_read_LDADD = tools/libcommon.la $(LDADD)
tests_tools_t_pulseplot_LDADD = tools/libcommon.la $(LDADD)
tests_tools_t_quote_LDADD = tools/libcommon.la $(LDADD)
# Steps of the system that a run is killed at, or that fail.
tests_base_t_output_group_LDFLAGS = \
	-Wl,--wrap=fcntl64 -Wl,--wrap=rename -Wl,--wrap=unlink -Wl,--wrap=write

# Allocations that fail.
tests_base_t_out_of_memory_LDFLAGS = $(out_of_memory_wrap:%=-Wl,--wrap=%)
out_of_memory_wrap = \
	malloc calloc aligned_alloc strdup strndup fftwf_malloc fftwf_plan_dft_1d \
	fftwf_plan_dft_r2c_1d fftwf_plan_guru_dft fftwf_plan_guru64_dft fftwf_plan_guru64_dft_r2c \
	fftwf_plan_guru_split_dft free fftwf_free fftwf_destroy_plan realloc

tests_tools_t_fast_number_io_SOURCES = tests/tools/t_fast_number_io.c tools/chi2sig/fast_number_io.c
tests_tools_t_fold_picture_SOURCES = tests/tools/t_fold_picture.c tools/gpufold/picture.c

# What takes longest first, for no core to wait for it at the end.
CLI_TESTS = \
	tests/tools/psrsearch.bats \
	tests/tools/python.bats \
	tests/tools/psrreport.bats \
	tests/tools/live.bats \
	tests/tools/killed.bats \
	tests/tools/gpufold.bats \
	tests/tools/fbedit.bats \
	tests/tools/gpudedisp.bats \
	tests/tools/abi.bats \
	tests/tools/abuse.bats \
	tests/tools/accelsearch.bats \
	tests/tools/accelsift.bats \
	tests/tools/aliases.bats \
	tests/tools/bary.bats \
	tests/tools/bounds.bats \
	tests/tools/chi2sig.bats \
	tests/tools/clean.bats \
	tests/tools/compat.bats \
	tests/tools/configure.bats \
	tests/tools/dada_ring.bats \
	tests/tools/ddplan.bats \
	tests/tools/demo.bats \
	tests/tools/fakebin.bats \
	tests/tools/floors.bats \
	tests/tools/fourier.bats \
	tests/tools/frbbeam.bats \
	tests/tools/gpurfifind.bats \
	tests/tools/gpuaccel-pulscan.bats \
	tests/tools/gpudigifil.bats \
	tests/tools/gpuffa.bats \
	tests/tools/library.bats \
	tests/tools/lists.bats \
	tests/tools/man.bats \
	tests/tools/overwrite.bats \
	tests/tools/packages.bats \
	tests/tools/plan.bats \
	tests/tools/plots.bats \
	tests/tools/psrinject.bats \
	tests/tools/psrpresto.bats \
	tests/tools/resume.bats \
	tests/tools/scripts.bats \
	tests/tools/seeds.bats \
	tests/tools/spcoincidence.bats \
	tests/tools/subbands.bats \
	tests/tools/tutorial.bats \
	tests/tools/udp.bats \
	tests/tools/workflow.bats

# tests/tools/compat.bats makes its input with it.
check_PROGRAMS += tests/support/add_bytes tests/support/scale_floats tests/support/bytes_dat tests/support/listen_lines

# tests/tools/gpufold.bats compares folds with it.
check_PROGRAMS += tests/support/pfd_differ

# What a picture shows.
check_PROGRAMS += tests/support/png_colours
tests_support_png_colours_LDADD = $(ZLIB_LIBS)

# Whether a page of psrreport is well-formed, and its pictures can be decoded.
check_PROGRAMS += tests/support/page_check
tests_support_page_check_LDADD = $(LDADD) $(ZLIB_LIBS)

# Kills a tool in the middle; it is preloaded.
EXTRA_DIST += tests/support/kill_at.c tests/lsan.txt tests/psrdada/ascii_header.h tests/psrdada/dada_hdu.h
check_DATA = tests/support/kill_at.so
CLEANFILES += tests/support/kill_at.so
tests/support/kill_at.so: tests/support/kill_at.c
	@$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(CC) $(AM_CPPFLAGS) $(CFLAGS) -std=c11 $(WARN_CFLAGS) -shared -fPIC -o $@ $< -ldl

# tests/bench/bench_cleaning.sh makes its mask with the first, tests/bench/bench_rfifind.sh its ceiling with the second,
# tests/bench/bench_udp.sh sends with the last.
bench_programs = tests/bench/make_mask tests/bench/transforms tests/bench/vdif_flood
EXTRA_PROGRAMS += $(bench_programs)
CLEANFILES += $(bench_programs)

# workflow/ on a Slurm of its own, which takes minutes, and with fifty files.
SLURM_TESTS = tests/tools/slurm.bats
check-slurm: $(bin_PROGRAMS) tests/support/page_check
	PSRKIT_FILES=50 $(MAKE) $(AM_MAKEFLAGS) check TESTS='$(SLURM_TESTS) tests/tools/workflow.bats'
.PHONY: check-slurm

dist_noinst_DATA += tests/tools/helper.bash tests/tools/check_cutout.py tests/tools/check_edits.py tests/tools/check_lists.py tests/tools/fbh5_crash.h5 tests/tools/fbh5_hang.h5 tests/tools/slurm.bash tests/tools/workflow.bash $(CLI_TESTS) $(SLURM_TESTS)
if HAVE_BATS
TESTS += $(CLI_TESTS)
else
check-local:
	@echo 'SKIP: $(CLI_TESTS): bats is not installed'
endif
TESTS += $(UNIT_TESTS)

# Harnesses for hostile input.  In `make check` each takes a short, repeatable walk (fuzz_main.c);
# `make fuzz` gives each FUZZ_SECONDS of clang's libFuzzer.
FUZZ_NAMES = \
	accel \
	array \
	baseband \
	beams \
	candlist \
	catalogue \
	chi2sig \
	dada \
	fbh5 \
	inf \
	json \
	lists \
	mask \
	par \
	pfd \
	plan \
	sigproc \
	source \
	spectrum \
	tar \
	voltages \
	weights \
	zaplist
FUZZ_TESTS = \
	tests/fuzz/fuzz_accel \
	tests/fuzz/fuzz_array \
	tests/fuzz/fuzz_baseband \
	tests/fuzz/fuzz_beams \
	tests/fuzz/fuzz_candlist \
	tests/fuzz/fuzz_catalogue \
	tests/fuzz/fuzz_chi2sig \
	tests/fuzz/fuzz_dada \
	tests/fuzz/fuzz_fbh5 \
	tests/fuzz/fuzz_inf \
	tests/fuzz/fuzz_json \
	tests/fuzz/fuzz_lists \
	tests/fuzz/fuzz_mask \
	tests/fuzz/fuzz_par \
	tests/fuzz/fuzz_pfd \
	tests/fuzz/fuzz_plan \
	tests/fuzz/fuzz_sigproc \
	tests/fuzz/fuzz_source \
	tests/fuzz/fuzz_spectrum \
	tests/fuzz/fuzz_tar \
	tests/fuzz/fuzz_voltages \
	tests/fuzz/fuzz_weights \
	tests/fuzz/fuzz_zaplist
FUZZ_SECONDS = 1800
FUZZ_CC = clang
FUZZ_UNDER_TEST = $(addprefix $(top_srcdir)/,$(filter lib/%.c,$(lib_libpsrkit_objects_la_SOURCES)))

check_PROGRAMS += $(FUZZ_TESTS)
TESTS += $(FUZZ_TESTS)
EXTRA_DIST += tests/fuzz/corpus

# A tool's own readers, for the harness of that name.
fuzz_more_chi2sig = tools/chi2sig/rows.c tools/chi2sig/fast_number_io.c
fuzz_more_json = tools/common/json_read.c

tests_fuzz_fuzz_accel_SOURCES = tests/fuzz/fuzz_accel.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h
tests_fuzz_fuzz_array_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_DEFAULT=5000
tests_fuzz_fuzz_array_SOURCES = tests/fuzz/fuzz_array.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h
tests_fuzz_fuzz_baseband_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_DEFAULT=4000
tests_fuzz_fuzz_baseband_SOURCES = tests/fuzz/fuzz_baseband.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h
tests_fuzz_fuzz_beams_SOURCES = tests/fuzz/fuzz_beams.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h
tests_fuzz_fuzz_candlist_SOURCES = tests/fuzz/fuzz_candlist.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h
tests_fuzz_fuzz_catalogue_SOURCES = tests/fuzz/fuzz_catalogue.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h
tests_fuzz_fuzz_chi2sig_SOURCES = tests/fuzz/fuzz_chi2sig.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h $(fuzz_more_chi2sig)
tests_fuzz_fuzz_dada_SOURCES = tests/fuzz/fuzz_dada.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_fbh5_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_DEFAULT=500
tests_fuzz_fuzz_fbh5_SOURCES = tests/fuzz/fuzz_fbh5.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h
tests_fuzz_fuzz_inf_SOURCES = tests/fuzz/fuzz_inf.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_json_SOURCES = tests/fuzz/fuzz_json.c tests/fuzz/fuzz_main.c $(fuzz_more_json)
tests_fuzz_fuzz_lists_SOURCES = tests/fuzz/fuzz_lists.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h
tests_fuzz_fuzz_mask_SOURCES = tests/fuzz/fuzz_mask.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_par_SOURCES = tests/fuzz/fuzz_par.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h
tests_fuzz_fuzz_pfd_SOURCES = tests/fuzz/fuzz_pfd.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h
tests_fuzz_fuzz_plan_SOURCES = tests/fuzz/fuzz_plan.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_sigproc_SOURCES = tests/fuzz/fuzz_sigproc.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_source_SOURCES = tests/fuzz/fuzz_source.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h
tests_fuzz_fuzz_spectrum_CPPFLAGS = $(AM_CPPFLAGS) -DFUZZ_DEFAULT=4000
tests_fuzz_fuzz_spectrum_SOURCES = tests/fuzz/fuzz_spectrum.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h
tests_fuzz_fuzz_tar_SOURCES = tests/fuzz/fuzz_tar.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h
tests_fuzz_fuzz_voltages_SOURCES = tests/fuzz/fuzz_voltages.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h
tests_fuzz_fuzz_weights_SOURCES = tests/fuzz/fuzz_weights.c tests/fuzz/fuzz_main.c tests/fuzz/fuzz_file.h
tests_fuzz_fuzz_zaplist_SOURCES = tests/fuzz/fuzz_zaplist.c tests/fuzz/fuzz_main.c

fuzz: $(FUZZ_NAMES:%=fuzz-%)
fuzz-%: tests/fuzz/libfuzzer_%
	mkdir -p tests/fuzz/found/$*
	tests/fuzz/libfuzzer_$* -max_total_time=$(FUZZ_SECONDS) -artifact_prefix=tests/fuzz/found/$*- \
		tests/fuzz/found/$* $(top_srcdir)/tests/fuzz/corpus/$*
tests/fuzz/libfuzzer_%: $(top_srcdir)/tests/fuzz/fuzz_%.c $(FUZZ_UNDER_TEST)
	mkdir -p tests/fuzz
	$(FUZZ_CC) -std=c11 -O1 -g -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all \
		$(DEFS) -I$(top_srcdir) $(AM_CPPFLAGS) -o $@ $^ $(addprefix $(top_srcdir)/,$(fuzz_more_$*)) \
		$(CFITSIO_LIBS) $(ERFA_LIBS) $(FFTW_LIBS) -lm
.PHONY: fuzz
.PRECIOUS: tests/fuzz/libfuzzer_%
clean-local:
	rm -rf tests/fuzz/libfuzzer_* tests/fuzz/found

# Tests of what runs on a GPU, in tests/gpu/; each says so and skips where there is none.
GPU_TESTS = \
	tests/gpu/t_accelsearch_cuda \
	tests/gpu/t_beam_cuda \
	tests/gpu/t_beam_peaks \
	tests/gpu/t_beam_rows_cuda \
	tests/gpu/t_beam_slots \
	tests/gpu/t_clean_auto_cuda \
	tests/gpu/t_dedisp_beams_cuda \
	tests/gpu/t_dedisp_cuda \
	tests/gpu/t_dedisp_multi_cuda \
	tests/gpu/t_dedisp_tree_cuda \
	tests/gpu/t_dedisp_tree_random_cuda \
	tests/gpu/t_equalise_cuda \
	tests/gpu/t_ffa_cuda \
	tests/gpu/t_filterbank_cuda \
	tests/gpu/t_fold_cuda \
	tests/gpu/t_fold_search_cuda \
	tests/gpu/t_lost_cuda \
	tests/gpu/t_lost_pair_cuda \
	tests/gpu/t_band_parts_cuda \
	tests/gpu/t_pipeline_beams_cuda \
	tests/gpu/t_pipeline_cuda \
	tests/gpu/t_pulscan_cuda \
	tests/gpu/t_pulscan_series_cuda \
	tests/gpu/t_singlepulse_cuda \
	tests/gpu/t_spectra_cuda

# Linked with what they use only, so that they run where CFITSIO and FFTW are not installed.
tests_gpu_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/kernels $(CUDA_CPPFLAGS)
tests_gpu_ldadd = lib/libpsrkit_objects.la $(XXHASH_LIBS) $(CUDA_LIBS)

tests_gpu_t_ffa_cuda_SOURCES = tests/gpu/t_ffa_cuda.c
tests_gpu_t_ffa_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_ffa_cuda_LDADD = $(tests_gpu_ldadd)
tests_gpu_t_beam_cuda_SOURCES = tests/gpu/t_beam_cuda.c tests/gpu/beam_shape.h
tests_gpu_t_beam_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_beam_cuda_LDADD = $(tests_gpu_ldadd) $(ERFA_LIBS) $(FFTW_LIBS)
tests_gpu_t_beam_peaks_SOURCES = tests/gpu/t_beam_peaks.c tests/gpu/beam_peaks.h
tests_gpu_t_beam_peaks_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_beam_peaks_LDADD = tests/gpu/beam_peaks.$(OBJEXT) $(tests_gpu_ldadd)
EXTRA_DIST += tests/gpu/beam_peaks.cu
tests/gpu/beam_peaks.$(OBJEXT): tests/gpu/beam_peaks.h kernels/nvcc-flags
tests/gpu/beam_peaks.$(OBJEXT): kernel_flags = -fmad=false
CLEANFILES += tests/gpu/beam_peaks.$(OBJEXT)
tests_gpu_t_beam_rows_cuda_SOURCES = tests/gpu/t_beam_rows_cuda.c tests/gpu/beam_shape.h tests/support/beam_rows.h
tests_gpu_t_beam_rows_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_beam_rows_cuda_LDADD = $(tests_gpu_ldadd) $(ERFA_LIBS) $(FFTW_LIBS)
tests_gpu_t_beam_slots_SOURCES = tests/gpu/t_beam_slots.c
tests_gpu_t_beam_slots_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_beam_slots_LDADD = $(tests_gpu_ldadd) $(ERFA_LIBS) $(FFTW_LIBS)
tests_gpu_t_clean_auto_cuda_SOURCES = tests/gpu/t_clean_auto_cuda.c
tests_gpu_t_clean_auto_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_clean_auto_cuda_LDADD = $(tests_gpu_ldadd)
tests_gpu_t_dedisp_cuda_SOURCES = tests/gpu/t_dedisp_cuda.c
tests_gpu_t_dedisp_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_dedisp_cuda_LDADD = $(tests_gpu_ldadd)
tests_gpu_t_dedisp_beams_cuda_SOURCES = tests/gpu/t_dedisp_beams_cuda.c tests/support/beams_shape.h tests/support/dedisp_shape.h
tests_gpu_t_dedisp_beams_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_dedisp_beams_cuda_LDADD = $(tests_gpu_ldadd)
tests_gpu_t_dedisp_tree_cuda_SOURCES = tests/gpu/t_dedisp_tree_cuda.c tests/support/dedisp_shape.h tests/gpu/dedisp_tree_cuda.h
tests_gpu_t_dedisp_tree_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_dedisp_tree_cuda_LDADD = $(tests_gpu_ldadd)
tests_gpu_t_dedisp_tree_random_cuda_SOURCES = tests/gpu/t_dedisp_tree_random_cuda.c tests/support/dedisp_shape.h tests/gpu/dedisp_tree_cuda.h
tests_gpu_t_dedisp_tree_random_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_dedisp_tree_random_cuda_LDADD = $(tests_gpu_ldadd)
tests_gpu_t_equalise_cuda_SOURCES = tests/gpu/t_equalise_cuda.c
tests_gpu_t_equalise_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_equalise_cuda_LDADD = $(tests_gpu_ldadd)
tests_gpu_t_singlepulse_cuda_SOURCES = tests/gpu/t_singlepulse_cuda.c
tests_gpu_t_singlepulse_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_singlepulse_cuda_LDADD = $(tests_gpu_ldadd)
tests_gpu_t_dedisp_multi_cuda_SOURCES = tests/search/dedisp/t_dedisp_multi.c
tests_gpu_t_dedisp_multi_cuda_CPPFLAGS = $(tests_gpu_cppflags) -DMULTI_BACKEND='"cuda"'
tests_gpu_t_dedisp_multi_cuda_LDADD = $(tests_gpu_ldadd)
tests_gpu_t_filterbank_cuda_SOURCES = tests/run/t_filterbank.c tests/support/baseband_made.h
tests_gpu_t_filterbank_cuda_CPPFLAGS = $(tests_gpu_cppflags) -DFILTERBANK_DEVICE='"cuda"'
tests_gpu_t_spectra_cuda_SOURCES = tests/gpu/t_spectra_cuda.c tests/gpu/coded_voltages.h tests/support/channelise_ref.h
tests_gpu_t_spectra_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_fold_cuda_SOURCES = tests/search/fold/t_fold.c
tests_gpu_t_fold_cuda_CPPFLAGS = $(tests_gpu_cppflags) -DFOLD_BACKEND='"cuda"'
tests_gpu_t_fold_cuda_LDADD = $(tests_gpu_ldadd) $(ERFA_LIBS) $(FFTW_LIBS)
tests_gpu_t_fold_search_cuda_SOURCES = tests/search/fold/t_fold_search.c
tests_gpu_t_fold_search_cuda_CPPFLAGS = $(tests_gpu_cppflags) -DFOLD_BACKEND='"cuda"'
tests_gpu_t_fold_search_cuda_LDADD = $(tests_gpu_ldadd) $(ERFA_LIBS) $(FFTW_LIBS)

# A pipeline is linked with all that it may read.
tests_gpu_t_band_parts_cuda_SOURCES = tests/run/t_band_parts.c
tests_gpu_t_band_parts_cuda_CPPFLAGS = $(tests_gpu_cppflags) -DPIPELINE_DEVICE='"cuda"'
tests_gpu_t_pipeline_beams_cuda_SOURCES = tests/run/t_pipeline_beams.c tests/support/sum_sink.h
tests_gpu_t_pipeline_beams_cuda_CPPFLAGS = $(tests_gpu_cppflags) -DPIPELINE_DEVICE='"cuda"'
tests_gpu_t_pipeline_cuda_SOURCES = tests/run/t_pipeline.c tests/support/sum_sink.h
tests_gpu_t_pipeline_cuda_CPPFLAGS = $(tests_gpu_cppflags) -DPIPELINE_DEVICE='"cuda"'

tests_gpu_t_lost_cuda_SOURCES = tests/gpu/t_lost_cuda.c tests/gpu/lost.h tests/gpu/pair.h
tests_gpu_t_lost_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_lost_cuda_LDADD = tests/gpu/lost.$(OBJEXT) lib/libpsrkit_objects.la $(XXHASH_LIBS) $(FFTW_LIBS) $(CUDA_LIBS)
# Two devices, of which one may be played.
pair_sources = tests/gpu/lose_after.h tests/gpu/lost.h tests/gpu/pair.c tests/gpu/pair.h
pair_ldflags = \
	-Wl,--wrap=cudaDeviceGetAttribute -Wl,--wrap=cudaDeviceSynchronize -Wl,--wrap=cudaEventCreate \
	-Wl,--wrap=cudaEventCreateWithFlags -Wl,--wrap=cudaEventDestroy -Wl,--wrap=cudaEventElapsedTime \
	-Wl,--wrap=cudaEventRecord -Wl,--wrap=cudaEventSynchronize -Wl,--wrap=cudaGetDevice \
	-Wl,--wrap=cudaMalloc -Wl,--wrap=cudaMemcpy -Wl,--wrap=cudaMemcpy2DAsync -Wl,--wrap=cudaMemcpyAsync \
	-Wl,--wrap=cudaMemset -Wl,--wrap=cudaMemsetAsync -Wl,--wrap=cudaSetDevice \
	-Wl,--wrap=cudaStreamCreateWithFlags -Wl,--wrap=cudaStreamCreateWithPriority \
	-Wl,--wrap=cudaStreamDestroy -Wl,--wrap=cudaStreamSynchronize -Wl,--wrap=cudaStreamWaitEvent \
	-Wl,--wrap=pread64 -Wl,--wrap=probe_k_count -Wl,--wrap=probe_k_describe -Wl,--wrap=read
tests_gpu_t_lost_pair_cuda_SOURCES = tests/gpu/t_lost_cuda.c $(pair_sources)
tests_gpu_t_lost_pair_cuda_CPPFLAGS = $(tests_gpu_cppflags) -DLOST_DEVICE=1
tests_gpu_t_lost_pair_cuda_LDFLAGS = $(pair_ldflags)
tests_gpu_t_lost_pair_cuda_LDADD = tests/gpu/lost.$(OBJEXT) lib/libpsrkit_objects.la $(XXHASH_LIBS) $(FFTW_LIBS) $(CUDA_LIBS)
tests_gpu_gpudedisp_pair_SOURCES = $(bin_gpudedisp_SOURCES) $(pair_sources)
tests_gpu_gpudedisp_pair_CPPFLAGS = $(tools_cppflags) $(tests_gpu_cppflags)
tests_gpu_gpudedisp_pair_LDFLAGS = $(pair_ldflags)
tests_gpu_gpudedisp_pair_LDADD = tests/gpu/lost.$(OBJEXT) tools/libcommon.la $(LDADD)
EXTRA_DIST += tests/gpu/lost.cu
tests/gpu/lost.$(OBJEXT): tests/gpu/lost.h kernels/nvcc-flags

tests_gpu_t_accelsearch_cuda_SOURCES = tests/gpu/t_accelsearch_cuda.c tests/gpu/accel_fft_host.h tests/support/accel_truth.h
tests_gpu_t_accelsearch_cuda_CPPFLAGS = $(tests_gpu_cppflags)
EXTRA_DIST += tests/gpu/accel_fft_host.cu
tests/gpu/accel_fft_host.$(OBJEXT): kernels/matched/accel_fft.cuh kernels/matched/accel_kernels.h tests/gpu/accel_fft_host.h kernels/nvcc-flags
CLEANFILES += tests/gpu/accel_fft_host.$(OBJEXT)
tests_gpu_t_accelsearch_cuda_LDADD = tests/gpu/accel_fft_host.$(OBJEXT) lib/libpsrkit_objects.la $(XXHASH_LIBS) $(FFTW_LIBS) $(CUDA_LIBS)
tests_gpu_t_pulscan_cuda_SOURCES = tests/gpu/t_pulscan_cuda.c tests/gpu/pulscan_run.h
tests_gpu_t_pulscan_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_pulscan_cuda_LDADD = lib/libpsrkit_objects.la $(XXHASH_LIBS) $(FFTW_LIBS) $(CUDA_LIBS)
tests_gpu_t_pulscan_series_cuda_SOURCES = tests/gpu/t_pulscan_series_cuda.c tests/gpu/pulscan_run.h
tests_gpu_t_pulscan_series_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_t_pulscan_series_cuda_LDADD = lib/libpsrkit_objects.la $(XXHASH_LIBS) $(FFTW_LIBS) $(CUDA_LIBS)

# The tools' tests take a GPU where there is one.
GPU_CLI_TESTS = tests/gpu/gpudedisp_cuda.bats tests/gpu/gpufold_cuda.bats
dist_noinst_DATA += $(GPU_CLI_TESTS)
gpu_cli_tests =
if HAVE_BATS
gpu_cli_tests += \
	$(GPU_CLI_TESTS) \
	tests/tools/bary.bats \
	tests/tools/clean.bats \
	tests/tools/compat.bats \
	tests/tools/demo.bats \
	tests/tools/fourier.bats \
	tests/tools/frbbeam.bats \
	tests/tools/gpuaccel-pulscan.bats \
	tests/tools/gpudedisp.bats \
	tests/tools/gpudigifil.bats \
	tests/tools/gpufold.bats \
	tests/tools/plan.bats \
	tests/tools/resume.bats \
	tests/tools/subbands.bats
endif
# Loses a tool's GPU; it is preloaded.
EXTRA_DIST += tests/gpu/lose_device.c
tests/gpu/lose_device.so: tests/gpu/lose_device.c tests/gpu/lose_after.h
	@$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(CC) $(AM_CPPFLAGS) $(CUDA_CPPFLAGS) $(CFLAGS) -std=c11 $(WARN_CFLAGS) -shared -fPIC -o $@ $< -ldl
CLEANFILES += tests/gpu/lose_device.so tests/gpu/lost.$(OBJEXT)

if HAVE_CUDA
check_PROGRAMS += $(GPU_TESTS) tests/gpu/gpudedisp_pair
check_DATA += tests/gpu/lose_device.so
TESTS += $(GPU_TESTS)
if HAVE_BATS
TESTS += $(GPU_CLI_TESTS)
endif
# One after the other: a GPU has memory for some tests at once, not for all.
check-gpu: all
	$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS) $(check_DATA)
	PSRKIT_LONG=1 $(MAKE) $(AM_MAKEFLAGS) -j1 check-TESTS TESTS='tests/base/t_device $(GPU_TESTS) $(gpu_cli_tests)'
	@sed -n '/ # SKIP /{s/.* # SKIP /SKIP: check-gpu: nothing ran on a GPU: /p;q;}' tests/gpu/t_lost_cuda.log
else
check-gpu:
	@echo 'SKIP: check-gpu: this build is without CUDA'
endif

# All tests with the cases that take long, which `make check` skips.
check-long: all
	PSRKIT_LONG=1 $(MAKE) $(AM_MAKEFLAGS) check
.PHONY: check-long

# Repeats every test that draws random numbers with SEEDS other seeds, from FIRST_SEED on.
SEEDS = 20
FIRST_SEED = 1
seed_tests = $(UNIT_TESTS) $(FUZZ_TESTS)
dist_noinst_SCRIPTS += tests/check_seeds.sh
check-seeds: all
	$(MAKE) $(AM_MAKEFLAGS) $(check_PROGRAMS)
	@rc=0; $(MAKE) $(AM_MAKEFLAGS) -k $(seed_tests:=.seeds) || rc=1; $(check_seeds_gpu); exit $$rc
if HAVE_CUDA
check_seeds_gpu = $(MAKE) $(AM_MAKEFLAGS) -k -j1 $(GPU_TESTS:=.seeds) || rc=1
else
check_seeds_gpu = echo 'SKIP: check-seeds: this build is without CUDA: NO test of a GPU was run'
endif
%.seeds: %
	@$(AM_TESTS_ENVIRONMENT) PSRKIT_LONG=1 SEEDS='$(SEEDS)' FIRST_SEED='$(FIRST_SEED)' $(srcdir)/tests/check_seeds.sh $<
.PHONY: check-seeds

# Searches a stream for so many minutes: tests/bench/soak_live.sh [MINUTES].
dist_noinst_SCRIPTS += tests/bench/soak_live.sh

# Changes the library at random places and counts what the tests notice: tests/mutate.sh [-s SEED] [-n COUNT].
dist_noinst_SCRIPTS += tests/mutate.sh
EXTRA_DIST += tests/mutate/equivalent.txt tests/mutate/places.py tests/mutate/reach.py
list-tests:
	@printf '%s\n' $(TESTS)
# What a test of a tool runs.
cli-programs: all tests/support/add_bytes tests/support/scale_floats tests/support/bytes_dat tests/support/listen_lines tests/support/page_check tests/support/pfd_differ tests/support/png_colours tests/compat/t_accel_presto tests/base/t_device $(check_DATA)
%.run: %
	@$(AM_TESTS_ENVIRONMENT) $(if $(filter %.bats,$<),$(BATS) --tap) $<
.PHONY: cli-programs list-tests

# Programs that print a figure of speed beside a ceiling measured in the same run.
BENCHES = \
	tests/bench/bench_beam \
	tests/bench/bench_dedisp \
	tests/bench/bench_dedisp_beams \
	tests/bench/bench_fake \
	tests/bench/bench_ffa \
	tests/bench/bench_pulscan \
	tests/bench/bench_signif
GPU_BENCHES = \
	tests/gpu/bench_accelsearch_cuda \
	tests/gpu/bench_beam_cuda \
	tests/gpu/bench_beam_rows_cuda \
	tests/gpu/bench_clean_cuda \
	tests/gpu/bench_beams_sky \
	tests/gpu/bench_dedisp_beams_cuda \
	tests/gpu/bench_dedisp_cuda \
	tests/gpu/bench_equalise_cuda \
	tests/gpu/bench_ffa_cuda \
	tests/gpu/bench_fold_cuda \
	tests/gpu/bench_pulscan_cuda \
	tests/gpu/bench_singlepulse_cuda \
	tests/gpu/bench_spectra_cuda

tests_gpu_bench_accelsearch_cuda_SOURCES = tests/gpu/bench_accelsearch_cuda.c tests/gpu/bench_cuda.h tests/gpu/ceilings.h
tests_gpu_bench_accelsearch_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_bench_accelsearch_cuda_LDADD = tests/gpu/ceilings.$(OBJEXT) lib/libpsrkit_objects.la $(XXHASH_LIBS) $(FFTW_LIBS) $(CUDA_LIBS)
tests_gpu_bench_beam_cuda_SOURCES = tests/gpu/bench_beam_cuda.c tests/gpu/bench_cuda.h tests/gpu/ceilings.h
tests_gpu_bench_beam_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_bench_beam_cuda_LDADD = tests/gpu/ceilings.$(OBJEXT) $(tests_gpu_ldadd) $(ERFA_LIBS) $(FFTW_LIBS)
if HAVE_CUBLAS
tests_gpu_bench_beam_cuda_SOURCES += tests/gpu/beam_cublas.h tests/gpu/beam_wide.h
tests_gpu_bench_beam_cuda_CPPFLAGS += -DHAVE_CUBLAS
tests_gpu_bench_beam_cuda_LDADD += tests/gpu/beam_wide.$(OBJEXT) $(CUBLAS_LIBS)
endif
tests_gpu_bench_beam_rows_cuda_SOURCES = tests/gpu/bench_beam_rows_cuda.c tests/gpu/bench_cuda.h tests/gpu/ceilings.h
tests_gpu_bench_beam_rows_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_bench_beam_rows_cuda_LDADD = tests/gpu/ceilings.$(OBJEXT) $(tests_gpu_ldadd) $(ERFA_LIBS) $(FFTW_LIBS)
tests_gpu_bench_beams_sky_SOURCES = tests/gpu/bench_beams_sky.c tests/gpu/bench_cuda.h tests/gpu/beam_peaks.h
tests_gpu_bench_beams_sky_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_bench_beams_sky_LDADD = tests/gpu/beam_peaks.$(OBJEXT) $(tests_gpu_ldadd)
tests_gpu_bench_dedisp_beams_cuda_SOURCES = tests/gpu/bench_dedisp_beams_cuda.c tests/gpu/bench_cuda.h tests/gpu/ceilings.h
tests_gpu_bench_dedisp_beams_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_bench_dedisp_beams_cuda_LDADD = tests/gpu/ceilings.$(OBJEXT) $(tests_gpu_ldadd)
tests_gpu_bench_dedisp_cuda_SOURCES = tests/gpu/bench_dedisp_cuda.c tests/gpu/bench_cuda.h tests/gpu/ceilings.h
tests_gpu_bench_dedisp_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_bench_dedisp_cuda_LDADD = tests/gpu/ceilings.$(OBJEXT) $(tests_gpu_ldadd)
tests_gpu_bench_ffa_cuda_SOURCES = tests/gpu/bench_ffa_cuda.c tests/bench/bench.h tests/support/tap.h
tests_gpu_bench_ffa_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_bench_ffa_cuda_LDADD = $(tests_gpu_ldadd) $(ERFA_LIBS) $(FFTW_LIBS)
tests_gpu_bench_fold_cuda_SOURCES = tests/gpu/bench_fold_cuda.c tests/bench/bench.h tests/support/tap.h
tests_gpu_bench_fold_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_bench_fold_cuda_LDADD = $(tests_gpu_ldadd) $(ERFA_LIBS) $(FFTW_LIBS)
tests_gpu_bench_equalise_cuda_SOURCES = tests/gpu/bench_equalise_cuda.c
tests_gpu_bench_equalise_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_bench_equalise_cuda_LDADD = $(tests_gpu_ldadd)
tests_gpu_bench_clean_cuda_SOURCES = tests/gpu/bench_clean_cuda.c
tests_gpu_bench_clean_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_bench_clean_cuda_LDADD = $(tests_gpu_ldadd)
tests_gpu_bench_singlepulse_cuda_SOURCES = tests/gpu/bench_singlepulse_cuda.c tests/gpu/bench_cuda.h tests/gpu/ceilings.h
tests_gpu_bench_singlepulse_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_bench_singlepulse_cuda_LDADD = tests/gpu/ceilings.$(OBJEXT) $(tests_gpu_ldadd)
tests_gpu_bench_spectra_cuda_SOURCES = tests/gpu/bench_spectra_cuda.c tests/gpu/bench_cuda.h tests/gpu/ceilings.h
tests_gpu_bench_spectra_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_bench_spectra_cuda_LDADD = tests/gpu/ceilings.$(OBJEXT) $(LDADD)
tests_gpu_bench_pulscan_cuda_SOURCES = tests/gpu/bench_pulscan_cuda.c tests/gpu/bench_cuda.h tests/gpu/ceilings.h
tests_gpu_bench_pulscan_cuda_CPPFLAGS = $(tests_gpu_cppflags)
tests_gpu_bench_pulscan_cuda_LDADD = tests/gpu/ceilings.$(OBJEXT) lib/libpsrkit_objects.la $(XXHASH_LIBS) $(FFTW_LIBS) $(CUDA_LIBS)
EXTRA_DIST += tests/gpu/beam_wide.cu tests/gpu/ceilings.cu
tests/gpu/ceilings.$(OBJEXT): kernels/common/ptx.cuh tests/gpu/ceilings.h kernels/nvcc-flags
tests/gpu/beam_wide.$(OBJEXT): kernels/beam/beam_weight.cuh tests/gpu/beam_wide.h kernels/nvcc-flags
CLEANFILES += tests/gpu/beam_wide.$(OBJEXT) tests/gpu/ceilings.$(OBJEXT)

EXTRA_PROGRAMS += $(BENCHES) $(GPU_BENCHES)
CLEANFILES += $(BENCHES) $(GPU_BENCHES)
bench_scripts = \
	tests/bench/bench_cleaning.sh \
	tests/bench/bench_ddplan.sh \
	tests/bench/bench_fbedit.sh \
	tests/bench/bench_fbedit_peers.sh \
	tests/bench/bench_gpudedisp.sh \
	tests/bench/bench_gpufold.sh \
	tests/bench/bench_plan.sh \
	tests/bench/bench_rfifind.sh \
	tests/bench/bench_udp.sh
gpu_bench_scripts = \
	tests/gpu/bench_accelsearch.sh \
	tests/gpu/bench_node.sh \
	tests/gpu/bench_events.sh \
	tests/gpu/bench_frbbeam.sh \
	tests/gpu/bench_live.sh
dist_noinst_SCRIPTS += $(bench_scripts) $(gpu_bench_scripts)
bench: all $(BENCHES) $(bench_programs)
	@for b in $(BENCHES); do echo "== $$b"; ./$$b || exit 1; done
	@for b in $(bench_scripts); do echo "== $$b"; $(srcdir)/$$b || exit 1; done
if HAVE_CUDA
bench-gpu: all $(GPU_BENCHES)
	@for b in $(GPU_BENCHES); do echo "== $$b"; ./$$b || exit 1; done
	@for b in $(gpu_bench_scripts); do echo "== $$b"; $(srcdir)/$$b || exit 1; done
else
bench-gpu:
	@echo 'SKIP: bench-gpu: this build is without CUDA'
endif
.PHONY: check-gpu bench bench-gpu

# What the search promises of noise and of pulsars, at length: an hour of two cores.  Its tables of
# record are in tests/science/.
EXTRA_PROGRAMS += tests/science/pulse_depth tests/science/sensitivity tests/science/tree_depth
CLEANFILES += tests/science/pulse_depth tests/science/sensitivity tests/science/tree_depth
check-science: tests/rfi/auto/t_clean_auto_noise tests/search/ffa/t_ffa_noise tests/search/pulscan/t_pulscan_noise tests/rfi/t_rfi_noise tests/science/sensitivity
	tests/rfi/auto/t_clean_auto_noise 600
	tests/rfi/t_rfi_noise 60
	tests/search/ffa/t_ffa_noise 2000 20000 2026
	tests/search/pulscan/t_pulscan_noise 10000 65536 2026
	tests/search/pulscan/t_pulscan_noise 300 1048576 2027
	tests/science/sensitivity 300 400 1
.PHONY: check-science

# All programs that `make check` does not build: what they use must not change without them.
if HAVE_CUDA
gpu_extra = $(GPU_BENCHES)
endif
extra-programs: $(BENCHES) $(gpu_extra) tests/science/pulse_depth tests/science/sensitivity tests/science/tree_depth
.PHONY: extra-programs

# A pulsar, bursts and a binary, made and found: `make demo`, which tests/tools/demo.bats runs too.
# Installed, too: what a user runs first.
dist_pkgdata_SCRIPTS = tests/tools/demo.sh
demo: all
	@$(srcdir)/tests/tools/demo.sh
CLEANFILES += \
	demo/binary.fil \
	demo/binary.txt \
	demo/burst.png \
	demo/demo.cand \
	demo/demo.fil \
	demo/plane.png \
	demo/smearing.png \
	demo/truth.txt
.PHONY: demo

# The library as a stranger uses it: what was installed, found through pkg-config; and without it.
run_installed = LD_LIBRARY_PATH='$(DESTDIR)$(libdir)':$$LD_LIBRARY_PATH
saw_pulse = grep '^DM  50: 256 at sample 1000 '
if ENABLE_STATIC
saw_pulse_static = $(CC) $(CFLAGS) $(SANITIZE_CFLAGS) -std=c11 -I'$(DESTDIR)$(includedir)' -o tests/example \
	$(srcdir)/tests/example.c '$(DESTDIR)$(libdir)/libpsrkit.a' $(OPENMP_CFLAGS) $(PSR_LIBS) $(LIBS) && \
	tests/example | $(saw_pulse)
else
saw_pulse_static = @:
endif
installcheck-local:
	@$(MKDIR_P) tests
	PKG_CONFIG_PATH='$(DESTDIR)$(pkgconfigdir)'; export PKG_CONFIG_PATH; \
	    $(CC) $(CFLAGS) $(SANITIZE_CFLAGS) -std=c11 -o tests/example $(srcdir)/tests/example.c \
	    `$(PKG_CONFIG) --cflags --libs psrkit`
	$(run_installed) tests/example | $(saw_pulse)
	$(saw_pulse_static)
CLEANFILES += tests/example

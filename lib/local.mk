# libpsrkit and its headers, floor by floor.

# All objects, compiled once and position independent.  Tools and tests link these; libpsrkit.so shows of
# them what public headers declare, and libpsrkit.a has them all.
noinst_LTLIBRARIES += lib/libpsrkit_objects.la

# current:revision:age as libtool's manual has it; to be changed with a release that changes public headers.
lib_LTLIBRARIES += lib/libpsrkit.la
lib_libpsrkit_la_SOURCES =
lib_libpsrkit_la_LIBADD = lib/libpsrkit_objects.la $(PSR_LIBS)
# What of CUDA is linked statically stays inside.
lib_libpsrkit_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined -Wl,--exclude-libs,libcudart_static.a

# The static library for those who want one.
static_library = lib/.libs/libpsrkit_objects.a
install-exec-hook:
	$(INSTALL_DATA) $(static_library) '$(DESTDIR)$(libdir)/libpsrkit.a'
uninstall-hook:
	rm -f '$(DESTDIR)$(libdir)/libpsrkit.a'

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = lib/psrkit.pc

psrincludedir = $(includedir)/psrkit
psrinclude_HEADERS = \
	lib/psrkit/accel.h \
	lib/psrkit/api.h \
	lib/psrkit/array.h \
	lib/psrkit/barycentre.h \
	lib/psrkit/beam.h \
	lib/psrkit/block.h \
	lib/psrkit/clean.h \
	lib/psrkit/compat.h \
	lib/psrkit/dada.h \
	lib/psrkit/ddplan.h \
	lib/psrkit/dedisp.h \
	lib/psrkit/delays.h \
	lib/psrkit/device.h \
	lib/psrkit/fake.h \
	lib/psrkit/fakevolt.h \
	lib/psrkit/fanout.h \
	lib/psrkit/inf.h \
	lib/psrkit/lists.h \
	lib/psrkit/mask.h \
	lib/psrkit/matched.h \
	lib/psrkit/measure.h \
	lib/psrkit/nibbles.h \
	lib/psrkit/number.h \
	lib/psrkit/obs.h \
	lib/psrkit/orbit.h \
	lib/psrkit/outfile.h \
	lib/psrkit/output_group.h \
	lib/psrkit/overwrite_check.h \
	lib/psrkit/patch.h \
	lib/psrkit/pipeline.h \
	lib/psrkit/planfile.h \
	lib/psrkit/pointing.h \
	lib/psrkit/psrfits.h \
	lib/psrkit/psrkit.h \
	lib/psrkit/pulscan.h \
	lib/psrkit/resample.h \
	lib/psrkit/rng.h \
	lib/psrkit/series.h \
	lib/psrkit/signif.h \
	lib/psrkit/sigproc.h \
	lib/psrkit/singlepulse.h \
	lib/psrkit/sink.h \
	lib/psrkit/source.h \
	lib/psrkit/spectrum.h \
	lib/psrkit/status.h \
	lib/psrkit/subband.h \
	lib/psrkit/zaplist.h

lib_libpsrkit_objects_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/kernels $(CUDA_CPPFLAGS)
lib_libpsrkit_objects_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
lib_libpsrkit_objects_la_LIBADD = $(KERNEL_OBJECTS)
if HAVE_CUDA
lib_cuda_sources = \
	lib/base/cuda_call.h \
	lib/base/device_cuda.c \
	lib/beam/beam_cuda.c \
	lib/beam/beam_cuda.h \
	lib/beam/beam_cuda_slots.c \
	lib/beam/beam_cuda_slots.h \
	lib/beam/beam_cuda_state.c \
	lib/search/dedisp_cuda.c \
	lib/search/dedisp_cuda.h \
	lib/search/dedisp_cuda_block.c \
	lib/search/dedisp_cuda_plan.c \
	lib/search/dedisp_cuda_push.c \
	lib/search/dedisp_cuda_state.c \
	lib/search/pulscan_cuda.c \
	lib/search/pulscan_cuda.h \
	lib/search/pulscan_cuda_fft.c \
	lib/search/pulscan_cuda_plan.c \
	lib/search/pulscan_cuda_state.c \
	lib/search/singlepulse_cuda.c
endif
lib_libpsrkit_objects_la_SOURCES = \
	$(lib_cuda_sources) \
	lib/base/claim.c \
	lib/base/claim.h \
	lib/base/clock.h \
	lib/base/clones.h \
	lib/base/device.c \
	lib/base/device_backend.h \
	lib/base/device_choice.c \
	lib/base/digest.c \
	lib/base/digest.h \
	lib/base/grow.c \
	lib/base/grow.h \
	lib/base/isa.h \
	lib/base/memory.h \
	lib/base/number.c \
	lib/base/order.c \
	lib/base/order.h \
	lib/base/outfile.c \
	lib/base/outfile_steps.h \
	lib/base/output_group.c \
	lib/base/overwrite_check.c \
	lib/base/path.c \
	lib/base/path.h \
	lib/base/plain.c \
	lib/base/plain.h \
	lib/base/readfd.c \
	lib/base/readfd.h \
	lib/base/slurp.c \
	lib/base/slurp.h \
	lib/base/status.c \
	lib/base/text_lines.c \
	lib/base/text_lines.h \
	lib/base/threads.h \
	lib/base/units.h \
	lib/base/utf8.c \
	lib/base/utf8.h \
	lib/base/version.c \
	lib/beam/array.c \
	lib/beam/beam.c \
	lib/beam/beam_backend.h \
	lib/beam/beam_cpu.c \
	lib/beam/beam_cpu_kernel.c \
	lib/beam/beam_cpu_kernel.h \
	lib/beam/beam_cpu_lanes.h \
	lib/beam/beam_cpu_resample.c \
	lib/beam/beam_cpu_resample.h \
	lib/beam/fakevolt.c \
	lib/beam/gains.c \
	lib/beam/pointing.c \
	lib/formats/accel.c \
	lib/formats/accel_cand.c \
	lib/formats/accel_table.c \
	lib/formats/dada.c \
	lib/formats/dat.c \
	lib/formats/dat.h \
	lib/formats/fft.c \
	lib/formats/good_length.c \
	lib/formats/inf.c \
	lib/formats/inf_fields.c \
	lib/formats/inf_fields.h \
	lib/formats/inf_read.c \
	lib/formats/inf_write.c \
	lib/formats/lists.c \
	lib/formats/mask.c \
	lib/formats/obs.c \
	lib/formats/parts.c \
	lib/formats/parts.h \
	lib/formats/psrfits.c \
	lib/formats/psrfits.h \
	lib/formats/psrfits_bytes.c \
	lib/formats/psrfits_freq.c \
	lib/formats/psrfits_header.c \
	lib/formats/psrfits_rows.c \
	lib/formats/psrfits_sample.c \
	lib/formats/psrfits_table.c \
	lib/formats/psrfits_write.c \
	lib/formats/reader.h \
	lib/formats/rows.c \
	lib/formats/rows.h \
	lib/formats/series.c \
	lib/formats/series_name.c \
	lib/formats/series_name.h \
	lib/formats/series_there.c \
	lib/formats/sigproc.c \
	lib/formats/sigproc_header.h \
	lib/formats/sigproc_keys.h \
	lib/formats/sigproc_obs.c \
	lib/formats/sigproc_reader.c \
	lib/formats/sigproc_write.c \
	lib/formats/source.c \
	lib/formats/subbands.c \
	lib/formats/subbands.h \
	lib/formats/telescope.c \
	lib/formats/unpack.c \
	lib/formats/unpack.h \
	lib/formats/valerr.c \
	lib/formats/valerr.h \
	lib/formats/voltages.c \
	lib/formats/voltages.h \
	lib/formats/voltages_read.c \
	lib/formats/zaplist.c \
	lib/pipeline/dedispersion.h \
	lib/pipeline/dedispersion_direct.c \
	lib/pipeline/dedispersion_presto.c \
	lib/pipeline/dedispersion_subbands.c \
	lib/pipeline/input.c \
	lib/pipeline/input.h \
	lib/pipeline/lines.c \
	lib/pipeline/lines.h \
	lib/pipeline/pipeline.c \
	lib/pipeline/pipeline_by_lines.c \
	lib/pipeline/pipeline_by_lines.h \
	lib/pipeline/pipeline_check.c \
	lib/pipeline/pipeline_check.h \
	lib/pipeline/pipeline_loop.c \
	lib/pipeline/pipeline_outputs.c \
	lib/pipeline/pipeline_provenance.c \
	lib/pipeline/pipeline_report.c \
	lib/pipeline/pipeline_setup.c \
	lib/pipeline/pipeline_state.h \
	lib/pipeline/presto_view.c \
	lib/pipeline/presto_view.h \
	lib/pipeline/provenance.c \
	lib/pipeline/provenance.h \
	lib/pipeline/read_ahead.c \
	lib/pipeline/read_ahead.h \
	lib/pipeline/resume.c \
	lib/pipeline/resume.h \
	lib/pipeline/sink_checksums.c \
	lib/pipeline/sink_pulses.c \
	lib/pipeline/sink_rows.h \
	lib/pipeline/sink_series.c \
	lib/pipeline/sink_subbands.c \
	lib/pipeline/sinks.c \
	lib/pipeline/sinks.h \
	lib/pipeline/stage_barycentre.c \
	lib/pipeline/stage_barycentre.h \
	lib/pipeline/stage_clean.c \
	lib/pipeline/stage_clean.h \
	lib/pipeline/trials.c \
	lib/pipeline/trials.h \
	lib/search/cluster.c \
	lib/search/compat.c \
	lib/search/dedisp.c \
	lib/search/dedisp_backend.h \
	lib/search/dedisp_check.c \
	lib/search/dedisp_cpu.c \
	lib/search/dedisp_cpu.h \
	lib/search/dedisp_cpu_kernel.c \
	lib/search/dedisp_cpu_kinds.h \
	lib/search/dedisp_cpu_lane.h \
	lib/search/dedisp_cpu_plan.c \
	lib/search/dedisp_cpu_shape.c \
	lib/search/dedisp_cpu_tree.c \
	lib/search/dedisp_cpu_tree.h \
	lib/search/dedisp_lag.h \
	lib/search/dedisp_sweep.c \
	lib/search/fanout.c \
	lib/search/matched.c \
	lib/search/measure.c \
	lib/search/measure_notes.c \
	lib/search/measure_notes.h \
	lib/search/measure_place.c \
	lib/search/measure_place.h \
	lib/search/patch.c \
	lib/search/pulscan.c \
	lib/search/pulscan_backend.h \
	lib/search/pulscan_check.c \
	lib/search/pulscan_cpu.c \
	lib/search/pulscan_cpu.h \
	lib/search/pulscan_fundamental.c \
	lib/search/pulscan_fundamental.h \
	lib/search/pulscan_level.c \
	lib/search/pulscan_merge.c \
	lib/search/pulscan_odds.c \
	lib/search/pulscan_odds.h \
	lib/search/pulscan_residual.c \
	lib/search/pulscan_residual.h \
	lib/search/pulscan_search.c \
	lib/search/pulscan_search.h \
	lib/search/pulscan_series.c \
	lib/search/pulscan_series.h \
	lib/search/pulscan_tile.c \
	lib/search/pulse.h \
	lib/search/pulse_device.h \
	lib/search/pulse_math.h \
	lib/search/pulsetext.c \
	lib/search/singlepulse.c \
	lib/search/singlepulse_boxcar.c \
	lib/search/singlepulse_device.c \
	lib/search/singlepulse_level.c \
	lib/search/singlepulse_pick.c \
	lib/search/singlepulse_plan.h \
	lib/search/subband.c \
	lib/signal/barycentre.c \
	lib/signal/clean.c \
	lib/signal/clean_give.c \
	lib/signal/clean_plan.h \
	lib/signal/clip.c \
	lib/signal/clip.h \
	lib/signal/cornerturn.c \
	lib/signal/cornerturn.h \
	lib/signal/ddplan.c \
	lib/signal/ddplan_factors.c \
	lib/signal/delays.c \
	lib/signal/deredden.c \
	lib/signal/ends.c \
	lib/signal/fake.c \
	lib/signal/fake_part.c \
	lib/signal/fake_parts.h \
	lib/signal/fake_plan.h \
	lib/signal/fake_quantise.c \
	lib/signal/fake_red.c \
	lib/signal/fake_shape.c \
	lib/signal/fake_spin.c \
	lib/signal/fake_truth.c \
	lib/signal/orbit.c \
	lib/signal/planfile.c \
	lib/signal/redden.h \
	lib/signal/resample.c \
	lib/signal/rfft.c \
	lib/signal/rng.c \
	lib/signal/rng_lanes.h \
	lib/signal/signif.c \
	lib/signal/signif_coef.h \
	lib/signal/signif_core.h \
	lib/signal/signif_poly.c \
	lib/signal/sites.c \
	lib/signal/tally.c \
	lib/signal/tally.h \
	lib/signal/timesum.c \
	lib/signal/timesum.h
EXTRA_DIST += lib/signal/make_signif_coef.py

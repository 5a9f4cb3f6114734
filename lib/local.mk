# libpsrkit.a and its headers, floor by floor.

lib_LIBRARIES += lib/libpsrkit.a

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = lib/psrkit.pc

psrincludedir = $(includedir)/psrkit
psrinclude_HEADERS = \
	lib/psrkit/barycentre.h \
	lib/psrkit/clean.h \
	lib/psrkit/compat.h \
	lib/psrkit/ddplan.h \
	lib/psrkit/dedisp.h \
	lib/psrkit/delays.h \
	lib/psrkit/device.h \
	lib/psrkit/fake.h \
	lib/psrkit/fanout.h \
	lib/psrkit/inf.h \
	lib/psrkit/lists.h \
	lib/psrkit/mask.h \
	lib/psrkit/number.h \
	lib/psrkit/obs.h \
	lib/psrkit/orbit.h \
	lib/psrkit/outfile.h \
	lib/psrkit/patch.h \
	lib/psrkit/planfile.h \
	lib/psrkit/psrfits.h \
	lib/psrkit/resample.h \
	lib/psrkit/rng.h \
	lib/psrkit/series.h \
	lib/psrkit/signif.h \
	lib/psrkit/sigproc.h \
	lib/psrkit/singlepulse.h \
	lib/psrkit/source.h \
	lib/psrkit/status.h

lib_libpsrkit_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/kernels $(CUDA_CPPFLAGS)
lib_libpsrkit_a_LIBADD = $(KERNEL_OBJECTS)
if HAVE_CUDA
lib_cuda_sources = \
	lib/base/cuda_call.h \
	lib/base/device_cuda.c \
	lib/search/dedisp_cuda.c \
	lib/search/dedisp_cuda.h \
	lib/search/dedisp_cuda_plan.c \
	lib/search/dedisp_cuda_push.c \
	lib/search/dedisp_cuda_state.c \
	lib/search/singlepulse_cuda.c
endif
lib_libpsrkit_a_SOURCES = \
	$(lib_cuda_sources) \
	lib/base/device.c \
	lib/base/device_backend.h \
	lib/base/isa.h \
	lib/base/number.c \
	lib/base/outfile.c \
	lib/base/path.c \
	lib/base/path.h \
	lib/base/plain.c \
	lib/base/plain.h \
	lib/base/slurp.c \
	lib/base/slurp.h \
	lib/base/status.c \
	lib/base/threads.h \
	lib/formats/dat.c \
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
	lib/formats/planfile.c \
	lib/formats/psrfits.c \
	lib/formats/psrfits.h \
	lib/formats/psrfits_freq.c \
	lib/formats/psrfits_header.c \
	lib/formats/psrfits_rows.c \
	lib/formats/psrfits_sample.c \
	lib/formats/psrfits_table.c \
	lib/formats/psrfits_write.c \
	lib/formats/reader.h \
	lib/formats/series.c \
	lib/formats/sigproc.c \
	lib/formats/sigproc_header.h \
	lib/formats/sigproc_reader.c \
	lib/formats/sigproc_write.c \
	lib/formats/source.c \
	lib/formats/telescope.c \
	lib/formats/unpack.c \
	lib/formats/unpack.h \
	lib/search/cluster.c \
	lib/search/compat.c \
	lib/search/dedisp.c \
	lib/search/dedisp_backend.h \
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
	lib/search/fanout.c \
	lib/search/patch.c \
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
	lib/signal/quantise_lanes.h \
	lib/signal/resample.c \
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

# libpsrkit.a and its headers, floor by floor.

lib_LIBRARIES += lib/libpsrkit.a

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = lib/psrkit.pc

psrincludedir = $(includedir)/psrkit
psrinclude_HEADERS = \
	lib/psrkit/dedisp.h \
	lib/psrkit/delays.h \
	lib/psrkit/device.h \
	lib/psrkit/inf.h \
	lib/psrkit/lists.h \
	lib/psrkit/number.h \
	lib/psrkit/obs.h \
	lib/psrkit/outfile.h \
	lib/psrkit/series.h \
	lib/psrkit/sigproc.h \
	lib/psrkit/singlepulse.h \
	lib/psrkit/source.h \
	lib/psrkit/status.h

lib_libpsrkit_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/kernels $(CUDA_CPPFLAGS)
lib_libpsrkit_a_LIBADD = $(KERNEL_OBJECTS)
if HAVE_CUDA
lib_cuda_sources = \
	lib/base/device_cuda.c \
	lib/search/dedisp_cuda.c \
	lib/search/dedisp_cuda.h \
	lib/search/dedisp_cuda_plan.c \
	lib/search/dedisp_cuda_state.c
endif
lib_libpsrkit_a_SOURCES = \
	$(lib_cuda_sources) \
	lib/base/device.c \
	lib/base/device_backend.h \
	lib/base/number.c \
	lib/base/status.c \
	lib/formats/lists.c \
	lib/formats/reader.h \
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
	lib/signal/cornerturn.c \
	lib/signal/cornerturn.h \
	lib/signal/delays.c

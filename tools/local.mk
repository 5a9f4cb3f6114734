# The tools: each one source beside the shared command-line code.

tools_cppflags = $(AM_CPPFLAGS) -DPSRKIT_VERSION='"$(PACKAGE_VERSION)"'
tools_shared = tools/cli.c tools/cli.h tools/run.c tools/run.h

bin_PROGRAMS += tools/gpudedisp

tools_gpudedisp_CPPFLAGS = $(tools_cppflags)
tools_gpudedisp_LDADD = $(LDADD) $(ZLIB_LIBS)
tools_gpudedisp_SOURCES = \
	$(tools_shared) \
	tools/gpudedisp.c \
	tools/gpudedisp.h \
	tools/gpudedisp_events.c \
	tools/gpudedisp_options.c \
	tools/gpudedisp_setup.c \
	tools/pulseplot.c \
	tools/pulseplot.h

# The tools: each one source beside the shared command-line code.

tools_cppflags = $(AM_CPPFLAGS) -DPSRKIT_VERSION='"$(PACKAGE_VERSION)"'
tools_shared = tools/cli.c tools/cli.h tools/run.c tools/run.h
tools_gnuplot = tools/gnuplot.c tools/gnuplot.h
tools_ldadd = lib/libpsrkit.a $(PSR_LIBS)

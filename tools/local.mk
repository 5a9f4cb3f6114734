# The tools: each a folder, beside the command line that they share.

# What of lib/base programs need, too, is no part of the interface and compiled again.  The library as an object, not as libtool's: a program in the build is no script, and finds it as an installed one does.
tools_cppflags = $(AM_CPPFLAGS)
tools_ldadd = tools/libcommon.la $(shared_library) $(ZLIB_LIBS)
tools_ldflags = $(AM_LDFLAGS) $(TOOLS_RPATH)

noinst_LTLIBRARIES += tools/libcommon.la
tools_libcommon_la_CPPFLAGS = $(tools_cppflags) $(CAIRO_CFLAGS)
tools_libcommon_la_SOURCES = \
	lib/base/base.c \
	lib/base/text/json.c \
	lib/base/threads/threads.c \
	lib/base/text/names.c \
	lib/base/text/number.c \
	lib/base/input/tar_read.c \
	tools/common/cli.c \
	tools/common/cli.h \
	tools/common/devices.c \
	tools/common/devices.h \
	tools/common/fourier_options.c \
	tools/common/fourier_options.h \
	tools/common/html.c \
	tools/common/html.h \
	tools/common/json_read.c \
	tools/common/json_read.h \
	tools/common/observation_options.c \
	tools/common/quote.c \
	tools/common/quote.h \
	tools/common/run.c \
	tools/common/signals.c \
	tools/common/signals.h \
	tools/common/plot/canvas.h \
	tools/common/plot/planeplot.c \
	tools/common/plot/planeplot.h \
	tools/common/plot/plotfile.c \
	tools/common/plot/plotfile.h \
	tools/common/plot/pulseplot.c \
	tools/common/plot/pulseplot.h
common_pictures = \
	tools/common/plot/canvas.c \
	tools/common/plot/canvas_file.c \
	tools/common/plot/canvas_internal.h
if HAVE_CAIRO
tools_libcommon_la_SOURCES += $(common_pictures)
else
tools_libcommon_la_SOURCES += tools/common/plot/canvas_none.c
endif
EXTRA_DIST += $(common_pictures) tools/common/plot/canvas_none.c tools/README.md

bin_PROGRAMS += \
	bin/accelsift \
	bin/chi2sig \
	bin/ddplan \
	bin/fakebin \
	bin/fbedit \
	bin/frbbeam \
	bin/gpuaccel-pulscan \
	bin/gpudedisp \
	bin/gpudigifil \
	bin/gpuffa \
	bin/gpufold \
	bin/gpurfifind \
	bin/psrinject \
	bin/psrpresto \
	bin/psrreport \
	bin/psrsearch \
	bin/spcoincidence

bin_accelsift_CPPFLAGS = $(tools_cppflags)
bin_accelsift_LDADD = $(tools_ldadd)
bin_accelsift_LDFLAGS = $(tools_ldflags)
bin_accelsift_SOURCES = \
	tools/accelsift/main.c

bin_spcoincidence_CPPFLAGS = $(tools_cppflags)
bin_spcoincidence_LDADD = $(tools_ldadd)
bin_spcoincidence_LDFLAGS = $(tools_ldflags)
bin_spcoincidence_SOURCES = \
	tools/spcoincidence/main.c

bin_chi2sig_CPPFLAGS = $(tools_cppflags)
bin_chi2sig_LDADD = $(tools_ldadd)
bin_chi2sig_LDFLAGS = $(tools_ldflags)
bin_chi2sig_SOURCES = \
	tools/chi2sig/chi2sig.h \
	tools/chi2sig/main.c \
	tools/chi2sig/fast_number_io.c \
	tools/chi2sig/report.c \
	tools/chi2sig/rows.c

bin_ddplan_CPPFLAGS = $(tools_cppflags)
bin_ddplan_LDADD = $(tools_ldadd)
bin_ddplan_LDFLAGS = $(tools_ldflags)
bin_ddplan_SOURCES = \
	tools/ddplan/cost.c \
	tools/ddplan/ddplan.h \
	tools/ddplan/main.c \
	tools/ddplan/options.c \
	tools/ddplan/text.c

bin_fakebin_CPPFLAGS = $(tools_cppflags)
bin_fakebin_LDADD = $(tools_ldadd)
bin_fakebin_LDFLAGS = $(tools_ldflags)
bin_fakebin_SOURCES = \
	tools/fakebin/fakebin.h \
	tools/fakebin/main.c \
	tools/fakebin/output.c \
	tools/fakebin/setup.c \
	tools/fakebin/volt.c

bin_fbedit_CPPFLAGS = $(tools_cppflags)
bin_fbedit_LDADD = $(tools_ldadd)
bin_fbedit_LDFLAGS = $(tools_ldflags)
bin_fbedit_SOURCES = \
	tools/fbedit/fbedit.h \
	tools/fbedit/main.c \
	tools/fbedit/options.c

bin_frbbeam_CPPFLAGS = $(tools_cppflags)
bin_frbbeam_LDADD = $(tools_ldadd)
bin_frbbeam_LDFLAGS = $(tools_ldflags)
bin_frbbeam_SOURCES = \
	tools/frbbeam/main.c

bin_gpuaccel_pulscan_CPPFLAGS = $(tools_cppflags)
bin_gpuaccel_pulscan_LDADD = $(tools_ldadd)
bin_gpuaccel_pulscan_LDFLAGS = $(tools_ldflags)
bin_gpuaccel_pulscan_SOURCES = \
	tools/gpuaccel-pulscan/batch.c \
	tools/gpuaccel-pulscan/gpuaccel-pulscan.h \
	tools/gpuaccel-pulscan/main.c \
	tools/gpuaccel-pulscan/names.c \
	tools/gpuaccel-pulscan/options.c

bin_gpudedisp_CPPFLAGS = $(tools_cppflags)
bin_gpudedisp_LDADD = $(tools_ldadd)
bin_gpudedisp_LDFLAGS = $(tools_ldflags)
bin_gpudedisp_SOURCES = \
	tools/gpudedisp/gpudedisp.h \
	tools/gpudedisp/line_output.c \
	tools/gpudedisp/main.c \
	tools/gpudedisp/options.c \
	tools/gpudedisp/table.c

bin_gpudigifil_CPPFLAGS = $(tools_cppflags)
bin_gpudigifil_LDADD = $(tools_ldadd)
bin_gpudigifil_LDFLAGS = $(tools_ldflags)
bin_gpudigifil_SOURCES = \
	tools/gpudigifil/main.c

bin_gpuffa_CPPFLAGS = $(tools_cppflags)
bin_gpuffa_LDADD = $(tools_ldadd)
bin_gpuffa_LDFLAGS = $(tools_ldflags)
bin_gpuffa_SOURCES = \
	tools/gpuffa/batch.c \
	tools/gpuffa/gpuffa.h \
	tools/gpuffa/main.c

bin_gpufold_CPPFLAGS = $(tools_cppflags)
bin_gpufold_LDADD = $(tools_ldadd)
bin_gpufold_LDFLAGS = $(tools_ldflags)
bin_gpufold_SOURCES = \
	tools/gpufold/candidates.c \
	tools/gpufold/gpufold.h \
	tools/gpufold/main.c \
	tools/gpufold/options.c \
	tools/gpufold/output.c \
	tools/gpufold/picture.c

bin_gpurfifind_CPPFLAGS = $(tools_cppflags)
bin_gpurfifind_LDADD = $(tools_ldadd)
bin_gpurfifind_LDFLAGS = $(tools_ldflags)
bin_gpurfifind_SOURCES = \
	tools/gpurfifind/main.c \
	tools/gpurfifind/picture.c \
	tools/gpurfifind/report.c \
	tools/gpurfifind/report.h

bin_psrinject_CPPFLAGS = $(tools_cppflags)
bin_psrinject_LDADD = $(tools_ldadd)
bin_psrinject_LDFLAGS = $(tools_ldflags)
bin_psrinject_SOURCES = \
	tools/psrinject/main.c \
	tools/psrinject/options.c \
	tools/psrinject/page.c \
	tools/psrinject/psrinject.h \
	tools/psrinject/trial.c

bin_psrpresto_CPPFLAGS = $(tools_cppflags)
bin_psrpresto_LDADD = $(tools_ldadd)
bin_psrpresto_LDFLAGS = $(tools_ldflags)
bin_psrpresto_SOURCES = \
	tools/psrpresto/common.c \
	tools/psrpresto/main.c \
	tools/psrpresto/psrpresto.h \
	tools/psrpresto/pulses.c \
	tools/psrpresto/readfile.c \
	tools/psrpresto/zap.c

bin_psrreport_CPPFLAGS = $(tools_cppflags)
bin_psrreport_LDADD = $(tools_ldadd) $(ERFA_LIBS)
bin_psrreport_LDFLAGS = $(tools_ldflags)
bin_psrreport_SOURCES = \
	tools/psrreport/beams.c \
	tools/psrreport/candidates.c \
	tools/psrreport/candyjar.c \
	tools/psrreport/folder.c \
	tools/psrreport/folds.c \
	tools/psrreport/frame.c \
	tools/psrreport/main.c \
	tools/psrreport/overview.c \
	tools/psrreport/page.c \
	tools/psrreport/page.h \
	tools/psrreport/page_candidates.c \
	tools/psrreport/plot.c \
	tools/psrreport/psrreport.h \
	tools/psrreport/pulses.c

bin_psrsearch_CPPFLAGS = $(tools_cppflags)
bin_psrsearch_LDADD = $(tools_ldadd)
bin_psrsearch_LDFLAGS = $(tools_ldflags)
bin_psrsearch_SOURCES = \
	tools/psrsearch/files.c \
	tools/psrsearch/main.c \
	tools/psrsearch/options.c \
	tools/psrsearch/outputs.c \
	tools/psrsearch/plan.c \
	tools/psrsearch/psrsearch.h \
	tools/psrsearch/records.c \
	tools/psrsearch/run_step.c \
	tools/psrsearch/steps.c \
	tools/psrsearch/summary.c \
	tools/psrsearch/text.c
if HAVE_CAIRO
bin_psrsearch_CPPFLAGS += -DPSRSEARCH_PICTURES
endif

# Names under which PRESTO's users know the tools, as links: `make install-aliases`, for those who
# want them; ACCEL_sift.py where PRESTO has it if PRESTO=$(pkgdatadir).  What stands there already and
# is no such link stays.  ALIAS:TOOL
sift_script = $(pkgdatadir)/examplescripts/ACCEL_sift.py
EXTRA_DIST += tools/psrpresto/ACCEL_sift.py
tool_aliases = \
	ACCEL_sift.py:$(sift_script) \
	DDplan.py:ddplan \
	accelsearch:gpuaccel-pulscan \
	digifil:gpudigifil \
	makezaplist.py:psrpresto \
	prepdata:gpudedisp \
	prepfold:gpufold \
	prepfold_multi:gpufold \
	prepsubband:gpudedisp \
	readfile:psrpresto \
	realfft:psrpresto \
	rednoise:psrpresto \
	rfifind:gpurfifind \
	simple_zapbirds:psrpresto \
	simple_zapbirds.py:psrpresto \
	single_pulse_search.py:psrpresto \
	zapbirds:psrpresto

install-aliases:
	@$(MKDIR_P) '$(DESTDIR)$(bindir)' '$(DESTDIR)$(pkgdatadir)/examplescripts'
	@$(INSTALL_SCRIPT) '$(srcdir)/tools/psrpresto/ACCEL_sift.py' '$(DESTDIR)$(sift_script)'
	@cd '$(DESTDIR)$(bindir)' && for pair in $(tool_aliases); do \
	    alias=$${pair%:*} tool=$${pair#*:}; \
	    if test "`readlink $$alias`" = $$tool; then continue; fi; \
	    if test -e $$alias || test -h $$alias; then \
	        echo "install-aliases: $(DESTDIR)$(bindir)/$$alias is there already" >&2; exit 1; \
	    fi; \
	    echo " $(LN_S) $$tool $(DESTDIR)$(bindir)/$$alias"; \
	    $(LN_S) $$tool $$alias || exit 1; \
	done
.PHONY: install-aliases

uninstall-local:
	@rm -f '$(DESTDIR)$(sift_script)'
	@rmdir '$(DESTDIR)$(pkgdatadir)/examplescripts' 2>/dev/null || :
	@cd '$(DESTDIR)$(bindir)' 2>/dev/null || exit 0; for pair in $(tool_aliases); do \
	    alias=$${pair%:*} tool=$${pair#*:}; \
	    if test "`readlink $$alias`" = $$tool; then rm -f $$alias; fi; \
	done

# The tools: each one source beside the shared command-line code.

tools_cppflags = $(AM_CPPFLAGS) -DPSRKIT_VERSION='"$(PACKAGE_VERSION)"'
tools_shared = tools/cli.c tools/cli.h tools/cli_table.c tools/run.c tools/run.h
tools_gnuplot = tools/gnuplot.c tools/gnuplot.h

bin_PROGRAMS += \
	tools/chi2sig \
	tools/ddplan \
	tools/fakebin \
	tools/frbbeam \
	tools/gpuaccel-pulscan \
	tools/gpudedisp

tools_chi2sig_CPPFLAGS = $(tools_cppflags)
tools_chi2sig_SOURCES = \
	$(tools_shared) \
	tools/chi2sig.c \
	tools/chi2sig.h \
	tools/chi2sig_candidates.c \
	tools/chi2sig_print.c \
	tools/chi2sig_rows.c \
	tools/numtext.c \
	tools/numtext.h

tools_ddplan_CPPFLAGS = $(tools_cppflags)
tools_ddplan_SOURCES = \
	$(tools_gnuplot) \
	$(tools_shared) \
	tools/ddplan.c \
	tools/ddplan.h \
	tools/ddplan_cost.c \
	tools/ddplan_json.c \
	tools/ddplan_options.c \
	tools/ddplan_plot.c \
	tools/ddplan_script.c \
	tools/ddplan_table.c \
	tools/ddplan_text.c

tools_fakebin_CPPFLAGS = $(tools_cppflags)
tools_fakebin_SOURCES = \
	$(tools_shared) \
	tools/fakebin.c \
	tools/fakebin.h \
	tools/fakebin_add.c \
	tools/fakebin_options.c \
	tools/fakebin_output.c \
	tools/fakebin_setup.c \
	tools/fakebin_table.c \
	tools/fakebin_volt.c \
	tools/guard.c \
	tools/guard.h

tools_frbbeam_CPPFLAGS = $(tools_cppflags)
tools_frbbeam_SOURCES = \
	$(tools_shared) \
	tools/errand.c \
	tools/errand.h \
	tools/frbbeam.c \
	tools/frbbeam.h \
	tools/frbbeam_beams.c \
	tools/frbbeam_crew.c \
	tools/frbbeam_options.c \
	tools/frbbeam_output.c \
	tools/frbbeam_read.c \
	tools/frbbeam_report.c \
	tools/frbbeam_scale.c \
	tools/frbbeam_setup.c \
	tools/frbbeam_sums.c \
	tools/guard.c \
	tools/guard.h

tools_gpuaccel_pulscan_CPPFLAGS = $(tools_cppflags)
tools_gpuaccel_pulscan_SOURCES = \
	$(tools_gnuplot) \
	$(tools_shared) \
	tools/gpuaccel-pulscan.c \
	tools/gpuaccel-pulscan.h \
	tools/gpuaccel-pulscan_batch.c \
	tools/gpuaccel-pulscan_names.c \
	tools/gpuaccel-pulscan_options.c \
	tools/gpuaccel-pulscan_output.c \
	tools/gpuaccel-pulscan_plan.c \
	tools/gpuaccel-pulscan_table.c \
	tools/guard.c \
	tools/guard.h \
	tools/planeplot.c \
	tools/planeplot.h

tools_gpudedisp_CPPFLAGS = $(tools_cppflags)
tools_gpudedisp_SOURCES = \
	$(tools_gnuplot) \
	$(tools_shared) \
	tools/digest.c \
	tools/digest.h \
	tools/gpudedisp.c \
	tools/gpudedisp.h \
	tools/gpudedisp_bary.c \
	tools/gpudedisp_clean.c \
	tools/gpudedisp_compat.c \
	tools/gpudedisp_compat.h \
	tools/gpudedisp_compat_setup.c \
	tools/gpudedisp_device.c \
	tools/gpudedisp_events.c \
	tools/gpudedisp_input.c \
	tools/gpudedisp_line.c \
	tools/gpudedisp_memory.c \
	tools/gpudedisp_names.c \
	tools/gpudedisp_options.c \
	tools/gpudedisp_options.h \
	tools/gpudedisp_plan.c \
	tools/gpudedisp_reader.c \
	tools/gpudedisp_record.c \
	tools/gpudedisp_resume.c \
	tools/gpudedisp_setup.c \
	tools/gpudedisp_sub.c \
	tools/gpudedisp_table.c \
	tools/guard.c \
	tools/guard.h \
	tools/outset.c \
	tools/outset.h \
	tools/pulseplot.c \
	tools/pulseplot.h \
	tools/subbands.c \
	tools/subbands.h

# Names under which PRESTO's users know the tools, as links: `make install-aliases`, for those who
# want them.  What stands there already and is no such link stays.  ALIAS:TOOL
tool_aliases = \
	prepsubband:gpudedisp

install-aliases:
	@$(MKDIR_P) '$(DESTDIR)$(bindir)'
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
	@cd '$(DESTDIR)$(bindir)' 2>/dev/null || exit 0; for pair in $(tool_aliases); do \
	    alias=$${pair%:*} tool=$${pair#*:}; \
	    if test "`readlink $$alias`" = $$tool; then rm -f $$alias; fi; \
	done

# Manual pages.  Those of the tools are made from --help and man/TOOL.h2m, and committed: `make man`
# renews them.  No rule ties a page to its sources, because the file times of a fresh clone would
# have anyone's build rewrite it; tests/tools/man.bats tells when one is out of date.

TOOL_PAGES = \
	man/accelsift.1 \
	man/chi2sig.1 \
	man/ddplan.1 \
	man/fakebin.1 \
	man/fbedit.1 \
	man/frbbeam.1 \
	man/gpuaccel-pulscan.1 \
	man/gpudedisp.1 \
	man/gpudigifil.1 \
	man/gpuffa.1 \
	man/gpufold.1 \
	man/gpurfifind.1 \
	man/psrinject.1 \
	man/psrpresto.1 \
	man/psrreport.1 \
	man/psrsearch.1 \
	man/spcoincidence.1

dist_man_MANS += \
	$(TOOL_PAGES) \
	man/psrkit-formats.5 \
	man/psrkit.7
EXTRA_DIST += $(TOOL_PAGES:.1=.h2m)

man_folder = $(srcdir)/man
man: $(bin_PROGRAMS)
	@test -n '$(HELP2MAN)' || { echo 'make man needs help2man' >&2; exit 1; }
	@for page in $(TOOL_PAGES); do \
	    tool=`basename $$page .1`; \
	    $(HELP2MAN) --no-info --source='psrkit $(PACKAGE_VERSION)' --include=$(srcdir)/man/$$tool.h2m \
	        --output=$(man_folder)/$$tool.1 bin/$$tool || exit 1; \
	done
.PHONY: man

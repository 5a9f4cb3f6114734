# Published bands and plans, each with its source: examples for ddplan and gpudedisp.

surveysdir = $(pkgdatadir)/surveys
dist_surveys_DATA = \
	data/surveys/chord.plan \
	data/surveys/htru.plan \
	data/surveys/magro-table4.plan \
	data/surveys/magro-table5.plan \
	data/surveys/novotny-table2.plan \
	data/surveys/novotny-table3-high.plan \
	data/surveys/novotny-table3-low.plan \
	data/surveys/novotny-table3-mid.plan \
	data/surveys/pulscan-gmrt.plan \
	data/surveys/pulscan-synthetic.plan

# Arrays of dishes, for frbbeam and fakebin.
arraysdir = $(pkgdatadir)/arrays
dist_arrays_DATA = \
	data/arrays/README \
	data/arrays/chord-pathfinder-8x12.array \
	data/arrays/chord-pathfinder-8x8.array \
	data/arrays/chord.array \
	data/arrays/hirax-16x16.array \
	data/arrays/hirax-16x20.array

# Completion in shells, which look for a file of the tool's name: links to one.  @TOOLS@ are all tools, and PRESTO's names.
completions = data/completions/psrkit.bash data/completions/psrkit.fish data/completions/psrkit.zsh
EXTRA_DIST += $(completions)
completed = $(bin_PROGRAMS:bin/%=%) $(foreach pair,$(tool_aliases),$(firstword $(subst :, ,$(pair))))
bash_completions = $(datadir)/bash-completion/completions
fish_completions = $(datadir)/fish/vendor_completions.d
zsh_completions = $(datadir)/zsh/site-functions
fill_completion = sed 's/@TOOLS@/$(completed)/'
install-data-hook: install-completions
install-completions:
	@$(MKDIR_P) '$(DESTDIR)$(bash_completions)' '$(DESTDIR)$(fish_completions)' '$(DESTDIR)$(zsh_completions)'
	@$(fill_completion) '$(srcdir)/data/completions/psrkit.bash' >'$(DESTDIR)$(bash_completions)/psrkit'
	@$(fill_completion) '$(srcdir)/data/completions/psrkit.fish' >'$(DESTDIR)$(fish_completions)/psrkit.fish'
	@$(fill_completion) '$(srcdir)/data/completions/psrkit.zsh' >'$(DESTDIR)$(zsh_completions)/_psrkit'
	@for tool in $(completed); do \
	    ln -sf psrkit '$(DESTDIR)$(bash_completions)/'$$tool; \
	    ln -sf psrkit.fish '$(DESTDIR)$(fish_completions)/'$$tool.fish; \
	done
uninstall-hook:
	@cd '$(DESTDIR)$(bash_completions)' 2>/dev/null && rm -f psrkit $(completed) || :
	@cd '$(DESTDIR)$(fish_completions)' 2>/dev/null && rm -f psrkit.fish $(completed:=.fish) || :
	@rm -f '$(DESTDIR)$(zsh_completions)/_psrkit'
.PHONY: install-completions

# A JSON Schema of a row of each list, made from the table of columns.
schemasdir = $(pkgdatadir)/schemas
list_schemas = accel bursts.jsonl cand ffa.csv fold.json pulses.csv pulses.jsonl sift.csv sift.jsonl singlepulse steps.jsonl
schemas_DATA = $(list_schemas:%=data/schemas/%.schema.json)
schema_sources = data/schemas/columns.txt data/schemas/make_schemas.awk
EXTRA_DIST += $(schema_sources)
CLEANFILES += $(schemas_DATA)
$(schemas_DATA): data/schemas/.made
data/schemas/.made: $(schema_sources)
	@$(MKDIR_P) data/schemas
	$(AM_V_GEN)$(AWK) -v folder=data/schemas -f $(srcdir)/data/schemas/make_schemas.awk $(srcdir)/data/schemas/columns.txt && touch $@
CLEANFILES += data/schemas/.made

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

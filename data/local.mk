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

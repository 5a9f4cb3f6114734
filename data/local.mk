# Published bands and plans, each with its source: examples for ddplan and gpudedisp.

surveysdir = $(pkgdatadir)/surveys
dist_surveys_DATA =

# The Python package, which pip builds against an installed library; tests/tools/python.bats does so in make check.
EXTRA_DIST += \
	python/MANIFEST.in \
	python/README.md \
	python/declarations.py \
	python/check_wheel.sh \
	python/make_wheel.sh \
	python/pyproject.toml \
	python/setup.py \
	python/notebooks/burst.py \
	python/notebooks/first_search.py \
	python/notebooks/fold.py \
	python/notebooks/interference.py \
	python/notebooks/make_pages.py \
	python/notebooks/recall.py \
	python/notebooks/timing.py \
	python/psrkit/__init__.py \
	python/psrkit/_arrays.py \
	python/psrkit/_dedispersion.py \
	python/psrkit/_ffa.py \
	python/psrkit/_files.py \
	python/psrkit/_folding.py \
	python/psrkit/_interference.py \
	python/psrkit/_library.py \
	python/psrkit/_lists.py \
	python/psrkit/_observation.py \
	python/psrkit/_periods.py \
	python/psrkit/_pictures.py \
	python/psrkit/_program.py \
	python/psrkit/_pulses.py \
	python/psrkit/_synthetic.py \
	python/psrkit/_table.py \
	python/psrkit/py.typed \
	python/tests/conftest.py \
	python/tests/test_declarations.py \
	python/tests/test_dedispersion.py \
	python/tests/test_folding.py \
	python/tests/test_hostile.py \
	python/tests/test_interference.py \
	python/tests/test_lists.py \
	python/tests/test_notebooks.py \
	python/tests/test_observation.py \
	python/tests/test_periods.py \
	python/tests/test_pictures.py \
	python/tests/test_pulses.py

# Makes a wheel in a bare Debian 11, and tests it in bare Debians, without the sources and a compiler.
check-wheel: dist
	$(srcdir)/python/check_wheel.sh $(distdir).tar.gz wheels
.PHONY: check-wheel

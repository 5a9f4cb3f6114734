# The Python package, which pip builds against an installed library; tests/tools/python.bats does so in make check.
EXTRA_DIST += \
	python/MANIFEST.in \
	python/README.md \
	python/declarations.py \
	python/pyproject.toml \
	python/setup.py \
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
	python/tests/test_observation.py \
	python/tests/test_periods.py \
	python/tests/test_pictures.py \
	python/tests/test_pulses.py

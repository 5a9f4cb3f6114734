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
	python/psrkit/_library.py \
	python/psrkit/_observation.py \
	python/psrkit/_table.py \
	python/psrkit/py.typed \
	python/tests/conftest.py \
	python/tests/test_declarations.py \
	python/tests/test_dedispersion.py \
	python/tests/test_observation.py

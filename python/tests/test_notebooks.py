"""The notebooks run, and pages are made of them."""
import glob
import os

import pytest

from conftest import takes_long

HERE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "notebooks")
NAMES = sorted(os.path.basename(path)[:-3] for path in glob.glob(os.path.join(HERE, "*.py")) if not path.endswith("make_pages.py"))
SHORT = ("burst", "interference", "recall")


@pytest.mark.skipif(not NAMES, reason="there are no notebooks here")
@pytest.mark.parametrize("name", [pytest.param(name, marks=() if name in SHORT else takes_long) for name in NAMES])
def test_notebook(name, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(HERE)
    import make_pages

    make_pages.make_page(os.path.join(HERE, name + ".py"), str(tmp_path))
    page = (tmp_path / (name + ".md")).read_text()
    assert page.startswith("# ") and "```python" in page and "    " in page

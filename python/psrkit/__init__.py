"""psrkit: searches radio-telescope data for pulsars and fast radio bursts.  Arrays in, arrays out.

    obs = psrkit.open("x.fil")
    series = psrkit.dedisperse(obs, psrkit.plan(obs, dm_max=500).dms)
"""
from ._constants import DMCONST_PRESTO, DMCONST_SIGPROC
from ._dedispersion import Plan, dedisperse, delay_s, plan
from ._ffa import ffa
from ._files import write_filterbank
from ._folding import Fold, fold, read_pfd
from ._interference import Cleaned, Interference, Mask, clean, find_interference, make_mask, read_mask
from ._library import (DeviceError, Error, FileError, FormatError, InvalidError, NoMemoryError, StoppedError, UnknownNameError,
                       UnsupportedError, library_path, library_version)
from ._lists import (Report, read_accel, read_csv, read_inf, read_jsonl, read_pulses, read_report, read_series, write_inf, write_pulses,
                     write_series)
from ._observation import Observation, from_array, open
from ._periods import search_periods
from ._pictures import plot_fold, plot_plane, plot_waterfall
from ._program import run
from ._pulses import search_pulses
from ._synthetic import FakeObservation, burst, fake, pulsar, rfi
from ._table import Table

__all__ = [name for name in dir() if not name.startswith("_")]
__version__ = library_version

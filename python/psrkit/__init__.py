"""psrkit: searches radio-telescope data for pulsars and fast radio bursts.  Arrays in, arrays out.

    obs = psrkit.open("x.fil")
    series = psrkit.dedisperse(obs, psrkit.plan(obs, dm_max=500).dms)
"""
from ._constants import DMCONST_PRESTO, DMCONST_SIGPROC
from ._dedispersion import Plan, dedisperse, delay_s, plan
from ._library import (DeviceError, Error, FileError, FormatError, InvalidError, NoMemoryError, StoppedError, UnsupportedError,
                       library_path, library_version)
from ._observation import Observation, from_array, open
from ._table import Table

__version__ = library_version

#!/usr/bin/env python3
"""Whether a .par file gives the same phases as in PINT, at times of the barycentre (site @).

    tests/science/par_pint.py LIBPSRKIT [CASES [SEED]] >par_pint.txt

LIBPSRKIT is libpsrkit.so; PINT is installed.  For each kind draws CASES (default 20) pulsars and observations of up to four
hours, with orbits of 0.1 to 100 days, and prints the largest difference of phase, since the first of 50 times, over the
frequency, and the median of the cases.  The position of the Sun is not needed at site @ and is set to 0, so that no
file of JPL is read."""
import ctypes
import random
import statistics
import sys
import tempfile
import warnings

warnings.simplefilter("ignore")
import astropy.units as u
import numpy as np
import pint.logging
import pint.toa
from pint.models import get_model
from pint.utils import PosVel

pint.logging.setup(level="ERROR")
TIMES = 50


def no_planets(obj, t, ephem=None, *a, **k):
    return PosVel(np.zeros((3, len(t))) * u.km, np.zeros((3, len(t))) * u.km / u.s, origin="ssb", obj=obj)


pint.toa.objPosVel_wrt_SSB = no_planets
pint.toa.load_kernel = lambda *a, **k: None


def spin(r, date):
    return {"PSR": "J0000+0000", "RAJ": "05:00:00", "DECJ": "10:00:00", "F0": "%.12f" % 10 ** r.uniform(-.3, 2.7), "F1": "%.6e" % -10 ** r.uniform(-16, -12),
            "PEPOCH": "%.3f" % (date - r.uniform(-800, 800)), "UNITS": "TDB", "EPHEM": "DE440"}


def orbit(r, date, name):
    pb = 10 ** r.uniform(-1, 2)
    # About a companion of a solar mass, edge on, and lighter ones.
    p = {"BINARY": name, "PB": "%.12f" % pb, "A1": "%.9f" % (r.uniform(.1, 1) * 4.6 * pb ** (2 / 3)), "T0": "%.9f" % (date - r.uniform(0, 300)),
         "ECC": "%.9f" % r.uniform(0, .8), "OM": "%.7f" % r.uniform(0, 360)}
    return p


def eccentric(name, **more):
    def make(r, date):
        p = {**spin(r, date), **orbit(r, date, name)}
        p.update({k: v(r, p) for k, v in more.items()})
        return p
    return make


def laplace(name):
    def make(r, date):
        p = {**spin(r, date), **orbit(r, date, name)}
        p["TASC"] = p.pop("T0")
        for k in ("ECC", "OM"):
            del p[k]
        # PINT's model is of the third order in the eccentricity, psrkit's Kepler's.
        return {**p, "EPS1": "%.3e" % r.uniform(-1e-5, 1e-5), "EPS2": "%.3e" % r.uniform(-1e-5, 1e-5)}
    return make


def glitches(r, date):
    p = spin(r, date)
    for k in (1, 2):
        p.update({"GLEP_%d" % k: "%.5f" % (date - r.uniform(1, 500)), "GLPH_%d" % k: "0", "GLF0_%d" % k: "%.4e" % 10 ** r.uniform(-9, -5),
                  "GLF1_%d" % k: "%.4e" % -10 ** r.uniform(-16, -13), "GLF0D_%d" % k: "%.4e" % 10 ** r.uniform(-9, -6), "GLTD_%d" % k: "%.3f" % r.uniform(5, 200)})
    return p


def in_tcb(make):
    return lambda r, date: {**make(r, date), "UNITS": "TCB"}


KINDS = {
    "isolated": spin,
    "isolated, TCB": in_tcb(spin),
    "glitches": glitches,
    "BT": eccentric("BT"),
    "BT, TCB": in_tcb(eccentric("BT")),
    "BT, GAMMA, PBDOT, OMDOT": eccentric("BT", GAMMA=lambda r, p: "%.4e" % r.uniform(0, .01), PBDOT=lambda r, p: "%.3e" % r.uniform(-5e-12, 5e-12),
                                         OMDOT=lambda r, p: "%.4f" % r.uniform(0, 5)),
    "BTX": eccentric("BTX", FB0=lambda r, p: "%.15e" % (1 / (float(p.pop("PB")) * 86400)), FB1=lambda r, p: "%.3e" % r.uniform(-1e-19, 1e-19)),
    "DD": eccentric("DD"),
    "DD, GAMMA, OMDOT": eccentric("DD", GAMMA=lambda r, p: "%.4e" % r.uniform(0, .01), OMDOT=lambda r, p: "%.4f" % r.uniform(0, 5)),
    "DDS": eccentric("DDS", SHAPMAX=lambda r, p: "%.3f" % r.uniform(0, 5), M2=lambda r, p: "0"),
    "DDK": eccentric("DDK", KIN=lambda r, p: "%.3f" % r.uniform(30, 80), KOM=lambda r, p: "%.3f" % r.uniform(0, 360), PMRA=lambda r, p: "%.3f" % r.uniform(-50, 50),
                     PMDEC=lambda r, p: "%.3f" % r.uniform(-50, 50), PX=lambda r, p: "1", M2=lambda r, p: "0", K96=lambda r, p: "Y"),
    "ELL1": laplace("ELL1"),
    "ELL1H": laplace("ELL1H"),
}


def write(path, p):
    with open(path, "w") as f:
        f.writelines("%s %s\n" % kv for kv in p.items())


def phases_of_psrkit(lib, path, date, t_s):
    e, local, err = (ctypes.create_string_buffer(1 << 16) for k in range(3))
    if lib.psr_ephemeris_read(e, path.encode(), err) or lib.psr_ephemeris_at(local, e, ctypes.c_double(date), err):
        raise ValueError(max(err.raw.split(b"\0"), key=len).decode(errors="replace"))
    return np.array([lib.psr_ephemeris_turns(local, ctypes.c_longdouble(lib.psr_ephemeris_emission_s(local, ctypes.c_double(t)))) for t in t_s])


def phases_of_pint(path, date, t_s):
    toas = pint.toa.get_TOAs_array((np.full(len(t_s), date), t_s / 86400), obs="@", freqs=np.inf * u.MHz, errors=1 * u.us, ephem="DE440", planets=False)
    phase = get_model(path, allow_tcb=True).phase(toas, abs_phase=False)
    whole = phase.int.value - phase.int.value[0]
    return (whole + (phase.frac.value - phase.frac.value[0])).astype(float)


def compare(lib, make, r):
    date = r.randrange(50000, 60000)
    p = make(r, date)
    t_s = np.sort(np.array([r.uniform(0, 4 * 3600) for k in range(TIMES)]))
    with tempfile.TemporaryDirectory() as d:
        path = d + "/a.par"
        write(path, p)
        ours = phases_of_psrkit(lib, path, date, t_s)
        if p.get("BINARY") == "BTX":  # which PINT calls BT
            write(path, {**p, "BINARY": "BT"})
        theirs = phases_of_pint(path, date, t_s)
    return np.abs(ours - ours[0] - theirs).max() / float(p["F0"]) * 1e6


def main():
    lib = ctypes.CDLL(sys.argv[1])
    lib.psr_ephemeris_emission_s.restype = ctypes.c_double
    lib.psr_ephemeris_turns.restype = ctypes.c_longdouble
    cases = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    print("PINT %s, seed %d, %d pulsars each: differences in us" % (pint.__version__, seed, cases))
    print("%-28s %10s %10s" % ("", "largest", "median"))
    for name, make in KINDS.items():
        r = random.Random("%d %s" % (seed, name))
        try:
            us = [compare(lib, make, r) for k in range(cases)]
            print("%-28s %10.4f %10.4f" % (name, max(us), statistics.median(us)), flush=True)
        except (ValueError, NotImplementedError) as why:
            print("%-28s not compared: %s" % (name, why), flush=True)


main()

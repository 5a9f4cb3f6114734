#!/usr/bin/env python3
"""Dedisperses an array from Python with libpsrkit.so, as tests/example.c does in C.

Usage: example.py LIBRARY.  The fields below are those of struct psr_dedisp_desc in psrkit/experimental/dedisp.h.
"""
import ctypes
import sys
from ctypes import POINTER, byref, c_char, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_ubyte, c_void_p

NCHAN, NSAMP, NDM = 256, 8192, 3
DMCONST_PRESTO = 1 / 2.41e-4  # MHz^2 s
UINT = 0


class Err(ctypes.Structure):
    _fields_ = [("code", c_int), ("field", c_char * 64), ("msg", c_char * 512)]


class DedispDesc(ctypes.Structure):
    _fields_ = [
        ("size", c_size_t), ("nchan", c_size_t), ("freq_mhz", POINTER(c_double)), ("tsamp_s", c_double), ("nbit", c_int),
        ("kind", c_int), ("downsamp", c_size_t), ("dmconst", c_double), ("ndm", c_size_t),
        ("dm", POINTER(c_double)), ("keep", POINTER(c_ubyte)), ("algo", c_int), ("tol", c_int),
        ("nsub", c_size_t), ("nthread", c_int), ("mem_bytes", c_int64), ("backend", c_char_p),
        ("device", c_int), ("devices", POINTER(c_int)), ("ndevice", c_size_t)]


def main(path):
    psr = ctypes.CDLL(path)
    psr.psr_delay_samples.restype = c_int64
    psr.psr_delay_samples.argtypes = [c_double] * 5
    psr.psr_version.restype = c_char_p
    tsamp_s = 256e-6
    freq_mhz = (c_double * NCHAN)(*[1500 - c for c in range(NCHAN)])
    dm = (c_double * NDM)(0, 50, 100)
    x = (c_ubyte * (NSAMP * NCHAN))()
    for c in range(NCHAN):  # a pulse of DM 50, at t = 1000 in the highest channel
        x[(1000 + psr.psr_delay_samples(DMCONST_PRESTO, 50, freq_mhz[c], 1500, tsamp_s)) * NCHAN + c] = 1
    series = (c_float * (NDM * NSAMP))()

    desc = DedispDesc(size=ctypes.sizeof(DedispDesc), nchan=NCHAN, freq_mhz=freq_mhz, tsamp_s=tsamp_s, nbit=8, kind=UINT, downsamp=1,
                      dmconst=DMCONST_PRESTO, ndm=NDM, dm=dm)
    err, plan, n = Err(), c_void_p(), c_size_t()
    if (psr.psr_dedisp_create(byref(plan), byref(desc), byref(err)) or
            psr.psr_dedisp_execute(plan, x, c_size_t(NSAMP), series, c_size_t(NSAMP), byref(n), byref(err))):
        sys.exit("example.py: " + err.msg.decode())
    for i in range(NDM):
        row = series[i * NSAMP:i * NSAMP + n.value]
        best = max(range(n.value), key=row.__getitem__)
        print("DM %3.0f: %3.0f at sample %d of %d" % (dm[i], row[best], best, n.value))
    psr.psr_dedisp_destroy(plan)


main(sys.argv[1])

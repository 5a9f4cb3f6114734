"""The .inf file of a series that a script has made."""

INF = """ Data file name without suffix          =  {root}
 Telescope used                         =  GBT
 Instrument used                        =  unset
 Object being observed                  =  {made}
 J2000 Right Ascension (hh:mm:ss.ssss)  =  00:00:00.0000
 J2000 Declination     (dd:mm:ss.ssss)  =  00:00:00.0000
 Data observed by                       =  unset
 Epoch of observation (MJD)             =  56000.000000000000000
 Barycentered?           (1 yes, 0 no)  =  0
 Number of bins in the time series      =  {n}
 Width of each time series bin (sec)    =  {dt}
 Any breaks in the data? (1 yes, 0 no)  =  0
 Type of observation (EM band)          =  Radio
 Beam diameter (arcsec)                 =  540
 Dispersion measure (cm-3 pc)           =  {dm}
 Central freq of low channel (MHz)      =  1376
 Total bandwidth (MHz)                  =  128
 Number of channels                     =  32
 Channel bandwidth (MHz)                =  4
 Data analyzed by                       =  nobody
 Any additional notes:
    {note}
"""


def describe(root, n, dt, made, dm=50, note="synthetic\n"):
    """Its text, for n samples of dt seconds."""
    return INF.format(root=root, n=n, dt=dt, made=made, dm=dm, note=note)

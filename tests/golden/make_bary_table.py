#!/usr/bin/env python3
"""Writes bary_table.txt: barycentric times by astropy with its built-in ephemeris.

Needs astropy.  Each line is

  SITE  RA  DEC  DAY  FRAC  DELAY  SHAPIRO  VOVERC

SITE is a telescope or LON,LAT,H; RA and DEC are degrees; DAY + FRAC is the MJD in UTC; DELAY is TDB at
the barycentre less UTC in seconds, without the solar Shapiro delay; SHAPIRO is that delay, computed here
from astropy's positions because astropy leaves it out; VOVERC is the rate of both over two minutes.
"""
import numpy as np
from astropy import constants, units as u
from astropy.coordinates import EarthLocation, SkyCoord, get_body_barycentric, solar_system_ephemeris
from astropy.time import Time, TimeDelta
from astropy.utils import iers

iers.conf.auto_download = False
iers.conf.iers_degraded_accuracy = "warn"
solar_system_ephemeris.set("builtin")

# Metres on the axes of the ITRS, from TEMPO's and tempo2's lists.
TELESCOPES = {
    "GBT": (882589.289, -4924872.368, 3943729.418),
    "Arecibo": (2390487.080, -5564731.357, 1994720.633),
    "VLA": (-1601192.0, -5041981.4, 3554871.4),
    "Parkes": (-4554231.5, 2816759.1, -3454036.3),
    "Jodrell": (3822626.04, -154105.65, 5086486.04),
    "GB43m": (882872.57, -4924552.73, 3944154.92),
    "Nancay": (4324165.81, 165927.11, 4670132.83),
    "Effelsberg": (4033949.5, 486989.4, 4900430.8),
    "SRT": (4865182.766, 791922.689, 4035137.174),
    "FAST": (-1668557.0, 5506838.0, 2744934.0),
    "WSRT": (3828445.659, 445223.600, 5064921.5677),
    "GMRT": (1656342.30, 5797947.77, 2073243.16),
    "CHIME": (-2059166.313, -3621302.972, 4814304.113),
    "LOFAR": (3826577.462, 461022.624, 5064892.526),
    "LWA1": (-1602196.60, -5042313.47, 3553971.51),
    "MWA": (-2559454.08, 5095372.14, -2849057.18),
    "MeerKAT": (5109360.133, 2006852.586, -3238948.127),
    "ATA": (-2524263.18, -4123529.78, 4147966.36),
    "KAT-7": (5109943.1050, 2003650.7359, -3239908.3195),
    "Geocenter": (0.0, 0.0, 0.0),
}


def delays(utc, tt_utc_s, place, source):
    """TDB - UTC at the barycentre without the Shapiro delay, and that delay, in seconds.

    Time.light_travel_time is not used: it sends the site's place through astropy's frames as if it were a
    star, and aberration moves it by v/c of the Earth's radius, which makes up to 2.1 us.
    """
    tt, tdb = utc.tt, utc.tdb
    tdb_tt_s = ((tdb.jd1 - tt.jd1) + (tdb.jd2 - tt.jd2)) * 86400
    site = get_body_barycentric("earth", utc) + place.get_gcrs_posvel(utc)[0]
    roemer_s = (site.dot(source.cartesian) / constants.c).to_value(u.s)
    sun = site - get_body_barycentric("sun", utc)
    s = sun.norm().to_value(u.au)
    along = sun.dot(source.cartesian).to_value(u.au)
    radius_s = (2 * constants.G * constants.M_sun / constants.c**3).to_value(u.s)
    return tt_utc_s + tdb_tt_s + roemer_s, radius_s * np.log(s + along)


def row(site, place, source, day, frac):
    utc = Time(day, frac, format="mjd", scale="utc", location=place)
    tt = utc.tt
    tt_utc_s = ((tt.jd1 - utc.jd1) + (tt.jd2 - utc.jd2)) * 86400
    delay, shapiro = delays(utc, tt_utc_s, place, source)
    minute = TimeDelta(60, format="sec")
    before, after = delays(utc - minute, 0, place, source), delays(utc + minute, 0, place, source)
    voverc = (sum(before) - sum(after)) / 120
    return (f"{site} {source.ra.deg:.9f} {source.dec.deg:.9f} {day} {frac:.15f} "
            f"{delay:.9f} {shapiro:.9f} {voverc:.6e}")


def main():
    random = np.random.default_rng(20260417)
    sites = list(TELESCOPES)
    with open("bary_table.txt", "w") as out:
        for k in range(100):
            if k < len(sites):
                site, place = sites[k], EarthLocation.from_geocentric(*TELESCOPES[sites[k]], unit=u.m)
            else:
                lon, lat = random.uniform(-180, 180), np.degrees(np.arcsin(random.uniform(-1, 1)))
                height = random.uniform(-100, 5000)
                site = f"{lon:.6f},{lat:.6f},{height:.2f}"
                place = EarthLocation.from_geodetic(*[float(v) for v in site.split(",")])
            ra, dec = random.uniform(0, 360), np.degrees(np.arcsin(random.uniform(-1, 1)))
            source = SkyCoord(round(ra, 9), round(dec, 9), unit="deg")
            day, frac = int(random.integers(44239, 61000)), round(random.uniform(0, 1), 12)
            out.write(row(site, place, source, day, frac) + "\n")


main()

/* units.h: unit conversions. */
#ifndef PSRKIT_UNITS_H
#define PSRKIT_UNITS_H

#define PSR_DAY_S     86400.0
#define PSR_LIGHT_M_S 299792458.0

#endif

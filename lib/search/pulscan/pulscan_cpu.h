/* pulscan_cpu.h: the search of one spectrum's powers, tile by tile (private). */
#ifndef PSR_SEARCH_PULSCAN_CPU_H
#define PSR_SEARCH_PULSCAN_CPU_H

#include "pulscan_search.h"

enum { PSR_TILE = 4096 }; /* starts */

/* Floats of work that a tile needs. */
size_t psr_tile_work(const struct psr_pulscan_search *s);

/* Searches starts first .. first + PSR_TILE - 1 of a harmonic sum.
 * Given:    sum   s_H, zero for PSR_TILE + zmax bins beyond its end; harm   index of H
 * Returned: found, with what peaks there are; spec of each is 0 */
PSR_MUST_CHECK psr_status psr_tile_search(const struct psr_pulscan_search *s, size_t harm,
                                          const float *sum, int64_t first, float *work,
                                          struct psr_pulscan_found *found, psr_err *err);

#endif

/* measure_notes.h: which candidates are harmonics of better ones (private). */
#ifndef PSR_SEARCH_MEASURE_NOTES_H
#define PSR_SEARCH_MEASURE_NOTES_H

#include <psrkit/accel.h>

/* Notes "H 35 of Cand 2", or "H 7/2 of Cand 1", where a candidate's frequency is such a multiple of
 * that of a better one (cand, best first, counted from 1) and chance would bring it there less than
 * one time in 50.  Notes that are there stay. */
void psr_measure_note_harmonics(struct psr_accel_cand *cand, size_t n);

#endif

/* series_name.h: file names of series (private). */
#ifndef PSR_FORMATS_SERIES_SERIES_NAME_H
#define PSR_FORMATS_SERIES_SERIES_NAME_H

#include <psrkit/series.h>

/* ROOT_DM12.50, without suffix; ROOT, without decimals. */
void psr_series_stem(char stem[PSR_TEXT_MAX], const char *root, double dm, int decimals);

/* The DM at text: digits, and after a point more digits.
 * Returned: number of decimals, *dm; -1 if text is no such number, or it is 1e6 or more */
int psr_series_read_dm(const char *text, double *dm);

/* The number after the last "DM" that has one in a path's last part; NULL if none has. */
const char *psr_series_dm_text(const char *path);

/* The DM in the name of a series, its list or its .inf.
 * Returned: as psr_series_read_dm(); -1 if the name has none */
int psr_series_find_dm(const char *path, double *dm);

/* What of a series is searched: the whole, or part number of this many equal ones. */
struct psr_segment {
    int number, of; /* 1, 1: the whole */
};

/* Whole, halves and quarters, in this order. */
enum { PSR_SEGMENTS = 7 };
struct psr_segment psr_segment_of(size_t k);

/* ROOT_DM12.50_seg1of2 from ROOT_DM12.50; the whole keeps its name. */
void psr_segment_name(char stem[PSR_TEXT_MAX], struct psr_segment segment);

/* The segment in the name of a list: "_segKofN" after its DM. */
struct psr_segment psr_segment_find(const char *path);

/* True if the root is "-", standard output. */
bool psr_series_to_stdout(const char *root);

/* Sampling time of trial i. */
double psr_series_tsamp_s(const struct psr_series_desc *desc, size_t i);

#endif

/* sift_made.h: lists of candidates for tests of sifting, without files. */
#ifndef PSR_SIFT_MADE_H
#define PSR_SIFT_MADE_H

#include <psrkit/experimental/sift.h>

#include "tap.h"

#include <string.h>

enum { MOST_LISTS = 24, MOST_ROWS = 20, MOST_HARM = 16, MOST_ALL = MOST_LISTS * MOST_ROWS };

/* A list with the storage of its rows. */
struct made {
    struct psr_accel_rows rows;
    struct psr_accel_row row[MOST_ROWS];
    double power[MOST_ROWS][MOST_HARM];
    double dm;
    char path[64];
};

__attribute__((unused)) static void begin_list(struct made *m, double dm, double tobs_s)
{
    *m = (struct made){.dm = dm};
    m->rows.row = m->row;
    m->rows.tobs_s = tobs_s;
    snprintf(m->path, sizeof m->path, "nowhere/m_DM%.2f_T%.0f_ACCEL_0", dm, tobs_s);
}

__attribute__((unused)) static void set_band(struct made *m, double low_mhz, double high_mhz)
{
    m->rows.inf.nchan = 64;
    m->rows.inf.chan_width_mhz = (high_mhz - low_mhz) / 64;
    m->rows.inf.lowest_mhz = low_mhz + m->rows.inf.chan_width_mhz / 2;
}

__attribute__((unused)) static void add_row(struct made *m, double r, double coherent, int nharm,
                                            const double *power)
{
    const size_t i = m->rows.n++;
    memcpy(m->power[i], power, (size_t)nharm * sizeof *power);
    m->row[i] = (struct psr_accel_row){.number = (int64_t)i + 1,
                                       .r = r,
                                       .z = 4,
                                       .coherent = coherent,
                                       .nharm = nharm,
                                       .harm_power = m->power[i]};
}

/* Sifts the lists in this order, and hands the object over. */
__attribute__((unused)) static psr_sift *sift(const struct made *m, const size_t *order, size_t n,
                                              const struct psr_sift_desc *d,
                                              struct psr_sift_result *result)
{
    psr_sift *s = NULL;
    psr_err err = {.msg = ""};
    psr_status st = psr_sift_create(&s, d, &err);
    for (size_t i = 0; i < n && !st; i++) {
        const struct made *one = &m[order ? order[i] : i];
        st = psr_sift_add(s, &one->rows, one->path, one->dm, &err);
    }
    if (!st)
        st = psr_sift_execute(s, result, &err);
    if (st) {
        ok(false, "sift: %s", err.msg);
        exit(EXIT_FAILURE);
    }
    return s;
}

#endif

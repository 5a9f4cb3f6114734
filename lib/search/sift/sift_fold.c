/* Detections of a fast folding search, as a Fourier search would list them. */
#include "sift_curve.h"
#include "sift_state.h"

#include "formats/lists/lists_internal.h"
#include "formats/series/series_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int count_harmonics(double duty)
{
    const double n = duty > 0 ? floor(psr_sift_fold_share / duty) : PSR_ACCEL_LIST_MAX_HARM;
    return n < 1 ? 1 : n < PSR_ACCEL_LIST_MAX_HARM ? (int)n : PSR_ACCEL_LIST_MAX_HARM;
}

static double boxcar_power(double x)
{
    return x > 0 ? pow(sin(M_PI * x) / (M_PI * x), 2) : 1;
}

void psr_sift_make_harmonics(struct psr_accel_row *row, double *power)
{
    const int n = count_harmonics(row->fold_duty);
    const double above = psr_sift_power_of(row->fold_snr, n) - n;
    double sum = 0;
    for (int h = 1; h <= n; h++)
        sum += power[h - 1] = boxcar_power(h * row->fold_duty);
    for (int h = 0; h < n; h++)
        power[h] = 1 + above * power[h] / sum;
    row->nharm = n;
    row->harm_power = power;
}

/* --- lists --------------------------------------------------------------------------------- */

enum { FEWEST_DECIMALS = 2, MOST_DECIMALS = 6 };

/* The decimals of a DM. */
static int count_decimals(double dm)
{
    int n = FEWEST_DECIMALS;
    while (n < MOST_DECIMALS && fabs(dm * pow(10, n) - rint(dm * pow(10, n))) > 1e-4)
        n++;
    return n;
}

/* The name of one DM's part of a list: ROOT_DM12.50_ffa.csv of ROOT_ffa.csv; a list of one DM has that name. */
static char *name_part(const char *path, double dm)
{
    const int stem = (int)(strlen(path) - strlen("_ffa.csv"));
    char *name = NULL;
    double own;
    if (psr_series_find_dm(path, &own) >= 0 &&
        psr_sift_dm_key(own, false) == psr_sift_dm_key(dm, false))
        return strdup(path);
    return asprintf(&name, "%.*s_DM%.*f_ffa.csv", stem, path, count_decimals(dm), dm) < 0 ? NULL
                                                                                          : name;
}

psr_status psr_sift_read_ffa(struct psr_sift *s, const char *path, psr_sift_take_list *take,
                             psr_err *err)
{
    struct psr_ffa_detections list;
    psr_status st = psr_ffa_list_read(&list, path, err);
    for (size_t i = 0, end; i < list.n && !st; i = end) {
        end = i + 1;
        while (end < list.n &&
               psr_sift_dm_key(list.hit[end].dm, false) == psr_sift_dm_key(list.hit[i].dm, false))
            end++;
        /* Adds the n detections of one DM. */
        const struct psr_ffa_detection *hit = list.hit + i;
        size_t n = end - i;
        struct psr_accel_rows rows = {
            .row = calloc(n, sizeof *rows.row), .n = n, .tobs_s = list.tobs_s, .inf = list.inf};
        char *name = name_part(path, hit->dm);
        st = name && rows.row ? PSR_OK : psr_fail_nomem(err, path, (double)n);
        rows.inf.dm = hit->dm;
        for (size_t k = 0; k < n && !st; k++)
            rows.row[k] = (struct psr_accel_row){.number = hit[k].number,
                                                 .r = hit[k].freq_hz * list.tobs_s,
                                                 .fold_snr = hit[k].snr,
                                                 .fold_duty = hit[k].duty};
        if (!st)
            st = take(s, &rows, name, hit->dm, err);
        if (!st)
            s->list[s->nlist - 1].dm_decimals = count_decimals(hit->dm);
        free(rows.row);
        free(name);
    }
    psr_ffa_detections_clear(&list);
    return st;
}

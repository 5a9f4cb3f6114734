/* Checks whether an identical earlier run completed the files of a trial. */
#include <psrkit/series.h>

#include "base/c_locale.h"
#include "base/obs_internal.h"
#include "series_internal.h"
#include "series_name.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { NUMBER_MAX = 40 };

/* Whether b is what a becomes when it is written with so many digits and read again. */
static bool reads_as(double a, double b, int digits)
{
    char text[2][NUMBER_MAX];
    psr_c_locale_snprintf(text[0], NUMBER_MAX, "%.*g", digits, a);
    psr_c_locale_snprintf(text[1], NUMBER_MAX, "%.*g", digits, b);
    return strcmp(text[0], text[1]) == 0;
}

static bool has_line(const char *notes, const char *line)
{
    size_t n = strlen(line);
    while (notes) {
        if (strncmp(notes, line, n) == 0 && (notes[n] == '\n' || notes[n] == '\0'))
            return true;
        notes = strchr(notes, '\n');
        notes = notes ? notes + 1 : NULL;
    }
    return false;
}

static bool is_described(const struct psr_series_desc *desc, size_t i, const struct psr_inf *inf)
{
    const double epoch_error_s = 2e-10; /* 15 decimals of a day, rounded twice */
    struct psr_mjd epoch = desc->epoch ? desc->epoch[i] : desc->obs->tstart;
    return reads_as(desc->dm[i], inf->dm, 12) &&
           reads_as(psr_series_tsamp_s(desc, i), inf->tbin_s, 15) &&
           fabs(psr_mjd_diff_s(epoch, inf->epoch)) <= epoch_error_s &&
           (!desc->each_note || has_line(inf->notes, desc->each_note[i]));
}

static bool is_earlier(struct timespec a, struct timespec b)
{
    return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

bool psr_series_exists(const struct psr_series_desc *desc, size_t i, struct timespec *made)
{
    char stem[PSR_TEXT_MAX], path[PSR_TEXT_MAX + 8];
    struct stat dat, text;
    struct psr_inf *inf = malloc(sizeof *inf);
    psr_series_stem(stem, desc->root, desc->dm[i], desc->dm_decimals);
    snprintf(path, sizeof path, "%s.dat", stem);
    bool exists = inf && stat(path, &dat) == 0 && S_ISREG(dat.st_mode);
    snprintf(path, sizeof path, "%s.inf", stem);
    exists = exists && stat(path, &text) == 0 && S_ISREG(text.st_mode) &&
             psr_inf_read(inf, path, NULL) == PSR_OK && is_described(desc, i, inf) &&
             inf->nbin <= INT64_MAX / (int64_t)sizeof(float) &&
             dat.st_size == inf->nbin * (int64_t)sizeof(float);
    if (exists)
        *made = is_earlier(dat.st_mtim, text.st_mtim) ? dat.st_mtim : text.st_mtim;
    free(inf);
    return exists;
}

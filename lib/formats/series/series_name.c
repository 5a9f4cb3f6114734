/* File names of series: builds them, checks them before any file is created, reads their DM. */
#include "series_internal.h"

#include "base/base.h"
#include "base/obs_internal.h"
#include "base/portable.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <psrkit/series.h>

enum { MIN_DECIMALS = 2, MAX_DECIMALS = 4, LABEL_MAX = 24 };
static const double max_dm = 1e6;

/* A trial's DM as text in its file name. */
struct label {
    char text[LABEL_MAX];
    size_t i;
};

PSR_COMPARE(compare_labels, struct label, PSR_THEN(strcmp(a->text, b->text), PSR_RISING(i)));

static void format_dm(char *text, double dm, int decimals)
{
    psr_c_locale_snprintf(text, LABEL_MAX, "%.*f", decimals, dm);
}

/* Returned: the first of two labels in order that are the same, or NULL. */
static const struct label *find_clash(struct label *label, const double *dm, size_t ndm,
                                      int decimals)
{
    for (size_t i = 0; i < ndm; i++) {
        label[i].i = i;
        format_dm(label[i].text, dm[i], decimals);
    }
    qsort(label, ndm, sizeof *label, compare_labels);
    for (size_t k = 1; k < ndm; k++)
        if (!strcmp(label[k].text, label[k - 1].text))
            return &label[k - 1];
    return NULL;
}

static psr_status check_names(const struct psr_series_desc *desc, psr_err *err)
{
    struct label *label = calloc(desc->ndm, sizeof *label);
    if (!label)
        return psr_fail_nomem(err, "file names", (double)desc->ndm * sizeof *label);
    psr_status st = PSR_OK;
    const struct label *clash = find_clash(label, desc->dm, desc->ndm, desc->dm_decimals);
    if (clash) {
        char text[LABEL_MAX], remedy[64] = "no number of decimals allowed tells all trials apart";
        double dm[2] = {desc->dm[clash[0].i], desc->dm[clash[1].i]};
        strcpy(text, clash->text);
        if (!(dm[0] < dm[1]) && !(dm[0] > dm[1]))
            strcpy(remedy, "a DM may be searched once");
        for (int d = desc->dm_decimals + 1; d <= MAX_DECIMALS; d++)
            if (!find_clash(label, desc->dm, desc->ndm, d)) {
                snprintf(remedy, sizeof remedy, "%d decimals tell all trials apart", d);
                break;
            }
        st = psr_fail_field(err, PSR_EINVAL, "dm_decimals",
                            "DMs %.12g and %.12g would both be %.200s_DM%s with %d decimals; %s",
                            dm[0], dm[1], desc->root, text, desc->dm_decimals, remedy);
    }
    free(label);
    return st;
}

bool psr_series_to_stdout(const char *root)
{
    return !strcmp(root, "-");
}

static psr_status check_root(const struct psr_series_desc *desc, psr_err *err)
{
    if (!*desc->root)
        return psr_fail_field(err, PSR_EINVAL, "root", "root of the output names is empty");
    if (psr_series_to_stdout(desc->root) && (desc->ndm != 1 || desc->format != PSR_SERIES_TIM))
        return psr_fail_field(err, PSR_EINVAL, "root",
                              "standard output takes one trial as .tim, not %zu as %s", desc->ndm,
                              desc->format == PSR_SERIES_TIM ? ".tim" : ".dat");
    return PSR_OK;
}

static void format_stem(char *stem, size_t room, const char *root, double dm, int decimals)
{
    char text[LABEL_MAX];
    format_dm(text, dm, decimals);
    if (decimals)
        snprintf(stem, room, "%s_DM%s", root, text);
    else
        snprintf(stem, room, "%s", root);
}

/* PRESTO reads only so much of an .inf file's name.  The highest DM has the longest name. */
static psr_status check_length(const struct psr_series_desc *desc, psr_err *err)
{
    struct psr_inf *inf = malloc(sizeof *inf);
    size_t room = strlen(desc->root) + LABEL_MAX + 4;
    char *stem = malloc(room);
    double highest = 0;
    for (size_t i = 0; i < desc->ndm; i++)
        highest = fmax(highest, desc->dm[i]);
    psr_status st = inf && stem ? PSR_OK : psr_fail_nomem(err, "file names", (double)room);
    if (!st) {
        format_stem(stem, room, desc->root, highest, desc->dm_decimals);
        st = psr_inf_set_name(inf, stem, err);
    }
    free(inf);
    free(stem);
    return st;
}

struct psr_output_group_desc psr_series_claim(const struct psr_series_desc *desc)
{
    struct psr_output_group_desc claim = {
        .size = sizeof claim, .root = desc->root, .kind = "DM", .first = INT64_MAX, .last = -1};
    const double unit = pow(10, desc->dm_decimals);
    for (size_t i = 0; i < desc->ndm; i++) {
        int64_t number = llround(rint(desc->dm[i] * unit) / unit * 1e4);
        claim.first = number < claim.first ? number : claim.first;
        claim.last = number > claim.last ? number : claim.last;
    }
    return claim;
}

double psr_series_tsamp_s(const struct psr_series_desc *desc, size_t i)
{
    return desc->each_tsamp_s ? desc->each_tsamp_s[i] : desc->tsamp_s;
}

psr_status psr_series_check(const struct psr_series_desc *desc, psr_err *err)
{
    if (desc->ndm < 1)
        return psr_fail_field(err, PSR_EINVAL, "ndm", "no DM trials");
    psr_status st = check_root(desc, err);
    if (st)
        return st;
    if ((desc->dm_decimals < MIN_DECIMALS || desc->dm_decimals > MAX_DECIMALS) &&
        !(desc->dm_decimals == 0 && desc->ndm == 1))
        return psr_fail_field(err, PSR_EINVAL, "dm_decimals",
                              "decimals of the DM = %d, must be %d to %d, or 0 for one trial",
                              desc->dm_decimals, MIN_DECIMALS, MAX_DECIMALS);
    for (size_t i = 0; i < desc->ndm; i++) {
        double tsamp_s = psr_series_tsamp_s(desc, i);
        if (!(tsamp_s > 0 && isfinite(tsamp_s)))
            return psr_fail_field(err, PSR_EINVAL, "tsamp_s", "tsamp = %g s, must be above 0",
                                  tsamp_s);
        if (!(desc->dm[i] >= 0 && desc->dm[i] < max_dm))
            return psr_fail_field(err, PSR_EINVAL, "dm",
                                  "DM of trial %zu = %g, must be 0 or more and below %g", i,
                                  desc->dm[i], max_dm);
    }
    if (desc->format == PSR_SERIES_DAT)
        st = check_length(desc, err);
    return st ? st : check_names(desc, err);
}

void psr_series_stem(char stem[PSR_TEXT_MAX], const char *root, double dm, int decimals)
{
    format_stem(stem, PSR_TEXT_MAX, root, dm, decimals);
}

struct psr_segment psr_segment_of(size_t k)
{
    const int of = k == 0 ? 1 : k < 3 ? 2 : 4;
    return (struct psr_segment){(int)k + 2 - of, of};
}

void psr_segment_name(char stem[PSR_TEXT_MAX], struct psr_segment segment)
{
    const size_t n = strlen(stem);
    if (segment.of > 1)
        snprintf(stem + n, PSR_TEXT_MAX - n, "_seg%dof%d", segment.number, segment.of);
}

struct psr_segment psr_segment_find(const char *path)
{
    const char *at = psr_series_dm_text(path);
    at = at ? at + strspn(at, "0123456789.") : "";
    for (size_t k = 1; k < PSR_SEGMENTS; k++) {
        char name[PSR_TEXT_MAX] = "";
        psr_segment_name(name, psr_segment_of(k));
        if (!strncmp(at, name, strlen(name)) && at[strlen(name)] == '_')
            return psr_segment_of(k);
    }
    return psr_segment_of(0);
}

psr_status psr_series_names(const struct psr_series_desc *desc,
                            psr_status (*check)(void *ctx, const char *name, psr_err *err),
                            void *ctx, psr_err *err)
{
    static const char *const suffix[] = {".dat", ".inf", ".tim"};
    const bool tim = desc->format == PSR_SERIES_TIM;
    psr_status st = PSR_OK;
    if (psr_series_to_stdout(desc->root))
        return PSR_OK;
    for (size_t i = 0; i < desc->ndm; i++)
        for (int k = tim ? 2 : 0; k < (tim ? 3 : 2) && !st; k++) {
            char stem[PSR_TEXT_MAX], name[PSR_TEXT_MAX + 8];
            psr_series_stem(stem, desc->root, desc->dm[i], desc->dm_decimals);
            snprintf(name, sizeof name, "%s%s", stem, suffix[k]);
            st = check(ctx, name, err);
        }
    return st;
}

static bool is_digit(char c)
{
    return isdigit((unsigned char)c) != 0;
}

int psr_series_read_dm(const char *text, double *dm)
{
    char copy[64];
    size_t n = 0;
    int decimals = 0;
    while (is_digit(text[n]))
        n++;
    if (n == 0)
        return -1;
    if (text[n] == '.' && is_digit(text[n + 1]))
        for (n++; is_digit(text[n]); n++)
            decimals++;
    if (n >= sizeof copy)
        return -1;
    memcpy(copy, text, n);
    copy[n] = '\0';
    *dm = psr_c_locale_strtod(copy, NULL);
    return *dm < max_dm ? decimals : -1;
}

const char *psr_series_dm_text(const char *path)
{
    const char *found = NULL;
    for (const char *at = psr_path_file(path); (at = strstr(at, "DM")); at += 2)
        if (is_digit(at[2]))
            found = at + 2;
    return found;
}

int psr_series_find_dm(const char *path, double *dm)
{
    const char *number = psr_series_dm_text(path);
    return number ? psr_series_read_dm(number, dm) : -1;
}

/* --- checks whether an identical earlier run completed the files of a trial ------------------- */

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

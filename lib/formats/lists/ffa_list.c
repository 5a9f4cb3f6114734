/* Writes and reads the list of a search for slow pulsars. */
#include <psrkit/experimental/ffa.h>

#include "base/base.h"
#include "base/output/outfile_internal.h"
#include "formats/spectra/header_keys.h"
#include "lists_internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char titles[] =
    "period_s,freq_hz,dm,snr,width_s,duty,nbin,marks,hits,tobs_s,tsamp_s,mjd,barycentric,telescope,"
    "ra_deg,dec_deg,low_mhz,high_mhz\n";

psr_status psr_ffa_list_write(psr_outfile *f, const struct psr_ffa_list *list, psr_err *err)
{
    psr_outfile_put(f, "%s", titles);
    for (size_t i = 0; i < list->n; i++) {
        const struct psr_ffa_row *r = &list->row[i];
        char marks[PSR_SIFT_MARKS];
        psr_outfile_put(f, "%.13g,%.13g,%.10g,%.3f,%.6g,%.6g,%d,", r->period_s, r->freq_hz, r->dm,
                        r->snr, r->width_s, r->duty, r->nbin);
        psr_csv_put_text(f, psr_sift_name_marks(marks, r->marks));
        psr_outfile_put(f, ",");
        for (size_t k = 0; k < r->nhit; k++) /* "DM:SNR" of each, with blanks between */
            psr_outfile_put(f, "%s%.10g:%.2f", k ? " " : "", r->hit[k].dm, r->hit[k].snr);
        /* The columns that all rows share. */
        const struct psr_inf *inf = &list->inf;
        const double low_mhz = inf->lowest_mhz - inf->chan_width_mhz / 2;
        psr_outfile_put(
            f, ",%.12g,%.12g,%ld.%013.0f,%d,", list->tobs_s, inf->tbin_s, inf->epoch.day,
            inf->epoch.frac < 1 - 1e-13 ? inf->epoch.frac * 1e13 : 1e13 - 1, inf->barycentric);
        psr_csv_put_text(f, inf->telescope);
        psr_outfile_put(f, ",%.10g,%.10g,%.10g,%.10g\n", inf->ra_deg, inf->dec_deg, low_mhz,
                        low_mhz + inf->chan_width_mhz * (double)inf->nchan);
    }
    return psr_outfile_status(f, err);
}

/* --- reading ----------------------------------------------------------------------------------- */

enum { LINE_BYTES = 1 << 18, MOST_COLUMNS = 64, SHOWN = 60 };
static const double MAX_DM = 1e6;

/* The columns that are read. */
enum key { FREQ, DUTY, HITS, TOBS, TSAMP, MJD, BARY, TELESCOPE, RA, DEC, LOW, HIGH, NKEY };

static const char *const keys[NKEY] = {"freq_hz", "duty",    "hits",        "tobs_s",
                                       "tsamp_s", "mjd",     "barycentric", "telescope",
                                       "ra_deg",  "dec_deg", "low_mhz",     "high_mhz"};

struct parser {
    struct psr_ffa_detections *list;
    struct psr_text_lines text;
    char *line;               /* [LINE_BYTES] */
    int column[MOST_COLUMNS]; /* a key, or -1 */
    int ncolumn;
    int64_t number; /* of candidates so far */
    const char *word[NKEY];
    psr_err *err;
};

static psr_status bad_value(const struct parser *p, int key, const char *word)
{
    return psr_fail_field(p->err, PSR_EFORMAT, keys[key],
                          "%s: line %ld: %s = '%.*s' is no such value", p->text.name,
                          p->text.number, keys[key], SHOWN, word);
}

/* The next value of *text, without its quotes; NULL at the end of the line. */
static char *next_value(char **text)
{
    char *from = *text, *to = from, *const value = from;
    bool quoted = false;
    if (!from)
        return NULL;
    for (; *from && (quoted || !strchr(",\r\n", *from)); from++)
        if (*from != '"')
            *to++ = *from;
        else if (quoted && from[1] == '"')
            *to++ = *from++;
        else
            quoted = !quoted;
    *text = *from == ',' ? from + 1 : NULL;
    *to = '\0';
    return value;
}

static int find_key(const char *word)
{
    for (int k = 0; k < NKEY; k++)
        if (!strcmp(word, keys[k]))
            return k;
    return -1;
}

static psr_status read_header(struct parser *p)
{
    char *rest = p->line, *word;
    bool has[NKEY] = {false};
    while (p->ncolumn < MOST_COLUMNS && (word = next_value(&rest))) {
        const int key = find_key(word);
        if (key >= 0)
            has[key] = true;
        p->column[p->ncolumn++] = key;
    }
    for (int k = 0; k < NKEY; k++)
        if (!has[k])
            return psr_fail_field(p->err, PSR_EFORMAT, keys[k], "%s: has no column %s",
                                  p->text.name, keys[k]);
    return PSR_OK;
}

static bool read_number(const char **text, double *value)
{
    char *end;
    *value = psr_c_locale_strtod(*text, &end);
    if (end == *text || !isfinite(*value))
        return false;
    *text = end;
    return true;
}

static psr_status read_value(const struct parser *p, int key, double min, double max, double *value)
{
    const char *text = p->word[key];
    return read_number(&text, value) && !*text && *value >= min && *value <= max
               ? PSR_OK
               : bad_value(p, key, p->word[key]);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* "DM:SNR DM:SNR .." */
static psr_status read_hits(struct parser *p, double freq_hz, double duty)
{
    struct psr_ffa_detections *l = p->list;
    for (const char *text = p->word[HITS]; *text; text += *text == ' ') {
        struct psr_ffa_detection d = {.number = p->number, .freq_hz = freq_hz, .duty = duty};
        bool good = read_number(&text, &d.dm) && *text++ == ':' && read_number(&text, &d.snr);
        if (!good || fabs(d.dm) > MAX_DM || !(d.snr > 0) || (*text && *text != ' '))
            return bad_value(p, HITS, p->word[HITS]);
        psr_status st = psr_grow(&l->hit, &l->room, l->n, sizeof *l->hit, "candidates", p->err);
        if (st)
            return st;
        l->hit[l->n++] = d;
    }
    return PSR_OK;
}

/* What all rows say of the series is taken from the first. */
static psr_status read_origin(struct parser *p)
{
    struct psr_inf *inf = &p->list->inf;
    double mjd = 0, bary = 0, low_mhz = 0, high_mhz = 0;
    const struct {
        enum key key;
        double min, max, *value;
    } number[] = {{TOBS, 1e-6, 1e12, &p->list->tobs_s},
                  {TSAMP, 1e-12, 1e6, &inf->tbin_s},
                  {MJD, 0, 1e7, &mjd},
                  {BARY, 0, 1, &bary},
                  {RA, -360, 360, &inf->ra_deg},
                  {DEC, -90, 90, &inf->dec_deg},
                  {LOW, -1e12, 1e12, &low_mhz},
                  {HIGH, -1e12, 1e12, &high_mhz}};
    psr_status st = PSR_OK;
    for (size_t k = 0; k < sizeof number / sizeof *number && !st; k++)
        st = read_value(p, (int)number[k].key, number[k].min, number[k].max, number[k].value);
    inf->barycentric = bary > 0;
    inf->epoch = (struct psr_mjd){(long)floor(mjd), mjd - floor(mjd)};
    inf->has_epoch = mjd > 0;
    inf->nchan = 1;
    inf->chan_width_mhz = inf->bandwidth_mhz = high_mhz - low_mhz;
    inf->lowest_mhz = (low_mhz + high_mhz) / 2;
    inf->nbin = st ? 0 : llrint(p->list->tobs_s / inf->tbin_s);
    snprintf(inf->telescope, sizeof inf->telescope, "%.200s", p->word[TELESCOPE]);
    return st;
}

static psr_status read_row(struct parser *p)
{
    char *rest = p->line, *word;
    int n = 0;
    double freq_hz = 0, duty = 0;
    while (n < p->ncolumn && (word = next_value(&rest))) {
        if (p->column[n] >= 0)
            p->word[p->column[n]] = word;
        n++;
    }
    if (n < p->ncolumn || rest)
        return psr_fail(p->err, PSR_EFORMAT, "%s: line %ld: has not the %d values of the header",
                        p->text.name, p->text.number, p->ncolumn);
    p->number++;
    psr_status st = read_value(p, FREQ, 1e-9, 1e9, &freq_hz);
    if (!st)
        st = read_value(p, DUTY, 0, 1, &duty);
    if (!st && p->number == 1)
        st = read_origin(p);
    return st ? st : read_hits(p, freq_hz, duty);
}

PSR_COMPARE(by_dm, struct psr_ffa_detection, PSR_THEN(PSR_RISING(dm), PSR_RISING(number)));

psr_status psr_ffa_list_read(struct psr_ffa_detections *list, const char *path, psr_err *err)
{
    struct parser p = {.list = list, .line = malloc(LINE_BYTES), .err = err};
    *list = (struct psr_ffa_detections){.n = 0};
    if (!p.line)
        return psr_fail_nomem(err, path, LINE_BYTES);
    psr_status st = psr_text_lines_open(&p.text, path, PSR_ACCEL_LIST_MAX_BYTES, err);
    if (!st) {
        bool exists = true;
        st = psr_text_lines_next(&p.text, p.line, LINE_BYTES, &exists, p.err);
        if (!st)
            st = exists ? read_header(&p)
                        : psr_fail(p.err, PSR_EFORMAT, "%s: is empty: no header", p.text.name);
        while (!st && exists) {
            st = psr_text_lines_next(&p.text, p.line, LINE_BYTES, &exists, p.err);
            if (!st && exists)
                st = read_row(&p);
        }
        psr_text_lines_close(&p.text);
    }
    free(p.line);
    if (!st && list->n)
        qsort(list->hit, list->n, sizeof *list->hit, by_dm);
    return st;
}

void psr_ffa_detections_clear(struct psr_ffa_detections *list)
{
    free(list->hit);
    *list = (struct psr_ffa_detections){.n = 0};
}

bool psr_ffa_is_list(const char *path)
{
    return psr_path_ends(path, "_ffa.csv");
}

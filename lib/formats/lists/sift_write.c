/* Writes sifted candidates: sifting.py's layout, comma-separated values, JSON, rejects. */
#include <psrkit/experimental/sift.h>

#include "base/output/outfile_internal.h"
#include "formats/spectra/header_keys.h"

#include "base/tool.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { KNOWN_MAX = PSR_PULSAR_NAME_MAX + 32, NAME_WIDTH = 65 };

/* The columns of sifting.py's rows, under their titles. */
static const char titles[] =
    "#                           file:candnum                               DM     SNR    sigma   "
    "numharm    ipow     cpow      P(ms)          r         z     numhits ";

const char *psr_sift_name_marks(char text[PSR_SIFT_MARKS], unsigned marks)
{
    static const char *const name[] = {"line", "dm0", "dm?", "narrow", "turns"};
    text[0] = '\0';
    for (unsigned k = 0; k < sizeof name / sizeof *name; k++)
        if (marks & 1U << k)
            snprintf(text + strlen(text), PSR_SIFT_MARKS - strlen(text), "%s%s", *text ? "+" : "",
                     name[k]);
    return *text ? text : strcpy(text, "-");
}

static const char *const reasons[PSR_SIFT_NREASON] = {
    [PSR_SIFT_GOOD] = "good",
    [PSR_SIFT_LONG_PERIOD] = "period above long_period",
    [PSR_SIFT_SHORT_PERIOD] = "period below short_period",
    [PSR_SIFT_KNOWN_BIRD] = "known interference",
    [PSR_SIFT_THRESHOLD] = "below the threshold of sigma",
    [PSR_SIFT_HARM_POWER] = "no harmonic above harm_pow_cutoff",
    [PSR_SIFT_ROGUE_HARM] = "one high harmonic dominates",
    [PSR_SIFT_DUPLICATE] = "hit of",
    [PSR_SIFT_FEW_DMS] = "at fewer DMs than min_num_DMs",
    [PSR_SIFT_LOW_DM] = "best at a DM up to low_DM_cutoff",
    [PSR_SIFT_DM_GAPS] = "no two hits at successive DMs",
    [PSR_SIFT_HARMONIC] = "harmonic of",
};

/* "p/q NAME", or NAME if it is the pulsar's own period, with a question mark if chance explains it;
 * empty if there is none. */
static const char *name_known(char text[KNOWN_MAX], const struct psr_sift_cand *c)
{
    const char *doubt = c->known_chance > PSR_SIFT_MOST_CHANCE ? "?" : "";
    text[0] = '\0';
    if (c->known && c->ratio[0] == 1 && c->ratio[1] == 1)
        snprintf(text, KNOWN_MAX, "%s%s", c->known->name, doubt);
    else if (c->known)
        snprintf(text, KNOWN_MAX, "%d/%d %s%s", c->ratio[0], c->ratio[1], c->known->name, doubt);
    return text;
}

static const char *name_searches(unsigned found)
{
    static const char *const name[] = {"", "fourier", "ffa", "fourier+ffa"};
    return name[found & (PSR_SIFT_BY_FOURIER | PSR_SIFT_BY_FFA)];
}

/* "1of4", or "whole". */
static const char *name_segment(char text[16], const struct psr_sift_cand *c)
{
    snprintf(text, 16, c->segment[1] > 1 ? "%dof%d" : "whole", c->segment[0], c->segment[1]);
    return text;
}

/* --- names ------------------------------------------------------------------------------------ */

static const char escaped[] = "\n\r\\", escapes[] = "nr\\";

static void put_name(psr_outfile *f, const char *name)
{
    while (*name) {
        const size_t n = strcspn(name, escaped);
        psr_outfile_put(f, "%.*s", (int)n, name);
        name += n;
        if (*name)
            psr_outfile_put(f, "\\%c", escapes[strchr(escaped, *name++) - escaped]);
    }
}

void psr_sift_unescape(char *name)
{
    char *to = name;
    for (; *name; name++) {
        const char *escape = *name == '\\' && name[1] ? strchr(escapes, name[1]) : NULL;
        *to++ = escape ? escaped[escape - escapes] : *name;
        name += escape != NULL;
    }
    *to = '\0';
}

/* --- text ------------------------------------------------------------------------------------- */

static void put_row(psr_outfile *f, const struct psr_sift_cand *c, int decimals)
{
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)c->number);
    /* Readers take a line that begins so for a comment, or for a hit. */
    const char *before = strchr("# \t", *c->file) && *c->file ? "./" : "";
    const char *name = c->file;
    size_t length = strlen(name);
    for (name += strcspn(name, escaped); *name; name += 1 + strcspn(name + 1, escaped))
        length++;
    const int pad = NAME_WIDTH - (int)strlen(number) - 1 - (int)strlen(before) -
                    (int)(length < NAME_WIDTH ? length : NAME_WIDTH);
    psr_outfile_put(f, "%s", before);
    put_name(f, c->file);
    psr_outfile_put(f,
                    ":%s%*s   %7.*f  %6.2f  %6.2f    %2d     %7.1f  %7.1f  %12.6f  "
                    "%10.2f  %8.2f  (%zu)",
                    number, pad > 0 ? pad : 0, "", decimals, c->dm, c->snr, c->sigma, c->nharm,
                    c->power, c->coherent, c->period_s * 1000, c->r, c->z, c->nhit);
}

static psr_status write_text(psr_outfile *f, const struct psr_sift_result *result, psr_err *err)
{
    psr_outfile_put(f, "%s\n", titles);
    for (size_t i = 0; i < result->ncand; i++) {
        const struct psr_sift_cand *c = &result->cand[i];
        char known[KNOWN_MAX], marks[PSR_SIFT_MARKS];
        put_row(f, c, result->dm_decimals);
        psr_outfile_put(f, "%s%s", c->known ? "  = " : "", name_known(known, c));
        if (c->found & PSR_SIFT_BY_FFA)
            psr_outfile_put(f, "  by %s", name_searches(c->found));
        psr_outfile_put(f, "%s%s\n", c->marks ? "  ! " : "",
                        c->marks ? psr_sift_name_marks(marks, c->marks) : "");
        for (size_t k = 0; c->nhit > 1 && k < c->nhit; k++) {
            const struct psr_sift_hit *hit = &c->hit[k];
            psr_outfile_put(f, "  DM=%6.*f SNR=%5.2f Sigma=%5.2f   ", result->dm_decimals, hit->dm,
                            hit->snr, hit->sigma);
            for (int j = 0; j < (int)(hit->sigma / 3); j++)
                psr_outfile_put(f, "*");
            psr_outfile_put(f, "\n");
        }
    }
    return psr_outfile_status(f, err);
}

/* --- tables ----------------------------------------------------------------------------------- */

enum { NFIELD = 14 };

static const char *const fields[NFIELD] = {
    "cand",     "dm",      "snr", "sigma", "numharm", "ipow",      "cpow",
    "period_s", "freq_hz", "r",   "z",     "tobs_s",  "accel_ms2", "numhits",
};

static void list_values(const struct psr_sift_cand *c, double v[NFIELD])
{
    const double all[NFIELD] = {
        (double)c->number,
        c->dm,
        c->snr,
        c->sigma,
        c->nharm,
        c->power,
        c->coherent,
        c->period_s,
        c->freq_hz,
        c->r,
        c->z,
        c->tobs_s,
        c->z * PSR_LIGHT_M_S / (c->tobs_s * c->r),
        (double)c->nhit,
    };
    memcpy(v, all, sizeof all);
}

const char *psr_cand_number_name(enum psr_cand_number k)
{
    static const char *const number[PSR_CAND_NNUMBER] = {
        [PSR_CAND_ALPHA] = "alpha",
        [PSR_CAND_BETA] = "beta",
        [PSR_CAND_GAMMA] = "gamma",
        [PSR_CAND_SHARE_BANDS] = "share_bands",
        [PSR_CAND_SHARE_PARTS] = "share_parts",
        [PSR_CAND_HALVES_BAND] = "halves_band",
        [PSR_CAND_HALVES_TIME] = "halves_time",
        [PSR_CAND_ACCEL_OK] = "accel_ok",
        [PSR_CAND_COVERED] = "covered",
        [PSR_CAND_SNR] = "snr",
        [PSR_CAND_DM0_SIGMA] = "dm0_sigma",
        [PSR_CAND_BANDS_RATIO] = "bands_ratio",
        [PSR_CAND_PULSE_SHARE] = "pulse_share",
    };
    return number[k];
}

static psr_status write_csv(psr_outfile *f, const struct psr_sift_result *result, psr_err *err)
{
    psr_outfile_put(f, "file");
    for (size_t k = 0; k < NFIELD; k++)
        psr_outfile_put(f, ",%s", fields[k]);
    psr_outfile_put(f, ",dm_lo,dm_hi,found,segment,note,marks");
    for (int k = 0; k < PSR_CAND_SNR; k++)
        psr_outfile_put(f, ",%s", psr_cand_number_name((enum psr_cand_number)k));
    psr_outfile_put(f, ",probability,reasons\n");
    for (size_t i = 0; i < result->ncand; i++) {
        const struct psr_sift_cand *c = &result->cand[i];
        char known[KNOWN_MAX], marks[PSR_SIFT_MARKS], segment[16];
        double v[NFIELD];
        list_values(c, v);
        psr_csv_put_text(f, c->path);
        for (size_t k = 0; k < NFIELD; k++)
            psr_outfile_put(f, ",%.10g", v[k]);
        psr_outfile_put(f, ",%.10g,%.10g,%s,%s,", c->hit[0].dm, c->hit[c->nhit - 1].dm,
                        name_searches(c->found), name_segment(segment, c));
        psr_csv_put_text(f, name_known(known, c));
        psr_outfile_put(f, ",%s", psr_sift_name_marks(marks, c->marks));
        /* The last columns; nan for what is not folded. */
        const struct psr_cand_score *score = c->score;
        for (int k = 0; k < PSR_CAND_SNR; k++)
            psr_outfile_put(f, ",%.4g", score ? score->number[k] : NAN);
        psr_outfile_put(f, ",%.4g,\"%s\"\n", score ? score->probability : NAN,
                        score ? score->reasons : "");
    }
    return psr_outfile_status(f, err);
}

static void put_object(struct psr_json *j, const struct psr_sift_cand *c)
{
    char known[KNOWN_MAX], marks[PSR_SIFT_MARKS], segment[16];
    double v[NFIELD];
    list_values(c, v);
    psr_json_begin(j, NULL, PSR_JSON_OBJECT);
    psr_json_string(j, "file", c->path);
    for (size_t k = 0; k < NFIELD; k++)
        psr_json_double(j, fields[k], v[k]);
    psr_json_string(j, "note", name_known(known, c));
    psr_json_string(j, "marks", psr_sift_name_marks(marks, c->marks));
    for (int k = 0; k < PSR_CAND_SNR && c->score; k++)
        psr_json_double(j, psr_cand_number_name((enum psr_cand_number)k), c->score->number[k]);
    if (c->score) {
        psr_json_double(j, "probability", c->score->probability);
        psr_json_string(j, "reasons", c->score->reasons);
    }
    psr_json_string(j, "found", name_searches(c->found));
    psr_json_string(j, "segment", name_segment(segment, c));
    psr_json_begin(j, "hits", PSR_JSON_ARRAY);
    for (size_t k = 0; k < c->nhit; k++) {
        psr_json_begin(j, NULL, PSR_JSON_OBJECT);
        psr_json_double(j, "dm", c->hit[k].dm);
        psr_json_double(j, "snr", c->hit[k].snr);
        psr_json_double(j, "sigma", c->hit[k].sigma);
        psr_json_end(j, PSR_JSON_OBJECT);
    }
    psr_json_end(j, PSR_JSON_ARRAY);
    psr_json_end(j, PSR_JSON_OBJECT);
}

psr_status psr_sift_write(psr_outfile *f, const struct psr_sift_result *result,
                          enum psr_sift_format format, bool presto, psr_err *err)
{
    switch (format) {
    case PSR_SIFT_TEXT:
        return presto && result->ncand == 0 ? PSR_OK : write_text(f, result, err);
    case PSR_SIFT_CSV:
        return write_csv(f, result, err);
    case PSR_SIFT_JSON:
        for (size_t i = 0; i < result->ncand; i++) {
            struct psr_json j = {.put = psr_json_put, .ctx = f};
            put_object(&j, &result->cand[i]);
            psr_outfile_put(f, "\n");
        }
        return psr_outfile_status(f, err);
    case PSR_SIFT_REJECTS:
        psr_outfile_put(f, "%s\n", titles);
        for (size_t i = 0; i < result->nreject; i++) {
            const struct psr_sift_cand *c = &result->reject[i];
            put_row(f, c, result->dm_decimals);
            psr_outfile_put(f, "  %s", reasons[c->reason]);
            if (c->of_file) {
                psr_outfile_put(f, " ");
                put_name(f, c->of_file);
                psr_outfile_put(f, ":%lld", (long long)c->of_number);
            }
            if (c->reason == PSR_SIFT_HARMONIC)
                psr_outfile_put(f, ", %d/%d of its frequency", c->ratio[0], c->ratio[1]);
            psr_outfile_put(f, "\n");
        }
        return psr_outfile_status(f, err);
    }
    return psr_fail_field(err, PSR_EINVAL, "format", "sift: format = %d is none", (int)format);
}

/* Writes single pulses and their clusters as text. */
#include "base/base.h"
#include "base/output/outfile_internal.h"
#include "formats/spectra/header_keys.h"
#include "lists_internal.h"
#include "search/singlepulse/singlepulse_internal.h"

#include <math.h>
#include <psrkit/experimental/singlepulse.h>
#include <psrkit/experimental/sink.h>
#include <stdio.h>
#include <string.h>

psr_status psr_singlepulse_write(psr_outfile *f, double dm, double tsamp_s,
                                 const struct psr_event *events, size_t n, psr_err *err)
{
    if (n == 0)
        return PSR_OK;
    psr_status st =
        psr_outfile_printf(f, err, "# DM      Sigma      Time (s)     Sample    Downfact\n");
    for (size_t k = 0; !st && k < n; k++)
        st = psr_outfile_printf(f, err, "%7.2f %7.2f %13.6f %10lld     %3d\n", dm, events[k].snr,
                                (double)events[k].sample * tsamp_s, (long long)events[k].sample,
                                events[k].width);
    return st;
}

/* The name of bit k of enum psr_pulse_mark. */
static const char *pulse_mark_name(int k)
{
    static const char *const names[PSR_PULSE_NMARK] = {"dm0", "edge", "narrow", "dm?", "clip"};
    return names[k];
}

/* Those of all, with + between.  Returned: text, or none */
static const char *pulse_name_marks(unsigned marks, char text[PSR_PULSE_MARKS], const char *none)
{
    size_t n = 0;
    for (int k = 0; k < PSR_PULSE_NMARK; k++)
        if (marks >> k & 1)
            n += (size_t)snprintf(text + n, PSR_PULSE_MARKS - n, "%s%s", n ? "+" : "",
                                  pulse_mark_name(k));
    return n ? text : none;
}

static bool has_edges(const struct psr_pulse_band *band)
{
    return band && band->high_mhz > 0;
}

psr_status psr_cluster_write_bands(psr_outfile *f, const double *dm, const size_t *scale,
                                   double tsamp_s, const struct psr_pulse_band *band,
                                   const struct psr_cluster *clusters, size_t n, psr_err *err)
{
    psr_outfile_put(f,
                    "# S/N\tsample\ttime_s\tfilter\tDM_trial\tDM\tmembers\tfirst\tlast\tmarks%s\n",
                    has_edges(band) ? "\tlow_mhz\thigh_mhz" : "");
    for (size_t k = 0; k < n; k++) {
        const struct psr_cluster *c = &clusters[k];
        const struct psr_event *e = &c->best;
        double each = scale ? (double)scale[e->trial] : 1, sample = (double)e->sample * each;
        char marks[PSR_PULSE_MARKS];
        psr_outfile_put(f, "%.2f\t%.0f\t%.6f\t%.4g\t%zu\t%.10g\t%zu\t%lld\t%lld\t%s", e->snr,
                        sample, sample * tsamp_s, log2((double)e->width * each),
                        band ? band[e->trial].trial : e->trial, dm[e->trial], c->members,
                        (long long)c->first, (long long)c->last,
                        pulse_name_marks(c->marks, marks, "-"));
        if (has_edges(band))
            psr_outfile_put(f, "\t%.10g\t%.10g", band[e->trial].low_mhz, band[e->trial].high_mhz);
        psr_outfile_put(f, "\n");
    }
    return psr_outfile_status(f, err);
}

psr_status psr_cluster_write(psr_outfile *f, const double *dm, const size_t *scale, double tsamp_s,
                             const struct psr_cluster *clusters, size_t n, psr_err *err)
{
    return psr_cluster_write_bands(f, dm, scale, tsamp_s, NULL, clusters, n, err);
}

/* Writes pulses: as lines of JSON, and as comma-separated values. */

struct line {
    char *text;
    size_t n;
};

/* What a pulse is told with is far shorter than the room. */
static void put_in_line(void *ctx, const char *bytes, size_t n)
{
    struct line *l = ctx;
    size_t room = PSR_BURST_BYTES - 1 - l->n;
    n = n < room ? n : room;
    memcpy(l->text + l->n, bytes, n);
    l->n += n;
}

enum { DATE_BYTES = 64 };

/* To 0.1 us.  Returned: bytes of text */
static size_t format_date(char text[DATE_BYTES], struct psr_mjd date)
{
    char frac[32];
    long day = date.day;
    psr_c_locale_snprintf(frac, sizeof frac, "%.12f", date.frac);
    if (frac[0] == '1') {
        day++;
        psr_c_locale_snprintf(frac, sizeof frac, "%.12f", 0.0);
    }
    return (size_t)snprintf(text, DATE_BYTES, "%ld%s", day, frac + 1);
}

static void put_date(struct psr_json *j, const char *name, struct psr_mjd date)
{
    char digits[DATE_BYTES];
    const size_t n = format_date(digits, date);
    psr_json_digits(j, name, digits, n);
}

static const char *frame_of(const struct psr_burst *b)
{
    return b->barycentric ? "barycentric" : "topocentric";
}

static const char *scale_of(const struct psr_burst *b)
{
    return b->barycentric ? "TDB" : "UTC";
}

size_t psr_burst_json(char text[PSR_BURST_BYTES], const struct psr_burst *b)
{
    struct line line = {text, 0};
    struct psr_json j = {.put = put_in_line, .ctx = &line};
    psr_json_begin(&j, NULL, PSR_JSON_OBJECT);
    put_date(&j, "mjd_inf", b->mjd_inf);
    put_date(&j, "mjd_top", b->mjd_top);
    psr_json_string(&j, "frame", frame_of(b));
    psr_json_string(&j, "scale", scale_of(b));
    psr_json_double(&j, "dm", b->dm);
    psr_json_double(&j, "snr", b->snr);
    psr_json_double(&j, "width_s", b->width_s);
    psr_json_double(&j, "low_mhz", b->low_mhz);
    psr_json_double(&j, "high_mhz", b->high_mhz);
    psr_json_int(&j, "beam", b->beam);
    psr_json_int(&j, "members", (int64_t)b->members);
    const unsigned marks = b->marks;
    psr_json_begin(&j, "marks", PSR_JSON_ARRAY);
    for (int k = 0; k < PSR_PULSE_NMARK; k++)
        if (marks >> k & 1)
            psr_json_string(&j, NULL, pulse_mark_name(k));
    psr_json_end(&j, PSR_JSON_ARRAY);
    if (!isnan(b->latency_s))
        psr_json_double(&j, "latency_s", b->latency_s);
    if (b->dump && *b->dump)
        psr_json_string(&j, "dump", b->dump);
    else if (b->dump)
        psr_json_digits(&j, "dump", "null", 4);
    psr_json_end(&j, PSR_JSON_OBJECT);
    text[line.n++] = '\n';
    return line.n;
}

psr_status psr_burst_write_csv_header(psr_outfile *f, psr_err *err)
{
    return psr_outfile_printf(f, err,
                              "time_s,mjd_inf,mjd_top,frame,scale,dm,snr,width_s,low_mhz,high_mhz,"
                              "beam,members,marks\n");
}

psr_status psr_burst_write_csv(psr_outfile *f, const struct psr_burst *b, double time_s,
                               psr_err *err)
{
    char inf[DATE_BYTES], top[DATE_BYTES], marks[PSR_PULSE_MARKS];
    format_date(inf, b->mjd_inf);
    format_date(top, b->mjd_top);
    psr_outfile_put(f, "%.6f,%s,%s,%s,%s,%.10g,%.6g,%.6g,%.10g,%.10g,%d,%zu,", time_s, inf, top,
                    frame_of(b), scale_of(b), b->dm, b->snr, b->width_s, b->low_mhz, b->high_mhz,
                    b->beam, b->members);
    psr_csv_put_text(f, pulse_name_marks(b->marks, marks, ""));
    return psr_outfile_printf(f, err, "\n");
}

/* Writes pulses: as lines of JSON, and as comma-separated values. */
#include <psrkit/experimental/sink.h>

#include "base/c_locale.h"
#include "base/tool.h"
#include "formats/spectra/text_table.h"
#include "lists_internal.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

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

static void put_marks(struct psr_json *j, unsigned marks)
{
    psr_json_begin(j, "marks", PSR_JSON_ARRAY);
    for (int k = 0; k < PSR_PULSE_NMARK; k++)
        if (marks >> k & 1)
            psr_json_string(j, NULL, psr_pulse_mark_name(k));
    psr_json_end(j, PSR_JSON_ARRAY);
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
    put_marks(&j, b->marks);
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
    psr_status st =
        psr_outfile_printf(f, err, "%.6f,%s,%s,%s,%s,%.10g,%.6g,%.6g,%.10g,%.10g,%d,%zu,", time_s,
                           inf, top, frame_of(b), scale_of(b), b->dm, b->snr, b->width_s,
                           b->low_mhz, b->high_mhz, b->beam, b->members);
    if (!st)
        st = psr_csv_write_text(f, psr_pulse_name_marks(b->marks, marks, ""), err);
    return st ? st : psr_outfile_printf(f, err, "\n");
}

/* Writes a pulse as a line of JSON. */
#include <psrkit/experimental/sink.h>

#include "base/c_locale.h"
#include "base/tool.h"
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

/* To 0.1 us. */
static void put_date(struct psr_json *j, const char *name, struct psr_mjd date)
{
    char frac[32], digits[64];
    long day = date.day;
    psr_c_locale_snprintf(frac, sizeof frac, "%.12f", date.frac);
    if (frac[0] == '1') {
        day++;
        psr_c_locale_snprintf(frac, sizeof frac, "%.12f", 0.0);
    }
    int n = snprintf(digits, sizeof digits, "%ld%s", day, frac + 1);
    psr_json_digits(j, name, digits, (size_t)n);
}

static void put_marks(struct psr_json *j, unsigned marks)
{
    static const struct {
        unsigned mark;
        const char *name;
    } all[PSR_PULSE_NMARK] = {{PSR_PULSE_DM0, "dm0"},
                              {PSR_PULSE_EDGE, "edge"},
                              {PSR_PULSE_NARROW, "narrow"},
                              {PSR_PULSE_DM_UNKNOWN, "dm?"},
                              {PSR_PULSE_CLIPPED, "clip"}};
    psr_json_begin(j, "marks", PSR_JSON_ARRAY);
    for (int k = 0; k < PSR_PULSE_NMARK; k++)
        if (marks & all[k].mark)
            psr_json_string(j, NULL, all[k].name);
    psr_json_end(j, PSR_JSON_ARRAY);
}

size_t psr_burst_json(char text[PSR_BURST_BYTES], const struct psr_burst *b)
{
    struct line line = {text, 0};
    struct psr_json j = {.put = put_in_line, .ctx = &line};
    psr_json_begin(&j, NULL, PSR_JSON_OBJECT);
    put_date(&j, "mjd_inf", b->mjd_inf);
    put_date(&j, "mjd_top", b->mjd_top);
    psr_json_string(&j, "frame", b->barycentric ? "barycentric" : "topocentric");
    psr_json_string(&j, "scale", b->barycentric ? "TDB" : "UTC");
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

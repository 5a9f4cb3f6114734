/* Describes what is written: channels, their frequencies, and the start. */
#include "astro/barycentre.h"
#include "base/obs_internal.h"
#include "base/tool.h"
#include "edit_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Corrects the header of an input. */

/* Given:  key, text   the correction; what   "set KEY" for messages */
typedef psr_status set_field(struct psr_obs *obs, const char *what, const char *text, psr_err *err);

static psr_status copy_text(char *to, const char *what, const char *text, psr_err *err)
{
    if (strlen(text) >= PSR_TEXT_MAX)
        return psr_fail_field(err, PSR_EINVAL, "set", "%s: a text of %zu bytes, must be below %d",
                              what, strlen(text), PSR_TEXT_MAX);
    strcpy(to, text);
    return PSR_OK;
}

static psr_status set_source(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    return copy_text(obs->source, what, text, err);
}

/* SIGPROC knows telescopes by number alone. */
static psr_status set_telescope(struct psr_obs *obs, const char *what, const char *text,
                                psr_err *err)
{
    psr_err why;
    int64_t id;
    obs->telescope_id = psr_telescope_id(text);
    if (obs->telescope_id >= 0)
        return copy_text(obs->telescope, what, psr_telescope_name(obs->telescope_id), err);
    if (psr_parse_int(what, text, 0, 1 << 30, &id, &why))
        return copy_text(obs->telescope, what, text, err);
    obs->telescope_id = (int)id;
    return copy_text(obs->telescope, what, psr_telescope_name((int)id), err);
}

static psr_status set_position(struct psr_obs *obs, const char *what, const char *text,
                               psr_err *err)
{
    psr_err why;
    psr_status st = psr_position_parse(text, &obs->ra_deg, &obs->dec_deg, &why);
    if (st)
        return psr_fail_field(err, st, "set", "%s: %.400s", what, why.msg);
    obs->has_position = true;
    return PSR_OK;
}

/* Finds the spectra of a time range. */

/* Further than any observation, and exact in a double. */
static const double spectra_max = 0x1p52, days_max = 1e6, seconds_max = 1e12;

/* A date in MJD, its day and its fraction apart.
 * Status: PSR_EINVAL
 * Together a double holds no more than a microsecond. */
static psr_status edit_date(const char *what, const char *text, struct psr_mjd *date, psr_err *err)
{
    char number[64];
    double day, frac = 0;
    psr_status st = PSR_OK;
    snprintf(number, sizeof number, "%s", text);
    char *point = strchr(number, '.');
    if (point && point[1] && strspn(point + 1, "0123456789") == strlen(point + 1)) {
        st = psr_parse_double(what, point, 0, 1, &frac, err);
        *point = '\0';
    }
    if (!st)
        st = psr_parse_double(what, number, 0, days_max, &day, err);
    if (st)
        return st;
    *date =
        psr_mjd_add((struct psr_mjd){.day = (long)floor(day), .frac = day - floor(day) + frac}, 0);
    return PSR_OK;
}

static psr_status set_tstart(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    return edit_date(what, text, &obs->tstart, err);
}

static psr_status set_tsamp(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    return psr_parse_double(what, text, 1e-9, 1e6, &obs->tsamp_s, err);
}

static psr_status set_fch1(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    return psr_parse_double(what, text, 1e-6, 1e9, &obs->fch1_mhz, err);
}

static psr_status set_foff(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    double spacing = 0;
    psr_status st = psr_parse_double(what, text, -1e9, 1e9, &spacing, err);
    if (!st)
        obs->foff_mhz = spacing;
    return st;
}

static psr_status set_whole(int *to, const char *what, const char *text, psr_err *err)
{
    int64_t value = 0;
    psr_status st = psr_parse_int(what, text, 0, 1 << 30, &value, err);
    if (!st)
        *to = (int)value;
    return st;
}

static psr_status set_beam(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    return set_whole(&obs->ibeam, what, text, err);
}

static psr_status set_nbeam(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    return set_whole(&obs->nbeam, what, text, err);
}

static psr_status set_machine(struct psr_obs *obs, const char *what, const char *text, psr_err *err)
{
    return set_whole(&obs->machine_id, what, text, err);
}

static psr_status set_instrument(struct psr_obs *obs, const char *what, const char *text,
                                 psr_err *err)
{
    return copy_text(obs->instrument, what, text, err);
}

static psr_status set_observer(struct psr_obs *obs, const char *what, const char *text,
                               psr_err *err)
{
    return copy_text(obs->observer, what, text, err);
}

static const struct {
    const char *key;
    set_field *set;
    bool band; /* means nothing beside a table of frequencies */
} fields[] = {
    {"source", set_source, false},
    {"telescope", set_telescope, false},
    {"position", set_position, false},
    {"tstart", set_tstart, false},
    {"tsamp", set_tsamp, false},
    {"fch1", set_fch1, true},
    {"foff", set_foff, true},
    {"beam", set_beam, false},
    {"nbeams", set_nbeam, false},
    {"machine", set_machine, false},
    {"instrument", set_instrument, false},
    {"observer", set_observer, false},
};

/* Cleans spectra as gpudedisp does, by the same stage. */

static bool cleans(const struct psr_edit_desc *d)
{
    return d->mask || d->clip_sigma > 0 || d->zerodm || d->clean_auto;
}

/* Makes clean of cut, and nbit and kind.
 * Status: those of psr_stage_clean_create
 * What replaces samples is no whole number: of integers it is rounded with the values. */
static psr_status edit_clean_create(psr_edit *p, psr_err *err)
{
    const struct psr_edit_desc *d = &p->d;
    p->nbit = p->in.nbit;
    p->kind = p->in.kind;
    if (!cleans(d))
        return PSR_OK;
    psr_status st = psr_stage_clean_create(
        &p->clean,
        &(struct psr_stage_clean_desc){.input = p->input,
                                       .obs = &p->cut,
                                       .from_subbands = psr_source_inf(p->source) != NULL,
                                       .mask = d->mask,
                                       .clip_sigma = d->clip_sigma,
                                       .zerodm = d->zerodm,
                                       .floats = true,
                                       .automatic = d->clean_auto,
                                       .nthread = p->nthread},
        err);
    if (st)
        return st;
    p->nbit = psr_stage_clean_nbit(p->clean);
    p->kind = psr_stage_clean_kind(p->clean);
    return PSR_OK;
}

psr_status psr_edit_clean_run(psr_edit *p, const uint8_t **rows, size_t *n, psr_err *err)
{
    struct psr_block block = {.spectra = p->read, .n = *n};
    psr_status st = psr_stage_clean_run(p->clean, &block, err);
    *rows = block.spectra;
    *n = st ? 0 : block.n;
    return st;
}

static psr_status take_range(psr_edit *p, psr_err *err)
{
    const int64_t nchan = (int64_t)p->in.nchan, first = p->d.first_chan,
                  end = p->d.end_chan ? p->d.end_chan : nchan;
    if (first < 0 || first >= end || end > nchan)
        return psr_fail_field(err, PSR_EINVAL, "chans",
                              "edit: chans %lld:%lld, must be a range within 0:%lld",
                              (long long)first, (long long)end, (long long)nchan);
    p->channels.first = (size_t)first;
    p->channels.nchan = (size_t)(end - first);
    return PSR_OK;
}

/* Channels of a table need not be in order: then a band may have none between them that it lacks. */
static psr_status take_band(psr_edit *p, psr_err *err)
{
    size_t first = p->in.nchan, end = 0, n = 0;
    for (size_t c = 0; c < p->in.nchan; c++) {
        const double f = psr_obs_freq_mhz(&p->in, c);
        if (f < p->d.low_mhz || f > p->d.high_mhz)
            continue;
        first = n ? first : c;
        end = c + 1;
        n++;
    }
    if (!n)
        return psr_fail_field(err, PSR_EINVAL, "band",
                              "edit: band %.10g:%.10g MHz holds no channel of %.10g to %.10g MHz",
                              p->d.low_mhz, p->d.high_mhz, psr_obs_lowest_mhz(&p->in),
                              psr_obs_highest_mhz(&p->in));
    if (n != end - first)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "band",
                              "edit: band %.10g:%.10g MHz: its channels are not side by side",
                              p->d.low_mhz, p->d.high_mhz);
    p->channels.first = first;
    p->channels.nchan = n;
    return PSR_OK;
}

static psr_status choose_channels(psr_edit *p, psr_err *err)
{
    const bool rising = psr_obs_band(&p->in).rising;
    const bool ranged = p->d.first_chan || p->d.end_chan;
    if (ranged && p->d.high_mhz > 0)
        return psr_fail_field(err, PSR_EINVAL, "band", "edit: chans and band, must be one of both");
    p->channels.nchan_in = p->in.nchan;
    p->channels.nbit = p->nbit;
    p->channels.reverse =
        (p->d.order == PSR_EDIT_UP && !rising) || (p->d.order == PSR_EDIT_DOWN && rising);
    return p->d.high_mhz > 0 ? take_band(p, err) : take_range(p, err);
}

static psr_status check_bytes(const psr_edit *p, psr_err *err)
{
    if (p->channels.nchan * (size_t)p->nbit % 8 == 0)
        return PSR_OK;
    return psr_fail_field(
        err, PSR_EINVAL, "chans",
        "edit: %zu channels of %d bits end within a byte, must be a multiple of %d",
        p->channels.nchan, p->nbit, 8 / p->nbit);
}

/* Samples that are neither summed nor of other bits are not touched. */
static psr_status make_values(psr_edit *p, psr_err *err)
{
    const bool rounds = p->kind == PSR_FLOAT && p->in.kind != PSR_FLOAT;
    const struct psr_edit_values_desc d = {.nchan = p->channels.nchan,
                                           .nbit = p->nbit,
                                           .kind = p->kind,
                                           .like_nbit = rounds ? p->in.nbit : 0,
                                           .like_kind = p->in.kind,
                                           .tsum = p->d.tsum,
                                           .fsum = p->d.fsum,
                                           .nbits = p->d.nbits,
                                           .nthread = p->nthread};
    psr_status st = psr_edit_values_create(&p->values, &d, err);
    if (st || d.tsum > 1 || d.fsum > 1 || psr_edit_values_nbit(p->values) != d.nbit ||
        psr_edit_values_kind(p->values) != d.kind)
        return st;
    psr_edit_values_destroy(p->values);
    p->values = NULL;
    return PSR_OK;
}

/* Centres of sums are the means of those of their channels. */
static void sum_band(struct psr_obs *out, size_t fsum)
{
    out->fch1_mhz = (psr_obs_freq_mhz(out, 0) + psr_obs_freq_mhz(out, fsum - 1)) / 2;
    out->foff_mhz = out->foff_mhz * (double)fsum;
    out->nchan /= fsum;
    for (size_t k = 0; out->freq_mhz && k < out->nchan; k++) {
        double sum = 0;
        for (size_t f = 0; f < fsum; f++)
            sum += out->freq_mhz[k * fsum + f];
        out->freq_mhz[k] = sum / (double)fsum;
    }
    if (out->freq_mhz)
        out->fch1_mhz = out->freq_mhz[0];
}

/* After the channels, before sums: delays are in spectra of the input. */
static psr_status make_shift(psr_edit *p, psr_err *err)
{
    if (p->d.dm == 0)
        return PSR_OK;
    struct psr_obs *out = &p->out;
    out->nbit = p->nbit;
    out->kind = p->kind;
    psr_status st = psr_edit_shift_create(&p->shift, out, p->d.dm, err);
    if (st)
        return st;
    out->refdm = p->d.dm;
    if (p->count < 0 || p->count > psr_edit_shift_max(p->shift))
        return PSR_OK;
    return psr_fail_field(err, PSR_EINVAL, "dm",
                          "edit: dm %g is a delay of %lld spectra, the range has %lld", p->d.dm,
                          (long long)psr_edit_shift_max(p->shift), (long long)p->count);
}

static psr_status set_samples(psr_edit *p, psr_err *err)
{
    const int64_t lost = p->shift ? psr_edit_shift_max(p->shift) : 0,
                  count = p->count < 0 ? -1 : p->count - lost;
    p->out.nsamp = count;
    p->out.nbit = p->nbit;
    p->out.kind = p->kind;
    if (!p->values)
        return PSR_OK;
    if (p->d.fsum > 1)
        sum_band(&p->out, (size_t)p->d.fsum);
    p->out.nbit = psr_edit_values_nbit(p->values);
    p->out.kind = psr_edit_values_kind(p->values);
    p->out.tsamp_s *= (double)p->d.tsum;
    if (count < 0)
        return PSR_OK;
    p->out.nsamp = count / p->d.tsum;
    if (p->out.nsamp > 0)
        return PSR_OK;
    return psr_fail_field(err, PSR_EINVAL, "tsum",
                          "edit: tsum %lld, must be at most the %lld spectra of the range",
                          (long long)p->d.tsum, (long long)count);
}

psr_status psr_edit_lay_out(psr_edit *p, psr_err *err)
{
    psr_status st = psr_obs_copy(&p->cut, &p->in, err);
    if (st)
        return st;
    if (p->start > 0) {
        p->cut.began = p->in.tstart;
        p->cut.tstart = psr_mjd_add(p->in.tstart, (double)p->start * p->in.tsamp_s);
    }
    p->cut.nsamp = p->in.nsamp < 0 ? -1 : p->in.nsamp - p->start;
    st = edit_clean_create(p, err);
    if (!st)
        st = choose_channels(p, err);
    if (!st)
        st = psr_obs_copy(&p->out, &p->cut, err);
    if (st)
        return st;
    /* The whole band as it is keeps what its header says, to the last bit. */
    const struct psr_edit_channels *c = &p->channels;
    const size_t last = c->first + c->nchan - 1, first = c->reverse ? last : c->first;
    p->out.nchan = c->nchan;
    if (first > 0)
        p->out.fch1_mhz = psr_obs_freq_mhz(&p->in, first);
    if (c->reverse)
        p->out.foff_mhz = -p->out.foff_mhz;
    for (size_t k = 0; p->out.freq_mhz && k < c->nchan; k++)
        p->out.freq_mhz[k] = p->in.freq_mhz[c->reverse ? last - k : c->first + k];
    if (p->out.freq_mhz)
        p->out.fch1_mhz = p->out.freq_mhz[0];
    st = check_bytes(p, err);
    if (!st)
        st = make_shift(p, err);
    if (!st)
        st = make_values(p, err);
    return st ? st : set_samples(p, err);
}

/* Copies text without the suffix; false if it does not end so, or is longer than any number. */
static bool cut_suffix(char *number, size_t room, const char *text, const char *suffix)
{
    const size_t n = strlen(text), nsuffix = strlen(suffix);
    if (n <= nsuffix || n - nsuffix >= room || strcmp(text + n - nsuffix, suffix) != 0)
        return false;
    memcpy(number, text, n - nsuffix);
    number[n - nsuffix] = '\0';
    return true;
}

static psr_status find_date(const char *what, const char *text, const char *number,
                            const struct psr_obs *obs, double *spectra, psr_err *err)
{
    struct psr_mjd date;
    psr_status st = edit_date(what, number, &date, err);
    if (st)
        return st;
    const double seconds = psr_mjd_diff_s(obs->tstart, date);
    *spectra = rint(seconds / obs->tsamp_s);
    if (*spectra >= 0)
        return PSR_OK;
    return psr_fail_field(err, PSR_EINVAL, what, "%s: %s is %.9g s before the first spectrum", what,
                          text, -seconds);
}

static psr_status find_spectrum(const char *what, const char *text, const struct psr_obs *obs,
                                double *spectra, psr_err *err)
{
    char number[64];
    double seconds = 0;
    int64_t count = 0;
    psr_status st;
    if (cut_suffix(number, sizeof number, text, "smp")) {
        st = psr_parse_int(what, number, 0, (int64_t)spectra_max, &count, err);
        *spectra = (double)count;
        return st;
    }
    if (cut_suffix(number, sizeof number, text, "mjd"))
        return find_date(what, text, number, obs, spectra, err);
    st = psr_parse_double(what, text, 0, seconds_max, &seconds, err);
    *spectra = rint(seconds / obs->tsamp_s);
    return st;
}

/* The spectrum nearest to a time, as for psr_edit_desc.
 * Given:    what   "start" or "end", for messages
 *           obs   from the first spectrum on
 * Returned: *spectrum, 0 or more
 * Status:   PSR_EINVAL */
static psr_status edit_time(const char *what, const char *text, const struct psr_obs *obs,
                            int64_t *spectrum, psr_err *err)
{
    psr_err why;
    double spectra = 0;
    psr_status st = find_spectrum(what, text, obs, &spectra, &why);
    if (st)
        return psr_fail_field(err, st, what, "edit: %.500s", why.msg);
    if (spectra > spectra_max)
        return psr_fail_field(err, PSR_EINVAL, what, "edit: %s: %s is %g spectra, must be below %g",
                              what, text, spectra, spectra_max);
    *spectrum = (int64_t)spectra;
    return PSR_OK;
}

psr_status psr_edit_find_range(psr_edit *p, psr_err *err)
{
    const int64_t nsamp = p->in.nsamp;
    int64_t end = nsamp;
    psr_status st = PSR_OK;
    p->start = 0;
    if (p->d.format == PSR_EDIT_YOUR)
        return psr_edit_cutout_range(p->d.burst, &p->in, p->d.tsum, &p->start, &p->count, err);
    if (p->d.start)
        st = edit_time("start", p->d.start, &p->in, &p->start, err);
    if (!st && p->d.end)
        st = edit_time("end", p->d.end, &p->in, &end, err);
    if (st)
        return st;
    if (nsamp >= 0 && p->start >= nsamp)
        return psr_fail_field(err, PSR_EINVAL, "start",
                              "edit: start %s is spectrum %lld, the input has %lld", p->d.start,
                              (long long)p->start, (long long)nsamp);
    if (nsamp >= 0 && end > nsamp)
        return psr_fail_field(err, PSR_EINVAL, "end",
                              "edit: end %s is spectrum %lld, the input has %lld", p->d.end,
                              (long long)end, (long long)nsamp);
    if (p->d.end && end <= p->start)
        return psr_fail_field(err, PSR_EINVAL, "end",
                              "edit: end %s is spectrum %lld, must be after the start, %lld",
                              p->d.end, (long long)end, (long long)p->start);
    p->count = end < 0 ? -1 : end - p->start;
    return PSR_OK;
}

enum { NFIELD = sizeof fields / sizeof *fields };

static psr_status fail_unknown(const char *text, psr_err *err)
{
    char keys[256] = "";
    for (size_t i = 0; i < NFIELD; i++)
        snprintf(keys + strlen(keys), sizeof keys - strlen(keys), "%s%s", i ? " " : "",
                 fields[i].key);
    return psr_fail_field(err, PSR_EINVAL, "set",
                          "edit: set '%.80s', must be KEY=VALUE, KEY one of %s", text, keys);
}

static psr_status apply(struct psr_obs *obs, const char *text, psr_err *err)
{
    psr_err why;
    char what[64];
    for (size_t i = 0; i < NFIELD; i++) {
        const size_t n = strlen(fields[i].key);
        if (strncmp(text, fields[i].key, n) != 0 || text[n] != '=')
            continue;
        if (fields[i].band && obs->freq_mhz)
            return psr_fail_field(err, PSR_EUNSUPPORTED, "set",
                                  "edit: set %s: the input has a table of frequencies",
                                  fields[i].key);
        snprintf(what, sizeof what, "edit: set %s", fields[i].key);
        psr_status st = fields[i].set(obs, what, text + n + 1, &why);
        return st ? psr_fail_field(err, st, "set", "%.500s", why.msg) : PSR_OK;
    }
    return fail_unknown(text, err);
}

psr_status psr_edit_correct(psr_edit *p, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < p->d.nset && !st; i++)
        st = apply(&p->in, p->d.set[i], err);
    return st || !p->d.nset ? st : psr_obs_check(&p->in, "edit: set", err);
}

/* Reads DADA headers of spectra. */
#include "base/base.h"
#include "base/input/dada_ring.h"
#include "base/obs_internal.h"
#include "dada_internal.h"
#include "formats/spectra/spectra_reader.h"
#include "formats/spectra/unpack.h"
#include <psrkit/experimental/dada.h>
#include <psrkit/experimental/source.h>

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Values of a header that struct psr_obs has in another form, or that must be what they are. */
struct fields {
    int64_t header_bytes, nchan, nbit, npol, ndim, nbeam, beam, nant, obs_offset;
    double freq_mhz, bw_mhz, tsamp_us;
};

/* --- samples ---------------------------------------------------------------------------------- */

/* What is no spectrum of one beam. */
static psr_status check_kind(const struct psr_header_keys *k, const struct fields *f, psr_err *err)
{
    const char *state = psr_header_keys_text(k, "STATE");
    const struct {
        const char *key;
        int64_t value;
    } one[] = {{"NBEAM", f->nbeam}, {"NANT", f->nant}};
    if (f->ndim != 1)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "NDIM",
                              "%s: NDIM is %d, voltages or products of them, must be 1: spectra",
                              k->name, (int)f->ndim);
    if (state && (!strcmp(state, "Nyquist") || !strcmp(state, "Analytic")))
        return psr_fail_field(err, PSR_EUNSUPPORTED, "STATE",
                              "%s: STATE is %s, voltages, must be that of spectra, as Intensity",
                              k->name, state);
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        if (one[i].value != 1)
            return psr_fail_field(err, PSR_EUNSUPPORTED, one[i].key, "%s: %s is %lld, must be 1",
                                  k->name, one[i].key, (long long)one[i].value);
    return PSR_OK;
}

/* Letters, the slowest first; of one polarisation P may be anywhere. */
static psr_status check_order(const struct psr_header_keys *k, const struct fields *f, psr_err *err)
{
    static const char *const any[] = {"TPF"}, *const one[] = {"TF", "TFP", "TPF", "PTF"};
    const char *text = psr_header_keys_text(k, "ORDER"), *order = text ? text : "TFP";
    const char *const *known = f->npol == 1 ? one : any;
    const size_t n = f->npol == 1 ? sizeof one / sizeof *one : sizeof any / sizeof *any;
    for (size_t i = 0; i < n; i++)
        if (!strcmp(order, known[i]))
            return PSR_OK;
    return psr_fail_field(
        err, PSR_EUNSUPPORTED, "ORDER", "%s: ORDER is %.64s%s with NPOL %d, must be %s", k->name,
        order, text ? "" : ", as there is none,", (int)f->npol, f->npol == 1 ? "TF" : "TPF");
}

/* NBIT 32 is floats; whole numbers are unsigned where nothing else is said. */
static psr_status fill_samples(struct psr_obs *obs, const struct psr_header_keys *k,
                               const struct fields *f, psr_err *err)
{
    const char *encoding = psr_header_keys_text(k, "ENCODING");
    const bool is_signed = encoding && !strncmp(encoding, "TWOS", 4);
    if ((f->nbit & (f->nbit - 1)) || f->nbit > 32)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "NBIT",
                              "%s: NBIT is %d, must be 1, 2, 4, 8, 16 or 32", k->name,
                              (int)f->nbit);
    if (encoding && !is_signed && strncmp(encoding, "OFFSET", 6) != 0)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "ENCODING",
                              "%s: ENCODING is %.64s, must be TWOSCOMPLEMENT or OFFSETBINARY",
                              k->name, encoding);
    if (is_signed && f->nbit < 8)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "ENCODING",
                              "%s: ENCODING is %.64s with NBIT %d, must be OFFSETBINARY", k->name,
                              encoding, (int)f->nbit);
    obs->nchan = (size_t)f->nchan;
    obs->nif = (int)f->npol;
    const char *state = psr_header_keys_text(k, "STATE");
    obs->pols = state ? psr_pols_find(state) : PSR_POLS_UNKNOWN;
    /* An intensity is one: of several it says nothing. */
    if (f->npol > 1 && obs->pols == PSR_POLS_INTENSITY)
        obs->pols = PSR_POLS_UNKNOWN;
    obs->nbit = (int)f->nbit;
    obs->kind = f->nbit == 32 ? PSR_FLOAT : is_signed ? PSR_INT : PSR_UINT;
    return PSR_OK;
}

/* --- the band and the rest -------------------------------------------------------------------- */

/* Of two keys that mean the same. */
static const char *choose_key(const struct psr_header_keys *k, const char *key, const char *other)
{
    return psr_header_keys_text(k, other) ? other : key;
}

static psr_status fill_band(struct psr_obs *obs, const struct psr_header_keys *k, struct fields *f,
                            psr_err *err)
{
    const struct psr_header_number numbers[] = {
        {choose_key(k, "FREQ", "CFREQ"), true, 1e-3, 1e9, NULL, &f->freq_mhz},
        {choose_key(k, "BW", "BANDWIDTH"), true, -1e9, 1e9, NULL, &f->bw_mhz},
        {"TSAMP", true, 1e-6, 1e12, NULL, &f->tsamp_us},
    };
    psr_status st = psr_header_keys_numbers(k, numbers, sizeof numbers / sizeof *numbers, err);
    if (st)
        return st;
    if (f->bw_mhz == 0 || f->freq_mhz <= fabs(f->bw_mhz) / 2)
        return psr_fail_field(err, PSR_EFORMAT, "BW",
                              "%s: BW is %g MHz about %g MHz, must not be 0 nor go below 0",
                              k->name, f->bw_mhz, f->freq_mhz);
    obs->tsamp_s = f->tsamp_us / 1e6;
    obs->foff_mhz = f->bw_mhz / (double)f->nchan;
    obs->fch1_mhz = f->freq_mhz - (f->bw_mhz - obs->foff_mhz) / 2;
    return PSR_OK;
}

static psr_status fill(struct psr_obs *obs, const struct psr_header_keys *k,
                       const struct psr_notes *notes, psr_err *err)
{
    struct fields f = {.nchan = 0};
    const struct psr_header_number counts[] = {
        {"NCHAN", true, 1, 1 << 20, &f.nchan, NULL},
        {"NBIT", true, 1, 64, &f.nbit, NULL},
        {"NPOL", false, 1, 4, &f.npol, NULL},
        {"NDIM", false, 1, 4, &f.ndim, NULL},
        {"NBEAM", false, 1, INT32_MAX, &f.nbeam, NULL},
        {"BEAM", false, 0, INT32_MAX, &f.beam, NULL},
        {"NANT", false, 1, 1 << 18, &f.nant, NULL},
        {"OBS_OFFSET", false, 0, 9e18, &f.obs_offset, NULL},
    };
    f.npol = f.ndim = f.nbeam = f.nant = 1;
    psr_status st = psr_header_keys_numbers(k, counts, sizeof counts / sizeof *counts, err);
    if (!st)
        st = check_kind(k, &f, err);
    if (!st)
        st = check_order(k, &f, err);
    if (!st)
        st = fill_samples(obs, k, &f, err);
    if (!st)
        st = fill_band(obs, k, &f, err);
    if (!st) {
        const int64_t bits = f.nchan * f.nbit * f.npol, bytes = bits / 8;
        st = psr_dada_read_start(k, (double)bits / 8 / obs->tsamp_s, &obs->tstart, err);
        if (!st && bytes && f.obs_offset % bytes)
            st = psr_fail_field(err, PSR_EFORMAT, "OBS_OFFSET",
                                "%s: OBS_OFFSET is %lld, must be a multiple of the %lld bytes of a "
                                "spectrum",
                                k->name, (long long)f.obs_offset, (long long)bytes);
        if (!st && !psr_header_keys_text(k, "UTC_START") && !psr_header_keys_text(k, "MJD_START"))
            psr_note(notes, "%s: the header has no UTC_START or MJD_START: MJD 0 is taken",
                     k->name);
    }
    if (st)
        return st;
    obs->ibeam = (int)f.beam;
    obs->has_position = psr_header_keys_position(k, "RA", "DEC", &obs->ra_deg, &obs->dec_deg);
    psr_header_keys_copy(k, "SOURCE", obs->source);
    psr_header_keys_copy(k, "TELESCOPE", obs->telescope);
    psr_header_keys_copy(k, "INSTRUMENT", obs->instrument);
    obs->telescope_id = psr_telescope_id(obs->telescope);
    return psr_obs_check(obs, k->name, err);
}

/* --- headers ---------------------------------------------------------------------------------- */

/* The keys of the first size bytes, and the size that they give. */
static psr_status read_keys(struct psr_header_keys *k, const void *bytes, size_t n, int64_t size,
                            int64_t *given, bool *need_more, psr_err *err)
{
    psr_header_keys_clear(k);
    *given = size;
    *need_more = (int64_t)n < size;
    if (*need_more)
        return psr_fail_field(err, PSR_EFORMAT, "HDR_SIZE",
                              "%s: ends within its header of %lld bytes", k->name, (long long)size);
    psr_status st = psr_header_keys_lines(k, bytes, (size_t)size, err);
    return st ? st : psr_dada_read_size(k, given, err);
}

psr_status psr_dada_parse_spectra(struct psr_obs *obs, size_t *header_bytes, bool *need_more,
                                  const void *bytes, size_t n, const char *name,
                                  const struct psr_notes *notes, psr_err *err)
{
    struct psr_header_keys k = {.name = name};
    int64_t size, again;
    psr_obs_init(obs);
    psr_status st = read_keys(&k, bytes, n, PSR_DADA_HEADER, &size, need_more, err);
    if (!st)
        st = read_keys(&k, bytes, n, size, &again, need_more, err);
    *header_bytes = (size_t)size;
    if (!st && again != size)
        st = psr_fail_field(err, PSR_EFORMAT, "HDR_SIZE", "%s: HDR_SIZE is %lld, and it is %lld",
                            name, (long long)size, (long long)again);
    if (!st)
        st = fill(obs, &k, notes, err);
    if (st)
        psr_obs_clear(obs);
    psr_header_keys_clear(&k);
    return st;
}

psr_status psr_dada_parse_start(struct psr_spectra_header *h, const struct psr_spectra_start *start,
                                psr_err *err)
{
    return psr_dada_parse_spectra(&h->obs, &h->bytes, &h->need_more, start->bytes, start->n,
                                  start->name, start->notes, err);
}

psr_status psr_dada_open(struct psr_reader **out, const char *path,
                         const struct psr_source_desc *desc, psr_err *err)
{
    return psr_spectra_reader_open(out, path, desc, psr_dada_parse_start, err);
}

/* --- writing ---------------------------------------------------------------------------------- */

enum { NANOSECOND_PS = 1000 }; /* a date has no more than some 10 ps */

/* A header under construction: zeros follow its text. */
struct header_text {
    char bytes[PSR_DADA_HEADER];
    size_t n;
};

__attribute__((format(printf, 2, 3))) static void put(struct header_text *h, const char *format,
                                                      ...)
{
    va_list ap;
    va_start(ap, format);
    const int n = psr_c_locale_vsnprintf(h->bytes + h->n, sizeof h->bytes - h->n, format, ap);
    va_end(ap);
    h->n += n > 0 ? (size_t)n : 0;
}

/* A value ends at a blank or #. */
static void put_word(struct header_text *h, const char *key, const char *text)
{
    char word[PSR_TEXT_MAX];
    size_t n = 0;
    for (; n + 1 < sizeof word && text[n]; n++)
        word[n] = isgraph((unsigned char)text[n]) && text[n] != '#' ? text[n] : '_';
    word[n] = '\0';
    if (n && strcmp(word, "Unknown") != 0)
        put(h, "%s %s\n", key, word);
}

/* Hours or degrees to 1e-7 of a second, rounded once so that no 60 appears. */
static void put_angle(struct header_text *h, const char *key, double value)
{
    const int64_t tick = 10000000, units = llround(fabs(value) * 3600 * (double)tick);
    put(h, "%s %s%02d:%02d:%02d.%07d\n", key, value < 0 && units ? "-" : "",
        (int)(units / (3600 * tick)), (int)(units / (60 * tick) % 60), (int)(units / tick % 60),
        (int)(units % tick));
}

/* Microseconds that are divided by 10^6 to the same number again, where there are any. */
static double microseconds(double seconds)
{
    double us = seconds * 1e6;
    if (us / 1e6 < seconds)
        us = nextafter(us, INFINITY);
    else if (us / 1e6 > seconds)
        us = nextafter(us, 0);
    return us;
}

static void put_samples(struct header_text *h, const struct psr_obs *obs)
{
    const size_t bytes = psr_row_bytes(obs->nchan, obs->nbit) * (size_t)obs->nif;
    put(h, "NCHAN %zu\nNPOL %d\nNBIT %d\nNDIM 1\nORDER %s\n", obs->nchan, obs->nif, obs->nbit,
        obs->nif == 1 ? "TF" : "TPF");
    const char *state = obs->nif == 1 ? "Intensity"
                        : obs->nif == 2 && obs->pols == PSR_POLS_UNKNOWN
                            ? "PPQQ"
                            : psr_pols_state(obs->pols);
    if (state)
        put(h, "STATE %s\n", state);
    if (obs->nbit < 32)
        put(h, "ENCODING %s\n", obs->kind == PSR_INT ? "TWOSCOMPLEMENT" : "OFFSETBINARY");
    put(h, "TSAMP %.17g\nRESOLUTION %zu\nBYTES_PER_SECOND %.12g\n", microseconds(obs->tsamp_s),
        bytes, (double)bytes / obs->tsamp_s);
}

static psr_status check_writable(const struct psr_obs *obs, psr_err *err)
{
    const int nif_max = 4;
    psr_status st = psr_obs_check(obs, "DADA header", err);
    if (st)
        return st;
    if (obs->freq_mhz)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "freq_mhz",
                              "DADA header: a table of %zu frequencies, must be equally spaced",
                              obs->nchan);
    if (obs->foff_mhz == 0)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "foff",
                              "DADA header: foff = 0 MHz, must not be");
    if (obs->nif > nif_max)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nifs",
                              "DADA header: nifs = %d, must be 1 to %d", obs->nif, nif_max);
    if (obs->kind == PSR_UINT && obs->nbit == 32)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nbit",
                              "DADA header: whole numbers of 32 bits, must be at most 16");
    if (obs->barycentric)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "barycentric",
                              "DADA header: barycentric spectra, must be topocentric");
    return PSR_OK;
}

psr_status psr_dada_write_spectra(psr_outfile *f, const struct psr_obs *obs, psr_err *err)
{
    struct header_text h = {.n = 0};
    psr_status st = check_writable(obs, err);
    if (st)
        return st;
    put(&h, "HDR_VERSION 1.0\nHDR_SIZE %d\n", (int)PSR_DADA_HEADER);
    put_samples(&h, obs);
    /* FREQ is the middle of the band. */
    const double bw_mhz = obs->foff_mhz * (double)obs->nchan;
    put(&h, "FREQ %.17g\nBW %.17g\n", obs->fch1_mhz + (bw_mhz - obs->foff_mhz) / 2, bw_mhz);
    h.n += (size_t)psr_dada_print_start(h.bytes + h.n, sizeof h.bytes - h.n, obs->tstart,
                                        NANOSECOND_PS);
    put(&h, "OBS_OFFSET 0\n");
    put_word(&h, "TELESCOPE", obs->telescope);
    put_word(&h, "INSTRUMENT", obs->instrument);
    put_word(&h, "SOURCE", obs->source);
    if (obs->has_position) {
        put_angle(&h, "RA", obs->ra_deg / 15);
        put_angle(&h, "DEC", obs->dec_deg);
    }
    if (obs->ibeam > 0)
        put(&h, "BEAM %d\n", obs->ibeam);
    return psr_outfile_write(f, h.bytes, sizeof h.bytes, err);
}

psr_status psr_spectra_write_header(psr_outfile *f, const char *path, const struct psr_obs *obs,
                                    psr_err *err)
{
    return psr_dada_ring_is_name(path) ? psr_dada_write_spectra(f, obs, err)
                                       : psr_sigproc_write(f, obs, PSR_SIGPROC_FILTERBANK, err);
}

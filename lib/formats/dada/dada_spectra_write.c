/* Writes DADA headers of spectra. */
#include "base/c_locale.h"
#include "base/input/dada_ring.h"
#include "base/obs_internal.h"
#include "dada_internal.h"
#include "formats/spectra/polarisation.h"
#include "formats/spectra/source_internal.h"
#include "formats/spectra/unpack.h"

#include <psrkit/experimental/dada.h>
#include <psrkit/experimental/source.h>

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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

/* FREQ is the middle of the band. */
static void put_band(struct header_text *h, const struct psr_obs *obs)
{
    const double bw_mhz = obs->foff_mhz * (double)obs->nchan;
    put(h, "FREQ %.17g\nBW %.17g\n", obs->fch1_mhz + (bw_mhz - obs->foff_mhz) / 2, bw_mhz);
}

static void put_origin(struct header_text *h, const struct psr_obs *obs)
{
    put_word(h, "TELESCOPE", obs->telescope);
    put_word(h, "INSTRUMENT", obs->instrument);
    put_word(h, "SOURCE", obs->source);
    if (obs->has_position) {
        put_angle(h, "RA", obs->ra_deg / 15);
        put_angle(h, "DEC", obs->dec_deg);
    }
    if (obs->ibeam > 0)
        put(h, "BEAM %d\n", obs->ibeam);
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
    put_band(&h, obs);
    h.n += (size_t)psr_dada_print_start(h.bytes + h.n, sizeof h.bytes - h.n, obs->tstart,
                                        NANOSECOND_PS);
    put(&h, "OBS_OFFSET 0\n");
    put_origin(&h, obs);
    return psr_outfile_write(f, h.bytes, sizeof h.bytes, err);
}

psr_status psr_spectra_write_header(psr_outfile *f, const char *path, const struct psr_obs *obs,
                                    psr_err *err)
{
    return psr_dada_ring_is_name(path) ? psr_dada_write_spectra(f, obs, err)
                                       : psr_sigproc_write(f, obs, PSR_SIGPROC_FILTERBANK, err);
}

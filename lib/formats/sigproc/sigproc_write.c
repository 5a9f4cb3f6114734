/* Writes SIGPROC headers. */
#include "base/obs_internal.h"
#include "formats/spectra/spectra_reader.h"
#include "sigproc_header.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A header under construction; psr_sigproc_write gives room enough for any. */
struct header_text {
    unsigned char *bytes;
    size_t n, room;
    bool big_endian;
};

static void put_number(struct header_text *h, uint64_t v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        h->bytes[h->n++] = (unsigned char)(v >> 8 * (h->big_endian ? n - 1 - i : i));
}

static void put_string(struct header_text *h, const char *text)
{
    size_t n = strnlen(text, PSR_SIGPROC_KEY_MAX);
    put_number(h, n, 4);
    memcpy(h->bytes + h->n, text, n);
    h->n += n;
}

static void put_int(struct header_text *h, const char *key, int v)
{
    put_string(h, key);
    put_number(h, (uint32_t)v, 4);
}

static void put_double(struct header_text *h, const char *key, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    put_string(h, key);
    put_number(h, bits, 8);
}

/* Hours or degrees x 10000 + minutes x 100 + seconds. */
static double write_angle(double units)
{
    /* Whole ticks of 1e-7 s: no seconds ever read 60, and one division gives the nearest double. */
    const int64_t tick = 10000000;
    int64_t t = llround(fabs(units) * 3600 * (double)tick);
    int64_t whole = t / (3600 * tick), minutes = t / (60 * tick) % 60, seconds = t % (60 * tick);
    double v = (double)((whole * 10000 + minutes * 100) * tick + seconds) / (double)tick;
    return copysign(v, units);
}

/* SIGPROC and PRESTO print rawdatafile, and make no other use of it. */
static void put_state(struct header_text *h, const struct psr_obs *obs)
{
    char text[PSR_SIGPROC_KEY_MAX];
    const char *state = psr_pols_state(obs->pols);
    if (obs->nif < 2 || !state)
        return;
    snprintf(text, sizeof text, "psrkit" PSR_SIGPROC_STATE "%s", state);
    put_string(h, "rawdatafile");
    put_string(h, text);
}

static void put_origin(struct header_text *h, const struct psr_obs *obs)
{
    if (*obs->source) {
        put_string(h, "source_name");
        put_string(h, obs->source);
    }
    put_state(h, obs);
    put_int(h, "machine_id", obs->machine_id);
    put_int(h, "telescope_id", obs->telescope_id);
    if (obs->has_position) {
        put_double(h, "src_raj", write_angle(obs->ra_deg / 15));
        put_double(h, "src_dej", write_angle(obs->dec_deg));
    }
    if (obs->az_deg != 0 || obs->za_deg != 0) {
        put_double(h, "az_start", obs->az_deg);
        put_double(h, "za_start", obs->za_deg);
    }
}

static void put_band(struct header_text *h, const struct psr_obs *obs)
{
    put_double(h, "fch1", obs->fch1_mhz);
    put_double(h, "foff", obs->foff_mhz);
    if (obs->freq_mhz) {
        put_string(h, "FREQUENCY_START");
        for (size_t c = 0; c < obs->nchan; c++)
            put_double(h, "fchannel", obs->freq_mhz[c]);
        put_string(h, "FREQUENCY_END");
    }
    put_int(h, "nchans", (int)obs->nchan);
}

/* Returned: h->bytes, malloc'd; NULL on error */
static psr_status make_header(struct header_text *h, const struct psr_obs *obs, int data_type,
                              psr_err *err)
{
    const size_t room_keys = 1024, room_channel = 20;
    h->room = room_keys + (obs->freq_mhz ? obs->nchan * room_channel : 0);
    const size_t room = h->room;
    psr_status st = psr_obs_check(obs, "SIGPROC header", err);
    if (st)
        return st;
    if (obs->kind == PSR_INT && obs->nbit != 8)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "kind",
                              "SIGPROC header: signed samples of %d bits, must be 8", obs->nbit);
    if (obs->kind == PSR_UINT && obs->nbit == 32)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nbit",
                              "SIGPROC header: whole numbers of 32 bits, must be at most 16");
    if (data_type == PSR_SIGPROC_SERIES && obs->nchan != 1)
        return psr_fail_field(err, PSR_EINVAL, "nchans",
                              "SIGPROC header: nchans = %zu of a time series, must be 1",
                              obs->nchan);
    if (room > PSR_SIGPROC_HEADER_MAX)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "freq_mhz",
                              "SIGPROC header: a table of %zu frequencies, must be below %d bytes",
                              obs->nchan, PSR_SIGPROC_HEADER_MAX);

    h->bytes = malloc(h->room);
    if (!h->bytes)
        return psr_fail_nomem(err, "SIGPROC header", (double)h->room);
    put_string(h, "HEADER_START");
    put_origin(h, obs);
    put_int(h, "data_type", data_type);
    if (data_type == PSR_SIGPROC_SERIES || obs->refdm != 0)
        put_double(h, "refdm", obs->refdm);
    put_band(h, obs);
    put_int(h, "nbits", obs->nbit);
    put_double(h, "tstart", (double)obs->tstart.day + obs->tstart.frac);
    put_double(h, "tsamp", obs->tsamp_s);
    put_int(h, "nifs", obs->nif);
    if (obs->ibeam > 0 || obs->nbeam > 0) {
        put_int(h, "ibeam", obs->ibeam);
        put_int(h, "nbeams", obs->nbeam);
    }
    if (obs->barycentric)
        put_int(h, "barycentric", 1);
    if (obs->kind == PSR_INT) {
        put_string(h, "signed");
        put_number(h, 1, 1);
    }
    put_string(h, "HEADER_END");
    return PSR_OK;
}

psr_status psr_sigproc_make_header(unsigned char **bytes, size_t *n, const struct psr_obs *obs,
                                   int data_type, psr_err *err)
{
    struct header_text h = {.n = 0};
    psr_status st = make_header(&h, obs, data_type, err);
    *bytes = h.bytes;
    *n = h.n;
    return st;
}

static psr_status write_header(psr_outfile *f, const struct psr_obs *obs, int data_type,
                               bool big_endian, psr_err *err)
{
    struct header_text h = {.big_endian = big_endian};
    psr_status st = make_header(&h, obs, data_type, err);
    if (!st)
        st = psr_outfile_write(f, h.bytes, h.n, err);
    free(h.bytes);
    return st;
}

psr_status psr_sigproc_write(psr_outfile *f, const struct psr_obs *obs, int data_type, psr_err *err)
{
    return write_header(f, obs, data_type, false, err);
}

psr_status psr_sigproc_write_swapped(psr_outfile *f, const struct psr_obs *obs, int data_type,
                                     psr_err *err)
{
    return write_header(f, obs, data_type, true, err);
}

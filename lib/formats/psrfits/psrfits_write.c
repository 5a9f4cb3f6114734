/* Writes PSRFITS search-mode files as a stream. */
#include <psrkit/experimental/source.h>

#include "base/base.h"
#include "base/obs_internal.h"
#include "base/output/outfile_internal.h"
#include "base/portable.h"
#include "formats/spectra/spectra_reader.h"
#include "formats/spectra/unpack.h"
#include <psrkit/obs.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK = 2880, CARD = 80, HEADER_ROOM = 4 * BLOCK };

struct psr_psrfits {
    psr_outfile *file;
    struct psr_obs obs;
    size_t nsblk, spectrum_bytes;
    size_t front_bytes; /* of a row, before its samples */
    uint8_t *row;
    size_t filled;    /* spectra in row */
    int64_t appended; /* spectra in all */
};

/* --- header cards ----------------------------------------------------------------------------- */

struct header {
    char text[HEADER_ROOM];
    size_t n;
};

static void put_card(struct header *h, const char *key, const char *value)
{
    char card[CARD + 1];
    snprintf(card, sizeof card, "%-8.8s= %.70s", key, value);
    size_t n = strlen(card);
    memset(h->text + h->n, ' ', CARD);
    memcpy(h->text + h->n, card, n);
    h->n += CARD;
}

static void put_text(struct header *h, const char *key, const char *text)
{
    char value[CARD];
    snprintf(value, sizeof value, "'%-8.60s'", text);
    for (char *c = value + 1; *c; c++) /* a quote within would end the text */
        if (*c == '\'' && c[1])
            *c = ' ';
    put_card(h, key, value);
}

static void put_number(struct header *h, const char *key, double number)
{
    char digits[40], value[CARD];
    psr_c_locale_snprintf(digits, sizeof digits, "%.17g", number);
    bool whole = strspn(digits, "-0123456789") == strlen(digits);
    snprintf(value, sizeof value, "%20s%s", digits, whole && fabs(number) > 1e15 ? "." : "");
    put_card(h, key, value);
}

static void put_logical(struct header *h, const char *key)
{
    put_card(h, key, "                   T");
}

static psr_status end_header(struct header *h, psr_outfile *f, psr_err *err)
{
    size_t end = (h->n + CARD + BLOCK - 1) / BLOCK * BLOCK;
    memset(h->text + h->n, ' ', end - h->n);
    memcpy(h->text + h->n, "END", 3);
    return psr_outfile_write(f, h->text, end, err);
}

/* Degrees or hours as 12:34:56.789. */
static void format_angle(char *text, size_t room, double units, bool sign)
{
    int64_t ms = llround(fabs(units) * 3600e3);
    snprintf(text, room, "%s%02d:%02d:%02d.%03d",
             units < 0 ? "-"
             : sign    ? "+"
                       : "",
             (int)(ms / 3600000), (int)(ms / 60000 % 60), (int)(ms / 1000 % 60), (int)(ms % 1000));
}

static psr_status write_primary(psr_outfile *f, const struct psr_obs *obs, psr_err *err)
{
    struct header h = {.n = 0};
    char ra[32], dec[32];
    struct psr_site site;
    const bool known = psr_site_find(obs->telescope, &site);
    double seconds = obs->tstart.frac * PSR_DAY_S, whole = floor(seconds);
    format_angle(ra, sizeof ra, obs->ra_deg / 15, false);
    format_angle(dec, sizeof dec, obs->dec_deg, true);
    const struct {
        const char *key, *text;
    } texts[] = {{"HDRVER", "6.1"},
                 {"FITSTYPE", "PSRFITS"},
                 {"OBS_MODE", "SEARCH"},
                 {"TELESCOP", obs->telescope},
                 {"OBSERVER", obs->observer},
                 {"PROJID", obs->project_id},
                 {"FRONTEND", "Unknown"},
                 {"BACKEND", obs->instrument},
                 {"SRC_NAME", obs->source},
                 {"TRK_MODE", "TRACK"},
                 {"FD_POLN", "LIN"},
                 {"BECONFIG", "N/A"},
                 {"COORD_MD", "J2000"},
                 {"RA", ra},
                 {"DEC", dec}};
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"OBSFREQ", obs->fch1_mhz + obs->foff_mhz * (double)(obs->nchan - 1) / 2},
                   {"OBSBW", obs->foff_mhz * (double)obs->nchan},
                   {"OBSNCHAN", (double)obs->nchan},
                   {"CHAN_DM", obs->chan_dm},
                   {"EQUINOX", 2000},
                   {"BE_PHASE", 0}, /* unknown */
                   {"BE_DCC", 0},
                   {"BE_DELAY", 0},
                   {"TCYCLE", 0},
                   {"STT_IMJD", (double)obs->tstart.day},
                   {"STT_SMJD", whole},
                   {"STT_OFFS", seconds - whole}};
    put_logical(&h, "SIMPLE");
    put_number(&h, "BITPIX", 8);
    put_number(&h, "NAXIS", 0);
    put_logical(&h, "EXTEND");
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        put_text(&h, texts[i].key, texts[i].text);
    if (obs->has_date)
        put_text(&h, "DATE-OBS", obs->date);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        put_number(&h, numbers[i].key, numbers[i].value);
    for (int i = 0; i < 3 && known; i++)
        put_number(&h, (const char *const[]){"ANT_X", "ANT_Y", "ANT_Z"}[i], site.xyz_m[i]);
    if (obs->beam_arcsec >= 0) {
        put_number(&h, "BMAJ", obs->beam_arcsec / 3600);
        put_number(&h, "BMIN", obs->beam_arcsec / 3600);
    }
    return end_header(&h, f, err);
}

static void put_column(struct header *h, int number, const char *name, size_t count, char letter)
{
    char key[16], form[32];
    snprintf(key, sizeof key, "TTYPE%d", number);
    put_text(h, key, name);
    snprintf(key, sizeof key, "TFORM%d", number);
    snprintf(form, sizeof form, "%zu%c", count, letter);
    put_text(h, key, form);
}

static psr_status write_table(psr_psrfits *w, psr_err *err)
{
    static const char *const polarisations[] = {[1] = "AA+BB", [2] = "AABB", [4] = "IQUV"};
    const struct psr_obs *obs = &w->obs;
    const size_t nscale = obs->nchan * (size_t)obs->nif, data = w->nsblk * w->spectrum_bytes;
    const int64_t rows = (obs->nsamp + (int64_t)w->nsblk - 1) / (int64_t)w->nsblk;
    const size_t unit = obs->nbit <= 8 ? 1 : (size_t)obs->nbit / 8;
    struct header h = {.n = 0};
    const struct {
        const char *key;
        double value;
    } sizes[] = {{"BITPIX", 8},
                 {"NAXIS", 2},
                 {"NAXIS1", (double)(w->front_bytes + data)},
                 {"NAXIS2", (double)rows},
                 {"PCOUNT", 0},
                 {"GCOUNT", 1},
                 {"TFIELDS", 7}},
      numbers[] = {{"TBIN", obs->tsamp_s},
                   {"NCHAN", (double)obs->nchan},
                   {"NPOL", obs->nif},
                   {"NBITS", obs->nbit},
                   {"NSBLK", (double)w->nsblk},
                   {"NSTOT", (double)obs->nsamp},
                   {"CHAN_BW", obs->foff_mhz},
                   {"ZERO_OFF", 0},
                   {"SIGNINT", obs->nbit == 16},
                   {"NSUBOFFS", 0},
                   {"NCHNOFFS", 0}};
    put_text(&h, "XTENSION", "BINTABLE");
    memcpy(h.text, "XTENSION= 'BINTABLE'", 20);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        put_number(&h, sizes[i].key, sizes[i].value);
    put_column(&h, 1, "TSUBINT", 1, 'D');
    put_column(&h, 2, "OFFS_SUB", 1, 'D');
    put_column(&h, 3, "DAT_FREQ", obs->nchan, 'D');
    put_column(&h, 4, "DAT_WTS", obs->nchan, 'E');
    put_column(&h, 5, "DAT_OFFS", nscale, 'E');
    put_column(&h, 6, "DAT_SCL", nscale, 'E');
    put_column(&h, 7, "DATA", data / unit, unit == 1 ? 'B' : unit == 2 ? 'I' : 'E');
    char shape[64];
    /* Below 8 bits Parkes' files, and sigpyproc, count channels and fewer spectra. */
    snprintf(shape, sizeof shape, "(%zu,%d,%zu)", obs->nchan, obs->nif,
             obs->nbit < 8 ? w->nsblk * (size_t)obs->nbit / 8 : w->nsblk);
    put_text(&h, "TDIM7", shape);
    put_text(&h, "EXTNAME", "SUBINT");
    put_text(&h, "INT_TYPE", "TIME");
    const bool coherence = obs->nif == 4 && obs->pols == PSR_POLS_COHERENCE;
    put_text(&h, "POL_TYPE", coherence ? "AABBCRCI" : polarisations[obs->nif]);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        put_number(&h, numbers[i].key, numbers[i].value);
    return end_header(&h, w->file, err);
}

/* --- rows ------------------------------------------------------------------------------------- */

static uint8_t *put_big64(uint8_t *at, double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits = bswap_64(bits);
    memcpy(at, &bits, sizeof bits);
    return at + sizeof bits;
}

static uint8_t *put_big32(uint8_t *at, float v)
{
    uint32_t bits;
    memcpy(&bits, &v, sizeof bits);
    bits = bswap_32(bits);
    memcpy(at, &bits, sizeof bits);
    return at + sizeof bits;
}

/* Everything of a row but its time and its samples is the same for all. */
static void fill_front(psr_psrfits *w)
{
    const struct psr_obs *obs = &w->obs;
    const size_t nscale = obs->nchan * (size_t)obs->nif;
    uint8_t *at = put_big64(w->row, (double)w->nsblk * obs->tsamp_s) + sizeof(double);
    for (size_t c = 0; c < obs->nchan; c++)
        at = put_big64(at, psr_obs_freq_mhz(obs, c));
    for (size_t c = 0; c < obs->nchan; c++)
        at = put_big32(at, 1);
    for (size_t i = 0; i < nscale; i++)
        at = put_big32(at, obs->nbit == 16 ? 32768 : 0);
    for (size_t i = 0; i < nscale; i++)
        at = put_big32(at, 1);
}

/* DAT_OFFS and DAT_SCL are the last columns before the samples. */
void psr_psrfits_set_scales(psr_psrfits *w, const float *scale, const float *offset)
{
    const size_t nscale = w->obs.nchan * (size_t)w->obs.nif;
    const float zero = w->obs.nbit == 16 ? 32768 : 0;
    uint8_t *at = w->row + w->front_bytes - 2 * nscale * sizeof(float);
    for (size_t i = 0; i < nscale; i++)
        at = put_big32(at, offset[i] + zero * scale[i]);
    for (size_t i = 0; i < nscale; i++)
        at = put_big32(at, scale[i]);
}

/* PSRFITS has the first channel in the high bits and numbers big-endian. */
static void convert_samples(uint8_t *out, const uint8_t *in, size_t bytes, int nbit)
{
    if (nbit <= 8)
        for (size_t i = 0; i < bytes; i++)
            out[i] = nbit == 8 ? in[i] : psr_byte_reverse(in[i], nbit);
    else if (nbit == 16)
        for (size_t i = 0; i < bytes; i += 2) {
            out[i] = in[i + 1] ^ 0x80; /* less 32768 */
            out[i + 1] = in[i];
        }
    else
        for (size_t i = 0; i < bytes; i += 4)
            for (size_t k = 0; k < 4; k++)
                out[i + k] = in[i + 3 - k];
}

static psr_status write_row(psr_psrfits *w, psr_err *err)
{
    double middle = ((double)w->appended - (double)w->filled + (double)w->nsblk / 2);
    put_big64(w->row + sizeof(double), middle * w->obs.tsamp_s);
    w->filled = 0;
    return psr_outfile_write(w->file, w->row, w->front_bytes + w->nsblk * w->spectrum_bytes, err);
}

psr_status psr_psrfits_append(psr_psrfits *w, const void *spectra, size_t nsamp, psr_err *err)
{
    const uint8_t *in = spectra;
    if ((int64_t)nsamp > w->obs.nsamp - w->appended)
        return psr_fail(err, PSR_EINVAL, "PSRFITS: more than the %lld spectra promised",
                        (long long)w->obs.nsamp);
    psr_status st = PSR_OK;
    while (nsamp > 0 && !st) {
        size_t n = w->nsblk - w->filled < nsamp ? w->nsblk - w->filled : nsamp;
        convert_samples(w->row + w->front_bytes + w->filled * w->spectrum_bytes, in,
                        n * w->spectrum_bytes, w->obs.nbit);
        in += n * w->spectrum_bytes;
        nsamp -= n;
        w->filled += n;
        w->appended += (int64_t)n;
        if (w->filled == w->nsblk)
            st = write_row(w, err);
    }
    return st;
}

psr_status psr_psrfits_finish(psr_psrfits *w, psr_err *err)
{
    static const char zeros[BLOCK] = {0};
    psr_status st = PSR_OK;
    if (w->appended != w->obs.nsamp)
        return psr_fail(err, PSR_EINVAL, "PSRFITS: %lld spectra of the %lld promised",
                        (long long)w->appended, (long long)w->obs.nsamp);
    if (w->filled > 0) {
        size_t used = w->filled * w->spectrum_bytes;
        memset(w->row + w->front_bytes + used, 0, w->nsblk * w->spectrum_bytes - used);
        st = write_row(w, err);
    }
    size_t over = (size_t)(psr_outfile_size(w->file) % BLOCK);
    return st || !over ? st : psr_outfile_write(w->file, zeros, BLOCK - over, err);
}

/* --- the writer ------------------------------------------------------------------------------- */

static psr_status check_writable(const struct psr_obs *obs, size_t nsblk, psr_err *err)
{
    psr_status st = psr_obs_check(obs, "PSRFITS header", err);
    if (st)
        return st;
    if (obs->nsamp < 1 || nsblk < 8 || nsblk % 8)
        return psr_fail(
            err, PSR_EINVAL,
            "PSRFITS: %lld spectra in rows of %zu; needs at least 1, and a multiple of 8",
            (long long)obs->nsamp, nsblk);
    if (obs->nif != 1 && obs->nif != 2 && obs->nif != 4)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nif",
                              "PSRFITS: %d polarisations, must be 1, 2 or 4", obs->nif);
    if (obs->kind != (obs->nbit == 32 ? PSR_FLOAT : PSR_UINT))
        return psr_fail_field(err, PSR_EUNSUPPORTED, "kind",
                              "PSRFITS: samples must be whole numbers of 1 to 16 bits, or floats");
    if (obs->nchan * (size_t)obs->nbit % 8)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "nbit",
                              "PSRFITS: %zu channels of %d bits end within a byte", obs->nchan,
                              obs->nbit);
    return PSR_OK;
}

psr_status psr_psrfits_create(psr_psrfits **out, psr_outfile *f, const struct psr_obs *obs,
                              size_t nsblk, psr_err *err)
{
    *out = NULL;
    psr_status st = check_writable(obs, nsblk, err);
    if (st)
        return st;
    psr_psrfits *w = calloc(1, sizeof *w);
    if (!w)
        return psr_fail_nomem(err, "PSRFITS writer", sizeof *w);
    w->file = f;
    w->nsblk = nsblk;
    w->spectrum_bytes = obs->nchan * (size_t)obs->nif * (size_t)obs->nbit / 8;
    w->front_bytes = 16 + obs->nchan * 12 + obs->nchan * (size_t)obs->nif * 8;
    w->row = calloc(w->front_bytes + nsblk * w->spectrum_bytes, 1);
    if (!w->row)
        st = psr_fail_nomem(err, "row of PSRFITS", (double)(nsblk * w->spectrum_bytes));
    if (!st)
        st = psr_obs_copy(&w->obs, obs, err);
    if (!st) {
        fill_front(w);
        st = write_primary(f, obs, err);
    }
    if (!st)
        st = write_table(w, err);
    if (st)
        psr_psrfits_destroy(w);
    else
        *out = w;
    return st;
}

void psr_psrfits_destroy(psr_psrfits *w)
{
    if (!w)
        return;
    psr_obs_clear(&w->obs);
    free(w->row);
    free(w);
}

/* Reads and writes prepfold's .pfd files: a header, the trials, the profiles, their statistics. */
#include "formats/voltages/baseband.h"

#include "base/base.h"
#include "base/input/readfd.h"
#include "search/fold/fold_internal.h"
#include <math.h>
#include <psrkit/experimental/fold.h>

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "numbers are written as they lie in memory, which is little-endian");
_Static_assert(sizeof(struct psr_fold_stats) == 7 * sizeof(double),
               "statistics lie in the file as in memory");

enum kind {
    COUNT,    /* 32-bit integer from min to max */
    TEXT,     /* length, then as many bytes */
    POSITION, /* PSR_PFD_POSITION bytes with a NUL among them */
    NUMBER,   /* 64-bit float */
    FLAG,     /* 32-bit float and four bytes that mean nothing */
};

struct field {
    enum kind kind;
    size_t at;
    const char *name;
    int32_t min, max;
};

#define AT(member) offsetof(struct psr_pfd, member)
#define STEP_FIELD(member, name)                                                                   \
    {                                                                                              \
        COUNT, AT(member), name, INT32_MIN, INT32_MAX                                              \
    }
#define SPIN_FIELDS(member, x, name)                                                               \
    {FLAG, AT(member.flag), name, 0, 0}, {NUMBER, AT(member.x), name, 0, 0},                       \
        {NUMBER, AT(member.x##d), name, 0, 0},                                                     \
    {                                                                                              \
        NUMBER, AT(member.x##dd), name, 0, 0                                                       \
    }

/* The header, in the order of the file. */
static const struct field fields[] = {
    {COUNT, AT(ndm), "number of DMs", 0, INT32_MAX},
    {COUNT, AT(nperiod), "number of periods", 0, INT32_MAX},
    {COUNT, AT(npdot), "number of p-dots", 0, INT32_MAX},
    {COUNT, AT(nsub), "number of sub-bands", 1, INT32_MAX},
    {COUNT, AT(npart), "number of parts", 1, PSR_PFD_NPART_MAX},
    {COUNT, AT(nbin), "number of bins", 1, INT32_MAX},
    {COUNT, AT(nchan), "number of channels", 0, INT32_MAX},
    STEP_FIELD(pstep, "pstep"),
    STEP_FIELD(pdstep, "pdstep"),
    STEP_FIELD(dmstep, "dmstep"),
    STEP_FIELD(ndmfact, "ndmfact"),
    STEP_FIELD(npfact, "npfact"),
    {TEXT, AT(input), "name of the input", 0, 0},
    {TEXT, AT(candidate), "name of the candidate", 0, 0},
    {TEXT, AT(telescope), "name of the telescope", 0, 0},
    {TEXT, AT(plot_device), "name of the plot", 0, 0},
    {POSITION, AT(ra), "right ascension", 0, 0},
    {POSITION, AT(dec), "declination", 0, 0},
    {NUMBER, AT(tsamp_s), "sampling time", 0, 0},
    {NUMBER, AT(start), "start", 0, 0},
    {NUMBER, AT(end), "end", 0, 0},
    {NUMBER, AT(tepoch_mjd), "topocentric epoch", 0, 0},
    {NUMBER, AT(bepoch_mjd), "barycentric epoch", 0, 0},
    {NUMBER, AT(voverc), "velocity", 0, 0},
    {NUMBER, AT(lofreq_mhz), "lowest frequency", 0, 0},
    {NUMBER, AT(width_mhz), "channel width", 0, 0},
    {NUMBER, AT(dm), "best DM", 0, 0},
    SPIN_FIELDS(topo, p, "topocentric period"),
    SPIN_FIELDS(bary, p, "barycentric period"),
    SPIN_FIELDS(fold, f, "folding frequency"),
    {NUMBER, AT(orbit.period_s), "orbital period", 0, 0},
    {NUMBER, AT(orbit.ecc), "eccentricity", 0, 0},
    {NUMBER, AT(orbit.asini_s), "semi-major axis", 0, 0},
    {NUMBER, AT(orbit.omega_deg), "longitude of periastron", 0, 0},
    {NUMBER, AT(orbit.t0_mjd), "time of periastron", 0, 0},
    {NUMBER, AT(orbit.pd), "derivative of the orbital period", 0, 0},
    {NUMBER, AT(orbit.omega_dot), "advance of periastron", 0, 0},
};
enum { NFIELD = sizeof fields / sizeof *fields, NPART_AT = 16, NARRAY = 5 };

/* The arrays after the header, in the order of the file. */
struct array {
    double **at;
    double n; /* numbers */
};

static void list_arrays(struct psr_pfd *p, struct array array[NARRAY])
{
    const double profiles = (double)p->npart * p->nsub;
    array[0] = (struct array){&p->trial_dm, p->ndm};
    array[1] = (struct array){&p->trial_period_s, p->nperiod};
    array[2] = (struct array){&p->trial_pdot, p->npdot};
    array[3] = (struct array){&p->profile, profiles * p->nbin};
    array[4] = (struct array){NULL, profiles * 7};
}

static double count_numbers(const struct array array[NARRAY])
{
    double sum = 0;
    for (int i = 0; i < NARRAY; i++)
        sum += array[i].n;
    return sum;
}

psr_status psr_pfd_allocate(struct psr_pfd *pfd, psr_err *err)
{
    struct array array[NARRAY];
    for (const struct field *f = fields; f->kind == COUNT; f++) {
        int32_t value = *(const int32_t *)(const void *)((const char *)pfd + f->at);
        if (value < f->min || value > f->max)
            return psr_fail(err, PSR_EINVAL, "a fold: %s = %d, must be %d to %d", f->name, value,
                            f->min, f->max);
    }
    list_arrays(pfd, array);
    const double bytes = sizeof(double) * count_numbers(array);
    if (bytes > (double)(SIZE_MAX / 4))
        return psr_fail_nomem(err, "a fold", bytes);
    for (int i = 0; i < NARRAY - 1; i++) {
        *array[i].at = calloc((size_t)array[i].n + 1, sizeof(double));
        if (!*array[i].at)
            return psr_fail_nomem(err, "a fold", bytes);
    }
    pfd->stats = calloc((size_t)pfd->npart * (size_t)pfd->nsub, sizeof *pfd->stats);
    return pfd->stats ? PSR_OK : psr_fail_nomem(err, "a fold", bytes);
}

/* --- reading ---------------------------------------------------------------------------------- */

static psr_status take_count(struct psr_byte_cursor *r, int32_t *value, const char *what,
                             int32_t min, int32_t max)
{
    psr_status st = psr_byte_cursor_take(r, value, sizeof *value, what);
    if (r->swap)
        *value = (int32_t)__builtin_bswap32((uint32_t)*value);
    if (!st && (*value < min || *value > max))
        st = psr_fail(r->err, PSR_EFORMAT, "%s: %s = %d, must be %d to %d", r->name, what, *value,
                      min, max);
    return st;
}

static psr_status take_numbers(struct psr_byte_cursor *r, double *to, size_t n, const char *what)
{
    psr_status st = psr_byte_cursor_take(r, to, n * sizeof *to, what);
    for (size_t i = 0; r->swap && !st && i < n; i++) {
        uint64_t bits;
        memcpy(&bits, to + i, sizeof bits);
        bits = __builtin_bswap64(bits);
        memcpy(to + i, &bits, sizeof bits);
    }
    return st;
}

/* Half of the digest follows the first two flags. */
static int digest_shift(size_t at)
{
    return at == AT(topo.flag) ? 0 : at == AT(bary.flag) ? 32 : -1;
}

/* 256 log2(ntrial) and a check by the digest: what other programs leave there is not taken for a number. */
static uint32_t pack_trials(const struct psr_pfd *p)
{
    const double units = p->ntrial >= 1 ? round(256 * log2(p->ntrial)) : -1;
    const uint64_t check = (p->digest * UINT64_C(0x9E3779B97F4A7C15)) >> 48;
    return p->digest && units >= 0 && units < 65536 ? (uint32_t)(check << 16) | (uint32_t)units : 0;
}

static void unpack_trials(struct psr_pfd *p, uint32_t bits)
{
    p->ntrial = exp2((bits & 0xffff) / 256.0);
    if (!bits || pack_trials(p) != bits)
        p->ntrial = 0;
}

static psr_status take_text(struct psr_byte_cursor *r, char **text, const char *what)
{
    int32_t length = 0;
    psr_status st = take_count(r, &length, what, 0, PSR_PFD_TEXT_MAX);
    if (st)
        return st;
    *text = calloc((size_t)length + 1, 1);
    if (!*text)
        return psr_fail_nomem(r->err, what, length);
    st = psr_byte_cursor_take(r, *text, (size_t)length, what);
    if (!st && strlen(*text) != (size_t)length)
        st = psr_fail(r->err, PSR_EFORMAT, "%s: %s contains a NUL byte", r->name, what);
    return st;
}

static psr_status take_field(struct psr_byte_cursor *r, struct psr_pfd *p, const struct field *f)
{
    void *to = (char *)p + f->at;
    switch (f->kind) {
    case COUNT:
        return take_count(r, to, f->name, f->min, f->max);
    case TEXT:
        return take_text(r, to, f->name);
    case POSITION: {
        char *position = to;
        psr_status st = psr_byte_cursor_take(r, position, PSR_PFD_POSITION, f->name);
        if (!st && !memchr(position, 0, PSR_PFD_POSITION))
            st = psr_fail(r->err, PSR_EFORMAT, "%s: %s is no text", r->name, f->name);
        return st;
    }
    case NUMBER:
        return take_numbers(r, to, 1, f->name);
    case FLAG: {
        const int shift = digest_shift(f->at);
        uint32_t bits[2] = {0};
        psr_status st = psr_byte_cursor_take(r, bits, sizeof bits, f->name);
        uint32_t first = r->swap ? __builtin_bswap32(bits[0]) : bits[0];
        memcpy((char *)p + f->at, &first, sizeof(float));
        if (shift >= 0)
            p->digest |= (uint64_t)bits[1] << shift; /* only psrkit writes it, little-endian */
        else
            unpack_trials(p, bits[1]);
        return st;
    }
    }
    return PSR_OK;
}

/* The number of parts tells the byte order: below 2^16, it is above that with its bytes swapped. */
static bool is_swapped(const unsigned char *bytes, size_t n)
{
    int32_t npart = 1;
    if (n >= NPART_AT + sizeof npart)
        memcpy(&npart, bytes + NPART_AT, sizeof npart);
    return npart < 1 || npart > PSR_PFD_NPART_MAX;
}

static psr_status take_arrays(struct psr_byte_cursor *r, struct psr_pfd *p)
{
    static const char *const what[NARRAY] = {"its DMs", "its periods", "its p-dots", "its profiles",
                                             "its statistics"};
    struct array array[NARRAY];
    list_arrays(p, array);
    const double bytes = sizeof(double) * count_numbers(array);
    if (bytes != (double)r->n)
        return psr_fail(r->err, PSR_EFORMAT,
                        "%s: %d parts, %d sub-bands and %d bins with %d DMs, %d periods and %d "
                        "p-dots take %.0f bytes, and %zu are there",
                        r->name, p->npart, p->nsub, p->nbin, p->ndm, p->nperiod, p->npdot, bytes,
                        r->n);
    psr_status st = psr_pfd_allocate(p, r->err);
    for (int i = 0; i < NARRAY - 1 && !st; i++)
        st = take_numbers(r, *array[i].at, (size_t)array[i].n, what[i]);
    if (!st)
        st = take_numbers(r, &p->stats->numdata, (size_t)array[NARRAY - 1].n, what[NARRAY - 1]);
    return st;
}

psr_status psr_pfd_parse(struct psr_pfd *pfd, const void *bytes, size_t n, const char *name,
                         psr_err *err)
{
    struct psr_byte_cursor r = {bytes, n, name, err, is_swapped(bytes, n)};
    psr_status st = PSR_OK;
    memset(pfd, 0, sizeof *pfd);
    for (int i = 0; i < NFIELD && !st; i++)
        st = take_field(&r, pfd, &fields[i]);
    return st ? st : take_arrays(&r, pfd);
}

psr_status psr_pfd_read(struct psr_pfd *pfd, const char *path, int64_t mem_bytes, psr_err *err)
{
    char *bytes;
    size_t n;
    memset(pfd, 0, sizeof *pfd);
    /* the file's bytes, and what is made of them */
    psr_status st = psr_read_file(path, (size_t)psr_count_memory(mem_bytes) / 2, &bytes, &n, err);
    if (st)
        return st;
    st = psr_pfd_parse(pfd, bytes, n, path, err);
    free(bytes);
    return st;
}

/* --- writing ---------------------------------------------------------------------------------- */

static psr_status write_field(psr_outfile *f, const struct psr_pfd *p, const struct field *field,
                              psr_err *err)
{
    const char *from = (const char *)p + field->at;
    unsigned char flag[2 * sizeof(float)];
    uint32_t half;
    switch (field->kind) {
    case COUNT:
        return psr_outfile_write(f, from, sizeof(int32_t), err);
    case TEXT: {
        const char *text = *(char *const *)(const void *)from;
        const size_t length = text ? strlen(text) : 0;
        const int32_t stored = (int32_t)length;
        if (length > PSR_PFD_TEXT_MAX)
            return psr_fail(err, PSR_EINVAL, "a fold: %s has %zu bytes, at most %d are possible",
                            field->name, length, PSR_PFD_TEXT_MAX);
        psr_status st = psr_outfile_write(f, &stored, sizeof stored, err);
        return st || !length ? st : psr_outfile_write(f, text, length, err);
    }
    case POSITION:
        return psr_outfile_write(f, from, PSR_PFD_POSITION, err);
    case NUMBER:
        return psr_outfile_write(f, from, sizeof(double), err);
    case FLAG:
        memcpy(flag, from, sizeof(float));
        half = digest_shift(field->at) < 0 ? pack_trials(p)
                                           : (uint32_t)(p->digest >> digest_shift(field->at));
        memcpy(flag + sizeof(float), &half, sizeof half);
        return psr_outfile_write(f, flag, sizeof flag, err);
    }
    return PSR_OK;
}

psr_status psr_pfd_write(psr_outfile *f, const struct psr_pfd *pfd, psr_err *err)
{
    struct psr_pfd p = *pfd;
    struct array array[NARRAY];
    psr_status st = PSR_OK;
    for (int i = 0; i < NFIELD && !st; i++)
        st = write_field(f, &p, &fields[i], err);
    list_arrays(&p, array);
    for (int i = 0; i < NARRAY && !st; i++) {
        const void *from = array[i].at ? (const void *)*array[i].at : (const void *)p.stats;
        if (array[i].n > 0)
            st = psr_outfile_write(f, from, (size_t)array[i].n * sizeof(double), err);
    }
    return st;
}

void psr_pfd_clear(struct psr_pfd *pfd)
{
    void *const owned[] = {pfd->input,    pfd->candidate,      pfd->telescope,  pfd->plot_device,
                           pfd->trial_dm, pfd->trial_period_s, pfd->trial_pdot, pfd->profile,
                           pfd->stats,    pfd->sub_mhz};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        free(owned[i]);
    memset(pfd, 0, sizeof *pfd);
}

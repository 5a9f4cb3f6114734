/* beam_internal.h: beams of an array of dishes, a plan as others are (private). */
#ifndef PSR_BEAM_BEAM_INTERNAL_H
#define PSR_BEAM_BEAM_INTERNAL_H

#include "base/base.h"
#include <psrkit/experimental/array.h>
#include <psrkit/experimental/beam.h>

/* Properties of the plan. */
void psr_beam_describe_sized(const psr_beam *p, struct psr_beam_info *info, size_t size);
#define psr_beam_describe(p, info) psr_beam_describe_sized((p), (info), sizeof *(info))

/* Status: PSR_EINVAL naming field, value and limit (also for a weight or direction that is not
 *         finite); PSR_EFORMAT (as psr_array_check); PSR_ENOMEM; PSR_EDEVICE if the requested
 *         backend is not available; PSR_EUNSUPPORTED if FFTW has no plan for the grid */
PSR_MUST_CHECK psr_status psr_beam_create(psr_beam **out, const struct psr_beam_desc *desc,
                                          psr_err *err);

/* Number of beams in the pattern. */
size_t psr_beam_count(const psr_beam *p);

/* Changes the directions of POINTS or PRODUCT beams, from the next sum to be completed on.
 * Given:  theta_ns, theta_ew   as in the description; copied
 * Status: PSR_EINVAL (pattern GRID, or a value that is not finite), PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_beam_point(psr_beam *p, const double *theta_ns,
                                         const double *theta_ew, psr_err *err);

/* Sets the output format from now on: floats (nbit 32, the default), or integers y = rint((J -
 * offset[f]) scale[f]) clipped to 0 .. 2^nbit - 1.  Two 4-bit values share a byte, the first in the
 * low bits.
 * Given:  nbit   4, 8 or 32
 *         offset, scale   [nfreq], copied; ignored (may be NULL) for 32
 * Status: PSR_EINVAL (also 4 bits with odd nfreq, or a number that is not finite), PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_beam_quantise(psr_beam *p, int nbit, const float *offset,
                                            const float *scale, psr_err *err);

/* Bytes of one row, nfreq nbit / 8: one output sample of all channels of a beam. */
size_t psr_beam_row_bytes(const psr_beam *p);

/* Suggested samples per execute: suits the backend, and with its rows fits into mem_bytes.  Any
 * other number works too; but if T_ds differs between channels, cuda holds all rows of an execute
 * at once, and a longer block may need more than mem_bytes. */
size_t psr_beam_block(const psr_beam *p);

/* Sums of channel f that nt more samples would complete. */
size_t psr_beam_ready(const psr_beam *p, size_t f, size_t nt);

/* The maximum of psr_beam_ready over the channels: the number of rows that the next execute
 * returns. */
size_t psr_beam_rows(const psr_beam *p, size_t nt);

/* Given:    in    [nt][nfreq][2][ndish] bytes, time-major (DADA's TFPA); host
 *           out   [nbeam][stride] rows of psr_beam_row_bytes; host, owned by the caller, aligned
 *                 for a float; stride >= psr_beam_rows(p, nt)
 * Returned: out[b][k][f], k < *nrow: J of beam b, the k-th sum completed for channel f.  The rows
 *           of a beam are consecutive spectra of its filterbank.  If T_ds differs between channels,
 *           a channel with fewer than *nrow sums has 0 after its last.  Rows beyond *nrow are not
 *           changed.
 * Notes:    the CPU backend returns the same bits for any number of threads and any block lengths.
 *           Error: at most 1e-5 (cpu) or 3e-3 (cuda) of the intensity in the brightest half-integer
 *           direction of the same channel and sum, whether or not the plan forms that beam.
 * Status:   PSR_EINVAL (stride), PSR_ENOMEM (also naming mem_bytes), PSR_EDEVICE.  After an error
 *           the plan must be reset. */
PSR_MUST_CHECK psr_status psr_beam_execute(psr_beam *p, const uint8_t *in, size_t nt, void *out,
                                           size_t stride, size_t *nrow, psr_err *err);

/* psr_beam_execute in two steps, so that the device does not wait for the caller between blocks.
 * start may return before the rows are written; in and out must not be used until wait has
 * returned.  Two starts may be in progress; a third waits for the first.  wait returns when at most
 * "left" of the last starts are in progress.  All other calls are allowed in the meantime and wait
 * as necessary.
 * Status: those of psr_beam_execute */
PSR_MUST_CHECK psr_status psr_beam_start(psr_beam *p, const uint8_t *in, size_t nt, void *out,
                                         size_t stride, size_t *nrow, psr_err *err);
PSR_MUST_CHECK psr_status psr_beam_wait(psr_beam *p, size_t left, psr_err *err);

/* As psr_beam_start, but the rows stay on the plan's device, in memory of psr_beam_alloc_device, for what
 * works on them there (psr_dedisp_beams_execute_device): no copy to the host is made.  Its device is the
 * host's memory with backend "cpu".
 * Given:   d_out   [nbeam][stride] rows of psr_beam_row_bytes, at the start of such memory or whole rows
 *                  after it: several executes may fill it, d_out going on by their rows
 * Notes:   the rows are those of psr_beam_start to the bit; any stream may read them when psr_beam_wait has
 *          returned, and no start may write over them while they are read
 * Status:  those of psr_beam_execute */
PSR_MUST_CHECK psr_status psr_beam_start_device(psr_beam *p, const uint8_t *in, size_t nt,
                                                void *d_out, size_t stride, size_t *nrow,
                                                psr_err *err);

/* Discards the samples seen: the next execute begins a new stream.  Directions and output format
 * are kept. */
void psr_beam_reset(psr_beam *p);

/* Allocates memory for in and out that the backend transfers fastest (page-locked for cuda).  It
 * may outlive the plan.  psr_beam_free accepts NULL.
 * Status: PSR_ENOMEM, PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_beam_alloc(const psr_beam *p, size_t bytes, void **memory,
                                         psr_err *err);
void psr_beam_free(const char *backend, void *memory);

/* Allocates memory of the plan's device for rows, beside mem_bytes.  It may outlive the plan.
 * psr_beam_free_device accepts NULL.
 * Status: PSR_ENOMEM, PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_beam_alloc_device(const psr_beam *p, size_t bytes, void **memory,
                                                psr_err *err);
void psr_beam_free_device(const char *backend, void *memory);

/* Frees the plan; NULL is allowed. */
void psr_beam_destroy(psr_beam *p);

/* Interface between beam.c and a backend.
 *
 * beam.c validates and copies the description, reduces directions and counts samples, so that all
 * backends agree on these. */

/* A validated description.  Input [t][f][p][d], d < ndish; dish d is at grid position cell[d]. */
struct psr_beam_work {
    size_t m, n; /* grid size M and N, each in 1..PSR_ARRAY_GRID_MAX */
    size_t ndish, nfreq;
    int32_t *cell; /* [ndish] m N + n, or -1: input not used */
    size_t *tds;   /* [nfreq] */
    size_t tds_min, tds_max;
    uint8_t flip;     /* XORed with a byte, gives two's complement in both nibbles: 0 or 0x88 */
    bool real_low;    /* the real part is in the low nibble, otherwise in the high one */
    float *weight;    /* [nfreq][2][ndish][2]; NULL: all 1 */
    float weight_max; /* largest modulus of a weight of a dish on the grid; 1 if NULL */

    enum psr_beam_pattern pattern;
    size_t nbeam;      /* of any pattern */
    size_t n_ns, n_ew; /* lists' lengths: nbeam and nbeam for POINTS, 0 and 0 for GRID */
    double *theta_ns;  /* [nfreq][n_ns] reduced to [0, M); NULL for GRID.  psr_beam_point changes */
    double *theta_ew;  /* [nfreq][n_ew] reduced to [0, N) */

    int nbit;      /* of the output: 32 floats, 8 or 4.  psr_beam_quantise changes these */
    float *offset; /* [nfreq]; set where nbit < 32 */
    float *scale;  /* [nfreq] */

    int nthread;       /* >= 1 */
    int64_t mem_bytes; /* > 0 */
    int device;
    struct psr_own own;
};

/* Where rows go: [nbeam][stride] of nfreq nbit / 8 bytes. */
struct psr_beam_out {
    void *rows;
    size_t stride;
    bool on_device; /* the rows lie there; never where the device is the host */
};

struct psr_beam_ops {
    const char *name;

    /* Keeps w, which outlives the state.  PSR_EDEVICE if the device is absent. */
    psr_status (*create)(void **state, const struct psr_beam_work *w, psr_err *err);

    /* Applies w's new directions, or its new nbit, offset and scale. */
    psr_status (*point)(void *state, psr_err *err);
    psr_status (*quantise)(void *state, psr_err *err);

    /* Takes samples t0 .. t0 + nt - 1 of the stream and gives the sums of channel f numbered
     * t0 / tds[f] .. (t0 + nt) / tds[f] - 1 in rows 0, 1, ... of out.  nrow is the largest count of
     * any channel; nt and nrow may be 0.  Where w->tds_min < w->tds_max beam.c has put 0 into the
     * nrow rows of every beam, but for those on a device.  The first sum
     * goes on from what the last execute left of it (nothing where t0 is 0).  An output is
     * quantised as psr_beam_quantise_value does.  Where there is a wait, in and out may be in use until it
     * has returned with no more than "left" (0 or 1) executes under way; before a third begins, and
     * before point, quantise and reset, beam.c waits. */
    psr_status (*execute)(void *state, const uint8_t *in, size_t nt, uint64_t t0,
                          const struct psr_beam_out *out, size_t nrow, psr_err *err);
    psr_status (*wait)(void *state, size_t left, psr_err *err);
    void (*reset)(void *state);

    /* Suggested samples per execute. */
    size_t (*block)(const void *state);
    int64_t (*bytes)(const void *state); /* allocated */
    void (*destroy)(void *state);

    /* Allocates host memory for in and out; and, for rows that stay, memory of the device: NULL for a
     * backend whose device is the host. */
    psr_status (*alloc)(int device, size_t bytes, void **memory, psr_err *err);
    void (*free)(void *memory);
    psr_status (*alloc_device)(int device, size_t bytes, void **memory, psr_err *err);
    void (*free_device)(void *memory);
};

extern const struct psr_beam_ops psr_beam_cpu, psr_beam_cuda;

/* Quantised value of intensity x: rounds half to even, no fused multiply-add, 0 for NaN. */
static inline unsigned psr_beam_quantise_value(float x, float offset, float scale, float top)
{
    float y = (x - offset) * scale;
    y = y > 0 ? (y < top ? y : top) : 0;
    return (unsigned)__builtin_rintf(y);
}

/* --- checks of arrays, pointings and gains --- */

/* Sets the site of an array from "LON,LAT,H", the format of psr_site_parse.
 * Status: PSR_EINVAL */
PSR_MUST_CHECK psr_status psr_array_set_site(struct psr_array *a, const char *text, psr_err *err);

/* Checks that sizes are in range, spacings are finite and not 0, at least one dish is on the grid,
 * and no two share a position.
 * Given:  name   for the message
 * Status: PSR_EFORMAT, PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_array_check(const struct psr_array *a, const char *name,
                                          psr_err *err);

/* Convert a direction to grid coordinates at one frequency, and back.
 * Given: north, east   direction cosines
 * Notes: grid coordinates of a fixed direction are proportional to freq_mhz */
void psr_array_theta(const struct psr_array *a, double freq_mhz, double north, double east,
                     double *theta_ns, double *theta_ew);
void psr_array_cosines(const struct psr_array *a, double freq_mhz, double theta_ns, double theta_ew,
                       double *north, double *east);

/* Reads a list of beams; its grammar is in psrkit-formats(5).
 * Returned: *a, initialised here; the caller clears it; cleared on error
 * Status:   PSR_EIO; PSR_EFORMAT naming file, line and value, also for no beams or more than 2^20;
 *           PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_pointings_read(struct psr_pointings *a, const char *path,
                                             psr_err *err);
void psr_pointings_clear(struct psr_pointings *a);

/* Converts beams to grid coordinates at a given time.
 * Given:    now, start   UTC; start is the time at which beams that do not track are placed; both
 *                        are used only for RADEC
 * Returned: theta_ns, theta_ew   [nfreq][n], as in psr_beam_desc
 * Status:   PSR_EINVAL naming beam, field, value and limit: below the horizon, not on the sky
 *           (theta with direction cosines above 1), RADEC without a site or a date */
PSR_MUST_CHECK psr_status psr_pointings_theta(const struct psr_pointings *a,
                                              const struct psr_pointing_frame *f,
                                              struct psr_mjd start, struct psr_mjd now,
                                              double *theta_ns, double *theta_ew, psr_err *err);

/* Converts grid coordinates at one frequency to azimuth and elevation.
 * Returned: azimuth and elevation in degrees; false if the coordinates are not on the sky */
bool psr_pointing_azel(const struct psr_pointing_frame *f, double freq_mhz, double theta_ns,
                       double theta_ew, double *az_deg, double *el_deg);

/* Convert azimuth and elevation to J2000 at a given time, and back.  Refraction is ignored and UT1
 * approximated by UTC (error at most 15").
 * Status: PSR_EINVAL without a site, or for a date outside UTC */
PSR_MUST_CHECK psr_status psr_pointing_to_sky(const struct psr_array *array, struct psr_mjd utc,
                                              double az_deg, double el_deg, double *ra_deg,
                                              double *dec_deg, psr_err *err);
PSR_MUST_CHECK psr_status psr_pointing_from_sky(const struct psr_array *array, struct psr_mjd utc,
                                                double ra_deg, double dec_deg, double *az_deg,
                                                double *el_deg, psr_err *err);

/* Tests whether n beams [nfreq][n] are an outer product in the order of PSR_BEAM_PRODUCT.
 * Returned: lengths of the two lists, n_ns n_ew = n; 0 and 0 if they are not
 * Notes:    the elements of the lists are those of beams i n_ew and j */
void psr_pointings_factor(const double *theta_ns, const double *theta_ew, size_t nfreq, size_t n,
                          size_t *n_ns, size_t *n_ew);

/* Reads gains: a text file of rows "CHANNEL POL DISH RE IM", where * means all and unlisted gains
 * are 1; or a NumPy file (.npy) of complex numbers [nfreq][2][ndish].
 * Returned: *weight [nfreq][2][ndish][2], malloc'd, caller frees
 * Status:   PSR_EIO; PSR_EFORMAT naming file, field, value and limit (wrong shape, an index out of
 *           range, a number that is not finite); PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_gains_read(const char *path, size_t nfreq, size_t ndish,
                                         float **weight, psr_err *err);

#endif

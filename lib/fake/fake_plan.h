/* fake_plan.h: the plan of a synthetic observation (private). */
#ifndef PSR_FAKE_FAKE_PLAN_H
#define PSR_FAKE_FAKE_PLAN_H

#include "fake_parts.h"

/* The next pulse in a channel: its first sample and its number. */
struct psr_fake_cursor {
    int64_t begin;
    size_t pulse;
};

/* Interference, ready to be added. */
struct psr_fake_rfi_part {
    struct psr_fake_rfi d;
    uint32_t stream;
    double begin_s, end_s;
    int64_t packet_samples; /* drop */
    size_t packet_channels, ngroup;
};

/* Working memory of one thread. */
struct psr_fake_room {
    float *x;                       /* [tile_rows][nif][nchan] */
    uint8_t *level;                 /* the same, for samples below 8 bits */
    float *normal;                  /* [nchan] of modulated interference */
    struct psr_fake_cursor *cursor; /* [nactive][nchan] */
};

/* The samples that signals are added to, and what is known of them. */
struct psr_fake_onto {
    bool is_set;
    int nbit;
    enum psr_kind kind;
    float *scatter;       /* [nchan] in levels */
    float *gained;        /* [nchan][16] where there are few levels: see fake_inject.c */
    unsigned char *alive; /* [nchan] channels that vary */
    size_t nalive;
    int64_t measured_end; /* spectra up to which scatter holds */
    float *column;        /* [nthread][room] */
    uint32_t *word;       /* the same */
    size_t room;
};

struct psr_fake {
    struct psr_fake_frame frame;
    uint64_t seed;
    float noise_sigma, red_sigma;
    double red_index;
    double *gain;       /* [nchan], or NULL: 1 */
    float *gain_offset; /* [nchan] */
    bool even_odd;
    size_t row_values, row_bytes; /* of one spectrum of all IFs */
    size_t tile_rows;
    int nthread;
    size_t nrfi;
    struct psr_fake_rfi_part *rfi;
    size_t npart;
    struct psr_fake_part *part;
    struct psr_fake_room *room; /* [nthread] */
    struct psr_fake_onto onto;
};

/* Samples first .. first + n - 1 of a channel, nif times nchan values apart. */
struct psr_fake_column {
    float *x;
    size_t stride, nif, nchan;
    int64_t first, n;
    int64_t low, high; /* samples that were reached: these grow */
};

/* Adds a channel's pulses. */
void psr_fake_add_pulses(const struct psr_fake *p, const struct psr_fake_ready *ready, size_t c,
                         struct psr_fake_cursor *cursor, struct psr_fake_column *to);

/* The first pulse that ends after sample t in a channel. */
struct psr_fake_cursor psr_fake_find_pulse(const struct psr_fake *p,
                                           const struct psr_fake_ready *ready, size_t c, int64_t t);

/* Lists the signals that reach into a block, and readies those; bursts that do not are let go.
 * Returned: active [*nactive], of room for all
 * Status:   PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_fake_find_active(psr_fake *p, int64_t first, size_t nsamp,
                                               size_t *active, size_t *nactive, psr_err *err);

/* What is known of signal i before it is scaled. */
PSR_MUST_CHECK psr_status psr_fake_describe(const psr_fake *p, size_t i,
                                            struct psr_fake_truth *truth, psr_err *err);

/* Streams of random numbers. */
enum { PSR_FAKE_NOISE = 0, PSR_FAKE_RED = 64 };

/* --- interference (fake_rfi.c) ------------------------------------------------ */

PSR_MUST_CHECK psr_status psr_fake_rfi_make(psr_fake *p, const struct psr_fake_rfi *rfi, size_t n,
                                            psr_err *err);

/* Multiplies the gain of each channel by the bandpasses among the interference. */
PSR_MUST_CHECK psr_status psr_fake_rfi_shape(psr_fake *p, psr_err *err);

/* Channels [first, end) of a band, at time t_s. */
struct psr_fake_band {
    size_t first, end;
};

/* A random event, with its slot and number. */
struct psr_fake_rfi_random {
    double begin_s, length_s, height;
    double freq_mhz, bw_mhz;
};
enum { PSR_FAKE_RFI_EVENTS = 7 };

/* Add what is added, and then blank what is lost, in rows first .. first + n - 1 of x.
 * Given: normal   [nchan], working memory */
void psr_fake_rfi_add(const psr_fake *p, int64_t first, size_t n, float *x, float *normal);
void psr_fake_rfi_drop(const psr_fake *p, int64_t first, size_t n, float *x);

#endif

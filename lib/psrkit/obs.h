/* obs.h: what an observation is, whatever file it came from.
 *
 * Every format converts to and from struct psr_obs, and nothing else knows a format's keywords. */
#ifndef PSRKIT_OBS_H
#define PSRKIT_OBS_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

/* How one sample is stored.  Sub-byte samples are packed with the first channel in the low bits. */
enum psr_kind {
    PSR_UINT,  /* unsigned, 1 2 4 8 16 or 32 bits */
    PSR_INT,   /* two's complement, 8 or 16 bits */
    PSR_FLOAT, /* IEEE single, 32 bits */
};

/* A date: Modified Julian day number, and the fraction of that day in [0, 1). */
struct psr_mjd {
    long day;
    double frac;
};

/* A stretch of samples or spectra: [first, first + count). */
struct psr_span {
    int64_t first, count;
};

enum { PSR_TEXT_MAX = 256 };

struct psr_obs {
    size_t nchan;
    int nif;            /* polarisations or IFs stored per spectrum */
    int nbit;           /* bits per stored sample */
    enum psr_kind kind; /* of the stored samples */
    double fch1_mhz;    /* centre of the first channel stored */
    double foff_mhz;    /* from one channel to the next; negative where the first is the highest */
    double *freq_mhz;   /* [nchan] centres where they are not fch1 + c foff, else NULL; owned */
    double tsamp_s;
    int64_t nsamp;         /* spectra, or -1 where only the end of the input will tell */
    struct psr_mjd tstart; /* of the first sample, at the highest frequency */
    struct psr_mjd began; /* where tstart was moved past skipped samples: what it was; else day 0 */
    bool barycentric;

    bool has_position;
    double ra_deg, dec_deg; /* J2000 */
    double az_deg, za_deg;
    double refdm;   /* DM a dedispersed series was made at, pc cm^-3 */
    double chan_dm; /* DM each channel is coherently dedispersed at, pc cm^-3; 0 where it is not */
    int64_t block_nsamp; /* spectra in a block as stored (PSRFITS NSBLK); 0 where there are none */
    int ibeam, nbeam;    /* 0 where unknown */
    int telescope_id;    /* SIGPROC's numbers; -1 where unknown */
    int machine_id;      /* SIGPROC's numbers; -1 where unknown */
    char source[PSR_TEXT_MAX];
    char telescope[PSR_TEXT_MAX];  /* PRESTO's name, "Unknown" where unknown */
    char instrument[PSR_TEXT_MAX]; /* "Unknown" where unknown */
    char observer[PSR_TEXT_MAX];
    char project_id[PSR_TEXT_MAX];
    bool has_date;           /* whether date is what there is to be said of it; else tstart tells */
    char date[PSR_TEXT_MAX]; /* of the observation, as the file writes it */
    double beam_arcsec;      /* full width at half maximum; below 0: the telescope's dish tells */
    char poln[PSR_TEXT_MAX]; /* what became of the polarisations, as PRESTO's notes say it */
};

/* Sets every field to "unknown": counts 0, ids -1, nsamp -1, texts as PRESTO prints the absent. */
void psr_obs_init(struct psr_obs *obs);

/* Deep copy into an uninitialised or cleared *to, untouched on error.  Status: PSR_ENOMEM. */
PSR_MUST_CHECK psr_status psr_obs_copy(struct psr_obs *to, const struct psr_obs *from,
                                       psr_err *err);

/* Frees what obs owns and sets it to "unknown" again. */
void psr_obs_clear(struct psr_obs *obs);

/* Checks what every user of an observation relies on: nchan in 1..2^20, nif in 1..16, a known
 * nbit, 0 < tsamp < 1e6 s, all frequencies positive and distinct.
 * Given:  name   the file, for the message
 * Status: PSR_EFORMAT naming file, field, value and limit; PSR_ENOMEM where there is a table of
 *         frequencies. */
PSR_MUST_CHECK psr_status psr_obs_check(const struct psr_obs *obs, const char *name, psr_err *err);

/* Centre frequency of stored channel c, MHz.  Computed upwards from the lowest channel, as PRESTO
 * does, so that delays round as PRESTO's do. */
double psr_obs_freq_mhz(const struct psr_obs *obs, size_t c);

/* Lowest and highest channel centres, MHz. */
double psr_obs_lowest_mhz(const struct psr_obs *obs);
double psr_obs_highest_mhz(const struct psr_obs *obs);

/* date + seconds, normalised. */
struct psr_mjd psr_mjd_add(struct psr_mjd date, double seconds);

/* Seconds from a to b. */
double psr_mjd_diff_s(struct psr_mjd a, struct psr_mjd b);

/* Telescope names and beams.
 * Returned: PRESTO's name of a SIGPROC telescope_id ("Unknown" for others), the id of such a name
 *           (-1 for others), the full width at half maximum of its beam in arcsec at freq_mhz as
 *           PRESTO computes it (3600 where the dish is unknown). */
const char *psr_telescope_name(int telescope_id);
int psr_telescope_id(const char *name);
double psr_telescope_beam_arcsec(const char *name, double freq_mhz);

/* PRESTO's name of the instrument with a SIGPROC machine_id, "Unknown" for others. */
const char *psr_machine_name(int machine_id);

PSR_API_END
#endif

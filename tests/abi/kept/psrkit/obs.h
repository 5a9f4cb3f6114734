/* obs.h: description of an observation, independent of the file format.
 *
 * Every format converts to and from struct psr_obs; no other code uses the keywords of a format. */
#ifndef PSRKIT_OBS_H
#define PSRKIT_OBS_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

/* --- units ------------------------------------------------------------------------------------ */

#define PSR_DAY_S     86400.0
#define PSR_LIGHT_M_S 299792458.0

/* --- observations ----------------------------------------------------------------------------- */

/* How one sample is stored.  Sub-byte samples are packed with the first channel in the low bits. */
enum psr_kind {
    PSR_UINT,  /* unsigned, 1 2 4 8 16 or 32 bits */
    PSR_INT,   /* two's complement, 8 or 16 bits */
    PSR_FLOAT, /* IEEE single, 32 bits */
};

/* What the polarisations stored in a spectrum are. */
enum psr_pols {
    PSR_POLS_UNKNOWN,
    PSR_POLS_INTENSITY, /* the first is total intensity */
    PSR_POLS_POWERS,    /* AA, BB */
    PSR_POLS_COHERENCE, /* AA, BB, Re A* B, Im A* B */
    PSR_POLS_STOKES,    /* I, Q, U, V */
};

/* A date: Modified Julian Day number, and the fraction of the day in [0, 1). */
struct psr_mjd {
    long day;
    double frac;
};

/* A range of samples or spectra: [first, first + count). */
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
    double foff_mhz;    /* channel spacing; negative if the first channel is the highest; means
                           nothing beside a table: ask psr_obs_band */
    double *freq_mhz;   /* [nchan] centres if they are not fch1 + c foff, else NULL; owned */
    double tsamp_s;
    int64_t nsamp;         /* spectra, or -1 if unknown until the input ends */
    struct psr_mjd tstart; /* of the first sample, at the highest frequency */
    struct psr_mjd began;  /* original tstart if samples were skipped; else day 0 */
    bool barycentric;

    bool has_position;
    double ra_deg, dec_deg; /* J2000 */
    double az_deg, za_deg;
    double refdm;        /* DM of a dedispersed series, pc cm^-3 */
    double chan_dm;      /* DM of coherent dedispersion within channels, pc cm^-3; 0: none */
    int64_t block_nsamp; /* spectra per stored block (PSRFITS NSBLK); 0 if there are none */
    int ibeam, nbeam;    /* 0 if unknown */
    int telescope_id;    /* SIGPROC's id; -1 if unknown */
    int machine_id;      /* SIGPROC's id; -1 if unknown */
    char source[PSR_TEXT_MAX];
    char telescope[PSR_TEXT_MAX];  /* PRESTO's name, "Unknown" if unknown */
    char instrument[PSR_TEXT_MAX]; /* "Unknown" if unknown */
    char observer[PSR_TEXT_MAX];
    char project_id[PSR_TEXT_MAX];
    bool has_date;           /* use date; otherwise tstart gives the date */
    char date[PSR_TEXT_MAX]; /* of the observation, as the file writes it */
    double beam_arcsec;      /* full width at half maximum; below 0: computed from the
                                telescope's dish */
    char poln[PSR_TEXT_MAX]; /* how polarisations were combined, in the words of PRESTO's notes */
    enum psr_pols pols;      /* what the nif polarisations are */
};

/* Sets every field to "unknown": counts 0, ids -1, nsamp -1, texts as PRESTO prints missing ones.
 */
void psr_obs_init(struct psr_obs *obs);

/* Makes a deep copy in *to, which is uninitialised or cleared, and unchanged on error.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_obs_copy(struct psr_obs *to, const struct psr_obs *from,
                                       psr_err *err);

/* Frees the memory owned by obs and resets it to "unknown". */
void psr_obs_clear(struct psr_obs *obs);

/* Centre frequency of stored channel c in MHz, computed upwards from the lowest channel as PRESTO
 * does, so that delays round as in PRESTO. */
double psr_obs_freq_mhz(const struct psr_obs *obs, size_t c);

/* Centres of the lowest and the highest channel, MHz. */
double psr_obs_lowest_mhz(const struct psr_obs *obs);
double psr_obs_highest_mhz(const struct psr_obs *obs);

/* What the centres of the channels say of a band, of a table or not. */
struct psr_obs_band {
    double lowest_mhz, highest_mhz; /* as above */
    double
        spacing_mhz; /* mean distance of channels, 0 or more: what formats hold that know no gaps,
                           with the lowest centre, as PRESTO writes them */
    double
        chan_mhz; /* width of a channel: the least distance of two that are stored side by side */
    bool rising;  /* the first channel is below the last */
    bool
        even; /* all centres are the lowest and a multiple of the spacing, to a thousandth of it and
                           the rounding of single precision */
};
struct psr_obs_band psr_obs_band(const struct psr_obs *obs);

/* Telescope names and beams.
 * Returned: PRESTO's name for a SIGPROC telescope_id ("Unknown" for others), the id for such a name
 *           (-1 for others), and the full width at half maximum of the beam in arcsec at freq_mhz
 *           as PRESTO computes it (3600 if the dish is unknown) */
const char *psr_telescope_name(int telescope_id);
int psr_telescope_id(const char *name);
double psr_telescope_beam_arcsec(const char *name, double freq_mhz);

PSR_API_END
#endif

/* ddplan.h: the dedispersion plan of a survey: which DMs to try, how far apart, at what sampling.
 *
 * The rules and the arithmetic are those of PRESTO's DDplan.py, so that its numbers come out to
 * the last digit; where DDplan.py fails (no factor left to downsample by, a first DM beyond the
 * first line) the plan goes on.  Smearing of a DM over a band, in ms:
 *
 *   smear(DM, BW, f) = 1000 DM / 0.000241 ((f - BW/2)^-2 - (f + BW/2)^-2)
 *
 * Steps double as a survey is climbed: a line ends where the smearing inside one channel is twice
 * all other smearing, and the next line downsamples more and steps wider. */
#ifndef PSRKIT_DDPLAN_H
#define PSRKIT_DDPLAN_H

#include <psrkit/status.h>
#include <stdint.h>

PSR_API_BEGIN

/* A band as plans need it. */
struct psr_band {
    double tsamp_s;
    double fctr_mhz; /* of the middle of the band */
    double bw_mhz;   /* of all channels */
    int64_t nchan;
};

struct psr_ddplan_desc {
    struct psr_band band;
    double lodm, hidm; /* pc cm^-3, 0 <= lodm < hidm <= 1e6 */
    double cohdm;      /* DM the channels are coherently dedispersed at; 0 where they are not */
    int64_t blocklen;  /* spectra; only its divisors below 260 are downsampling factors */
    int64_t nsub;      /* sub-bands of a two-step dedispersion; 0 for an exact one */
    int64_t nproc;     /* processors sharing each line's calls (mpiprepsubband); 1 */
    double res_ms;     /* time resolution that is good enough; 0 asks for the best */
};

struct psr_ddplan_line {
    double lodm, hidm; /* trials lodm, lodm + dmstep, ...; hidm is where the next line begins */
    double dmstep;
    int64_t ndm;
    int64_t downsamp;
    double dsubdm;               /* DM step of the sub-bands; dmstep where there are none */
    int64_t dms_per_call, ncall; /* prepsubband's share of the line; 0 without sub-bands */
    double work;                 /* share of all samples to search, in [0, 1] */
    double bw_ms;                /* smearing over the band by half a DM step */
    double sub_ms;               /* smearing over a sub-band by half a dsubdm */
};

enum { PSR_DDPLAN_MAX_LINES = 64 };

/* Why the first line downsamps already. */
enum psr_ddplan_coarse {
    PSR_DDPLAN_FINE,    /* it does not have to */
    PSR_DDPLAN_BY_RES,  /* the resolution asked for or possible is coarser than the samples */
    PSR_DDPLAN_BY_CHAN, /* the smearing in a channel is */
};

struct psr_ddplan {
    struct psr_ddplan_desc desc;
    double min_total_ms, min_chan_ms, min_bw_ms; /* the least that can be reached anywhere */
    double ok_ms;                                /* resolution aimed at */
    enum psr_ddplan_coarse coarse;
    int64_t first_downsamp; /* factor that the resolution aimed at allows */
    double first_dmstep;    /* best first step, before it is rounded to an allowed one */
    struct psr_ddplan_line line[PSR_DDPLAN_MAX_LINES];
    int nline;
};

/* The terms of the smearing at one DM of a line, in ms. */
struct psr_smearing {
    double total;   /* root of the sum of the squares of the others and of the sampling */
    double optimal; /* total for the least step and no downsampling */
    double sample;  /* length of a sample of the line */
    double chan;    /* inside a channel */
    double bw, sub; /* as in the line */
};

/* Status: PSR_EINVAL naming field, value and limit. */
PSR_MUST_CHECK psr_status psr_band_check(const struct psr_band *band, psr_err *err);

/* Makes the plan.
 * Returned: lines that follow each other without a gap from lodm to hidm or beyond
 * Status:   PSR_EINVAL naming field, value and limit. */
PSR_MUST_CHECK psr_status psr_ddplan_make(struct psr_ddplan *plan,
                                          const struct psr_ddplan_desc *desc, psr_err *err);

/* Smearing of dm over bw_mhz about fctr_mhz, in ms: the formula above. */
double psr_smear_ms(double dm, double bw_mhz, double fctr_mhz);

/* Smearing at dm in line i of the plan. */
struct psr_smearing psr_ddplan_smearing(const struct psr_ddplan *plan, int i, double dm);

/* Trials of all lines. */
int64_t psr_ddplan_ndm(const struct psr_ddplan *plan);

/* DDplan.py's choice of sub-bands for prepsubband: the most that leave each at least three
 * channels and are themselves at least 32, or else nchan. */
int64_t psr_ddplan_nsub(int64_t nchan);

/* The downsampling factors a block of blocklen spectra allows, ascending from 1 in ratios of 1.5
 * to 2 where possible.
 * Returned: how many were written to factor, at most PSR_DDPLAN_MAX_FACTORS. */
enum { PSR_DDPLAN_MAX_FACTORS = 32 };
int psr_ddplan_factors(int64_t blocklen, int64_t factor[PSR_DDPLAN_MAX_FACTORS]);

PSR_API_END
#endif

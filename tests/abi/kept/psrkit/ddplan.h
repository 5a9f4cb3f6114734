/* ddplan.h: dispersion delays, dedispersion plans and their files. */
#ifndef PSRKIT_DDPLAN_H
#define PSRKIT_DDPLAN_H

#include <psrkit/experimental/outfile.h>
#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PSR_API_BEGIN

/* --- delays ----------------------------------------------------------------------------------- */

/* The dispersion constant k of delay = k DM / f^2, in MHz^2 s pc^-1 cm^3. */
#define PSR_DMCONST_PRESTO  (1.0 / 2.41e-4) /* 4149.37759..., psrkit's default */
#define PSR_DMCONST_SIGPROC 4148.741601

/* Parses a dispersion constant.
 * Given:  text   "presto", "sigproc" or a number in MHz^2 s
 * Status: PSR_EINVAL */
PSR_MUST_CHECK psr_status psr_parse_dmconst(const char *text, double *dmconst, psr_err *err);

/* Delay relative to infinite frequency, in seconds. */
double psr_delay_s(double dmconst, double dm, double freq_mhz);

/* Delay of freq_mhz relative to ref_mhz in whole samples of tsamp_s. */
int64_t psr_delay_samples(double dmconst, double dm, double freq_mhz, double ref_mhz,
                          double tsamp_s);

/* --- plans ------------------------------------------------------------------------------------ */

/* Makes the dedispersion plan of a survey: trial DMs, DM steps and downsampling.
 *
 * Rules and arithmetic follow PRESTO's DDplan.py to the last digit.  Where DDplan.py fails (no
 * downsampling factor left, a first DM beyond the first line), the plan continues.  The smearing of
 * a DM over a band, in ms:
 *
 *   smear(DM, BW, f) = 1000 DM / 0.000241 ((f - BW/2)^-2 - (f + BW/2)^-2)
 *
 * A line of the plan ends where the smearing within one channel is twice all other smearing; the
 * next line downsamples more and uses a larger DM step. */

/* An observing band. */
struct psr_band {
    double tsamp_s;
    double fctr_mhz; /* centre of the band */
    double bw_mhz;   /* total bandwidth */
    int64_t nchan;
};

struct psr_ddplan_desc {
    size_t size; /* sizeof the struct */
    struct psr_band band;
    double lodm, hidm; /* pc cm^-3, 0 <= lodm < hidm <= 1e6 */
    double cohdm;      /* DM of coherent dedispersion within channels; 0: none */
    int64_t blocklen;  /* spectra per block; only its divisors below 260 are downsampling factors */
    int64_t nsub;      /* sub-bands of two-step dedispersion; 0: exact dedispersion */
    int64_t nproc;     /* processors that share the calls of each line (mpiprepsubband); 1 */
    double res_ms;     /* acceptable time resolution; 0: the best possible */
};

struct psr_ddplan_line {
    double lodm, hidm; /* trials lodm, lodm + dmstep, ...; the next line begins at hidm */
    double dmstep;
    int64_t ndm;
    int64_t downsamp;
    double dsubdm;               /* DM step of the sub-bands; dmstep if there are none */
    int64_t dms_per_call, ncall; /* trials per prepsubband call, and calls; 0 without sub-bands */
    double work;                 /* fraction of all samples to search, in [0, 1] */
    double bw_ms;                /* smearing over the band from half a DM step */
    double sub_ms;               /* smearing over a sub-band from half a dsubdm */
};

enum { PSR_DDPLAN_MAX_LINES = 64 };

/* Why the first line already downsamples. */
enum psr_ddplan_coarse {
    PSR_DDPLAN_FINE,    /* it does not */
    PSR_DDPLAN_BY_RES,  /* the requested or possible resolution is coarser than the samples */
    PSR_DDPLAN_BY_CHAN, /* the smearing within a channel is longer than the samples */
};

struct psr_ddplan {
    size_t size;                        /* sizeof the struct */
    const struct psr_ddplan_desc *desc; /* that of psr_ddplan_make, borrowed */
    int nline;
    struct psr_ddplan_line line[PSR_DDPLAN_MAX_LINES];
    double min_total_ms, min_chan_ms, min_bw_ms; /* the smallest smearing possible at any DM */
    double ok_ms;                                /* target resolution */
    enum psr_ddplan_coarse coarse;
    int64_t first_downsamp; /* downsampling factor that the target resolution allows */
    double first_dmstep;    /* ideal first DM step, before rounding to an allowed one */
};

/* Contributions to the smearing at one DM of a line, in ms. */
struct psr_smearing {
    double total;   /* quadrature sum of the others and the sampling time */
    double optimal; /* total for the smallest step and no downsampling */
    double sample;  /* sampling time of the line */
    double chan;    /* within a channel */
    double bw, sub; /* as in the line */
};

/* Makes the plan.
 * Returned: contiguous lines from lodm to hidm or beyond
 * Status:   PSR_EINVAL naming field, value and limit */
PSR_MUST_CHECK psr_status psr_ddplan_make_sized(struct psr_ddplan *plan, size_t size,
                                                const struct psr_ddplan_desc *desc, psr_err *err);
#define psr_ddplan_make(plan, desc, err)                                                           \
    psr_ddplan_make_sized((plan), sizeof *(plan), (desc), (err))

/* Smearing at dm in line i of the plan. */
struct psr_smearing psr_ddplan_smearing(const struct psr_ddplan *plan, int i, double dm);

/* Total number of trials of all lines. */
int64_t psr_ddplan_ndm(const struct psr_ddplan *plan);

/* DDplan.py's choice of sub-bands for prepsubband: the largest number, at least 32, that leaves at
 * least three channels per sub-band; else nchan. */
int64_t psr_ddplan_nsub(int64_t nchan);

/* --- tolerances ------------------------------------------------------------------------------- */

/* Lists DMs by Heimdall's rule: each is the one at which a pulse of the DM before it is "tolerance" times as wide as it
 * would be there.  Width is the quadrature sum of the pulse's own, the sampling time, dispersion within a channel at
 * the centre of the band (8.3 us per MHz, GHz^-3 and unit of DM), and that of the difference in DM over a quarter of
 * the band. */
enum { PSR_DM_TOLERANCE_MOST = 1000000 };

struct psr_dm_tolerance_desc {
    size_t size; /* sizeof the struct */
    struct psr_band band;
    double lodm, hidm; /* pc cm^-3, 0 <= lodm < hidm <= 1e6 */
    double tolerance;  /* 1.0001 to 100; Heimdall's default is 1.25 */
    double width_s;    /* of the pulse; Heimdall's default is 40e-6 */
};

/* Returned: *dm [*ndm]   from lodm to the first at hidm or above, single precision as Heimdall's; malloc'd, caller frees
 * Status:   PSR_EINVAL naming field, value and limit, also of more than PSR_DM_TOLERANCE_MOST DMs; PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_dm_tolerance_list(const struct psr_dm_tolerance_desc *desc,
                                                double **dm, size_t *ndm, psr_err *err);

/* --- plan files ------------------------------------------------------------------------------- */

/* Reads and writes dedispersion plans, the text format between ddplan and gpudedisp.
 *
 *   # band tsamp_s=6.4e-05 nchan=1024 fctr_mhz=1400 bw_mhz=300
 *   # lodm dmstep ndms downsamp nsub
 *   0      0.1    2297 1        0
 *   229.7  0.3    737  2        0
 *
 * A line is a run of trials lodm, lodm + dmstep, ... downsamp is the number of samples summed first
 * (default 1); nsub is the number of sub-bands of PRESTO's two-step algorithm, or 0 (default) for
 * exact dedispersion.  '#' begins a comment; the comment "# band" gives the observing band that the
 * plan was made for.  The tables that ddplan and DDplan.py print can be read too. */

enum { PSR_PLANFILE_MAX_LINES = 4096, PSR_PLANFILE_MAX_BYTES = 1 << 20 };

struct psr_plan_line {
    double lodm, dmstep; /* pc cm^-3 */
    int64_t ndm, downsamp, nsub;
};

struct psr_planfile {
    bool has_band;
    struct psr_band band;
    struct psr_plan_line *line; /* [nline], owned */
    size_t nline;
};

/* Reads path; "-" is standard input.  The caller clears *plan.
 * Status: PSR_EIO; PSR_EFORMAT naming file, line, column and value, also for a file without trials;
 *         PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_planfile_read(struct psr_planfile *plan, const char *path,
                                            psr_err *err);

/* Writes the band, the header and the lines.  Numbers have at most 10 digits.
 * Given:  remark   lines of text, without #, written first as comments; may be NULL
 * Status: those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_planfile_write(psr_outfile *f, const struct psr_planfile *plan,
                                             const char *remark, psr_err *err);

/* Converts a plan made by ddplan; the caller clears *to.
 * Status: PSR_ENOMEM */
PSR_MUST_CHECK psr_status psr_planfile_from_ddplan(struct psr_planfile *to,
                                                   const struct psr_ddplan *from, psr_err *err);

/* Frees the lines; may be called again. */
void psr_planfile_clear(struct psr_planfile *plan);

/* Reads a file of numbers separated by blanks and line ends.
 * Returned: *x [*n], malloc'd, caller frees; NULL on error
 * Status:   PSR_EIO, PSR_ENOMEM; PSR_EFORMAT for a word that is not a number within 1e30, a file
 *           without numbers, a NUL byte, or more than 16 MiB */
PSR_MUST_CHECK psr_status psr_numbers_read(const char *path, double **x, size_t *n, psr_err *err);

PSR_API_END
#endif

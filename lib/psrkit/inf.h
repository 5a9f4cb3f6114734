/* inf.h: reads and writes PRESTO's .inf files, which describe .dat and .fft files. */
#ifndef PSRKIT_INF_H
#define PSRKIT_INF_H

#include <psrkit/obs.h>
#include <psrkit/outfile.h>

PSR_API_BEGIN

enum { PSR_INF_MAX_ONOFF = 40 };

struct psr_inf {
    char name[PSR_TEXT_MAX]; /* data file with its path as given, without suffix */
    char telescope[PSR_TEXT_MAX];
    char instrument[PSR_TEXT_MAX];
    char object[PSR_TEXT_MAX];
    double ra_deg, dec_deg; /* J2000 */
    char observer[PSR_TEXT_MAX];
    struct psr_mjd epoch;
    bool has_epoch; /* the file that was read has an epoch line */
    bool barycentric;
    int64_t nbin;
    double tbin_s;
    int nonoff;                          /* number of pairs below; 0 without breaks */
    int64_t onoff[PSR_INF_MAX_ONOFF][2]; /* first and last bin of each range of real data */
    double beam_arcsec;
    double dm;         /* pc cm^-3 */
    double lowest_mhz; /* centre of the lowest channel */
    double bandwidth_mhz;
    long nchan;
    double chan_width_mhz;
    char analyst[PSR_TEXT_MAX];
    char notes[4 * PSR_TEXT_MAX]; /* lines separated by \n, without their indent of four blanks */
};

/* Sets the name of the data file, without its folder if PRESTO could not read so long a line.
 * Given:  stem   the name as given, without suffix
 * Status: PSR_EINVAL for a path of more than 255 bytes, or a name of more than the 199 bytes that
 *         PRESTO reads */
PSR_MUST_CHECK psr_status psr_inf_set_name(struct psr_inf *inf, const char *stem, psr_err *err);

/* Writes inf in PRESTO's exact layout; empty texts become "Unknown", control characters '?'.
 * Status: those of psr_outfile_write */
PSR_MUST_CHECK psr_status psr_inf_write(psr_outfile *f, const struct psr_inf *inf, psr_err *err);

/* Reads path.  Only files of radio data are supported.
 * Notes:  lines are identified by their leading words, in any order, case and spacing; unknown
 *         lines are skipped.  Only the number of bins and their width are required; missing texts
 *         are "Unknown", missing numbers 0.  Texts too long for their fields are cut.  Malformed
 *         numbers and repeated fields are errors.
 * Status: PSR_EIO; PSR_EFORMAT naming file, line, field and value; PSR_EUNSUPPORTED (also for data
 *         that are not radio); PSR_ENOMEM.  On error *inf is unspecified. */
PSR_MUST_CHECK psr_status psr_inf_read(struct psr_inf *inf, const char *path, psr_err *err);

/* As psr_inf_read, from text of n bytes, not necessarily terminated; name is for messages. */
PSR_MUST_CHECK psr_status psr_inf_parse(struct psr_inf *inf, const char *text, size_t n,
                                        const char *name, psr_err *err);

/* Fills inf as prepsubband does for a series made from obs, except for name, nbin, tbin_s, onoff
 * and dm, which the caller sets.  file_nbit is the sample size of the raw file; the notes record it
 * with the date of obs->began, or of obs->tstart.  The analyst is the login name, else $USER, else
 * "unknown". */
void psr_inf_from_obs(struct psr_inf *inf, const struct psr_obs *obs, int file_nbit);

/* Fills obs with the observation that a series was made from, with the band as if its channels
 * still existed: nsamp and tsamp_s are those of the series, refdm its DM.  A position of 0, 0 is
 * treated as unknown, since PRESTO writes that for unknown positions. */
void psr_inf_to_obs(const struct psr_inf *inf, struct psr_obs *obs);

PSR_API_END
#endif

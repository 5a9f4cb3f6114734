/* inf.h: PRESTO's .inf text, the description that stands beside a .dat or .fft file. */
#ifndef PSRKIT_INF_H
#define PSRKIT_INF_H

#include <psrkit/obs.h>
#include <psrkit/outfile.h>

PSR_API_BEGIN

enum { PSR_INF_MAX_ONOFF = 40 };

struct psr_inf {
    char name[PSR_TEXT_MAX]; /* data file, with its path as given, without suffix */
    char telescope[PSR_TEXT_MAX];
    char instrument[PSR_TEXT_MAX];
    char object[PSR_TEXT_MAX];
    double ra_deg, dec_deg; /* J2000 */
    char observer[PSR_TEXT_MAX];
    struct psr_mjd epoch;
    bool has_epoch; /* of one that was read: there is a line of it */
    bool barycentric;
    int64_t nbin;
    double tbin_s;
    int nonoff;                          /* pairs below; 0 where there are no breaks */
    int64_t onoff[PSR_INF_MAX_ONOFF][2]; /* first and last bin of each stretch of real data */
    double beam_arcsec;
    double dm;         /* pc cm^-3 */
    double lowest_mhz; /* centre of the lowest channel */
    double bandwidth_mhz;
    long nchan;
    double chan_width_mhz;
    char analyst[PSR_TEXT_MAX];
    char notes[4 * PSR_TEXT_MAX]; /* lines separated by \n, without their indent of four blanks */
};

/* Names the data file: with its folder, or without it where PRESTO could not read so long a line.
 * Given:  stem   as the name is given, without suffix
 * Status: PSR_EINVAL for a path of more than 255 bytes, or a name of more than the 199 that PRESTO
 *         reads */
PSR_MUST_CHECK psr_status psr_inf_set_name(struct psr_inf *inf, const char *stem, psr_err *err);

/* Writes inf exactly as PRESTO lays it out; blank texts as "Unknown", control characters as '?'.
 * Status: those of psr_outfile_write. */
PSR_MUST_CHECK psr_status psr_inf_write(psr_outfile *f, const struct psr_inf *inf, psr_err *err);

/* Reads path.  Radio files only; others are PSR_EUNSUPPORTED.
 * Notes:  lines are told apart by their leading words, whatever their order, case and blanks; lines
 *         not known are passed over.  Only the number of bins and their width must be there; texts
 *         that are not are "Unknown", numbers 0.  Texts too long for their fields are cut.  Numbers
 *         must be numbers, and no field may come twice.
 * Status: PSR_EIO; PSR_EFORMAT naming file, line, field and value; PSR_EUNSUPPORTED; PSR_ENOMEM.
 *         On error *inf is unspecified. */
PSR_MUST_CHECK psr_status psr_inf_read(struct psr_inf *inf, const char *path, psr_err *err);

/* As psr_inf_read from text of n bytes, not necessarily terminated; name is for messages. */
PSR_MUST_CHECK psr_status psr_inf_parse(struct psr_inf *inf, const char *text, size_t n,
                                        const char *name, psr_err *err);

/* What prepsubband would say of a series made from obs, but for name, nbin, tbin_s, onoff and dm,
 * which the caller sets.  file_nbit is the depth of the raw file, which the notes record, with the
 * date of obs->began, or of obs->tstart.  The analyst is the login name, else $USER, else
 * "unknown". */
void psr_inf_from_obs(struct psr_inf *inf, const struct psr_obs *obs, int file_nbit);

/* The observation a series is of, whose band obs takes as if channels were still there: nsamp and
 * tsamp_s are the series', refdm its DM.  A position of 0, 0 is none: PRESTO writes that where
 * there is none. */
void psr_inf_to_obs(const struct psr_inf *inf, struct psr_obs *obs);

PSR_API_END
#endif

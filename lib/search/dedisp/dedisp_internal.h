/* dedisp_internal.h: plans of many beams, and of devices (private). */
#ifndef PSR_DEDISP_DEDISP_INTERNAL_H
#define PSR_DEDISP_DEDISP_INTERNAL_H

#include <psrkit/experimental/dedisp.h>

/* The backend that a plan with this backend name would use, as far as its devices are available;
 * static storage. */
const char *psr_dedisp_backend(const char *name);

/* Computes psr_dedisp_maxshift without creating the plan.
 * Status: as psr_dedisp_create */
PSR_MUST_CHECK psr_status psr_dedisp_measure(const struct psr_dedisp_desc *desc, size_t *maxshift,
                                             psr_err *err);

/* How the delays of a trial differ from unrounded exact ones, over the kept channels, in output
 * samples. */
struct psr_dedisp_smearing {
    double largest, rms;
    double limit;  /* of the largest, from the steps that the plan takes; NAN but for TREE */
    double linear; /* limit of what linear delays within sub-bands of 8 kept channels would add:
                      Barsdell et al. 2012 eqs A1 to A4, for the worst sub-band */
};
/* Takes time proportional to the number of channels.  Without the delays within sub-bands of
 * SUBBAND. */
void psr_dedisp_smearing(const psr_dedisp *p, size_t i, struct psr_dedisp_smearing *out);

/* The part of this delay that kept channel c has within its sub-band at every trial, in input
 * samples before downsampling; 0 for DIRECT. */
int64_t psr_dedisp_predelay(const psr_dedisp *p, size_t c);

/* Output samples per trial that the next execute returns for nsamp more spectra. */
size_t psr_dedisp_ready(const psr_dedisp *p, size_t nsamp);

/* As psr_dedisp_execute, but the series stay on the devices that computed them.
 * Given:    in   as above; read without a copy if allocated by psr_device_pin
 * Returned: *taken, the number of spectra processed (the first ones, as many as there is room for);
 *           *device_series [*ndevice_series] with *nout samples of every trial, owned by the plan.
 *           The caller may overwrite in.
 * Notes:    returns while the devices are still working.  All executes of a stream must be of the
 *           same kind.
 * Status:   PSR_EUNSUPPORTED (the plan runs on the CPU), PSR_ENOMEM, PSR_EDEVICE */
PSR_MUST_CHECK psr_status psr_dedisp_execute_device(psr_dedisp *p, const void *in, size_t nsamp,
                                                    size_t *taken,
                                                    const struct psr_device_series **device_series,
                                                    size_t *ndevice_series, size_t *nout,
                                                    psr_err *err);

/* Status: PSR_EINVAL naming field, value and limit; PSR_EUNSUPPORTED (floats, 32-bit samples; with
 *         backend "cuda" also sums beyond 32 bits);
 *         PSR_ENOMEM if mem_bytes cannot hold all beams, with the amount needed; PSR_EDEVICE if the
 *         backend is not available */
PSR_MUST_CHECK psr_status psr_dedisp_beams_create(psr_dedisp_beams **out,
                                                  const struct psr_dedisp_beams_desc *desc,
                                                  psr_err *err);

struct psr_dedisp_beams_info {
    size_t nline;
    double bytes_beam;   /* state of each beam */
    double bytes_shared; /* of the plan for all beams, output included */
    double adds_direct;  /* additions per spectrum: one per kept channel and output sample */
    double adds_planned; /* those done, for blocks of the longest length */
    double difference;   /* limit of the difference from exact delays, samples of the line */
};
void psr_dedisp_beams_describe(const psr_dedisp_beams *p, struct psr_dedisp_beams_info *info);

/* Trials that sum alike, by rising DM. */
struct psr_dedisp_beams_line {
    size_t downsamp;
    size_t ndm;
    const size_t *trial; /* [ndm] numbers in the description; owned by the plan */
    size_t nband;        /* sub-bands */
    double bytes_beam;   /* of a beam's state */
    double adds_planned; /* per spectrum of the input */
    double adds_direct;  /* the same, one per kept channel and output sample */
    double difference;   /* limit of the difference from exact delays, samples of the line */
};
void psr_dedisp_beams_line(const psr_dedisp_beams *p, size_t line,
                           struct psr_dedisp_beams_line *info);

/* A part of the band, from the highest frequencies down. */
struct psr_dedisp_beams_band {
    double low_mhz, high_mhz; /* centres of its lowest and highest kept channel */
    size_t nkept;
    size_t ndm;
    const size_t *trial; /* [ndm] numbers in the line; owned by the plan */
};
void psr_dedisp_beams_band(const psr_dedisp_beams *p, size_t line, size_t band,
                           struct psr_dedisp_beams_band *info);

/* Delay shift(i) that trial i of a line has had when it comes out, and lag(i,c) of kept channel c,
 * in samples of the line. */
size_t psr_dedisp_beams_shift(const psr_dedisp_beams *p, size_t line, size_t i);
int64_t psr_dedisp_beams_lag(const psr_dedisp_beams *p, size_t line, size_t i, size_t c);

/* Takes the next spectra of a beam.
 * Given:  beam   each beam is a stream of its own
 *         in     [nsamp][nchan] packed as in desc, each spectrum starting on a byte boundary; with
 *                backend "cuda" best in memory of psr_device_pin
 *         nsamp  <= block
 * Notes:  a device is still working when this returns; "in" may be overwritten
 * Status: PSR_EINVAL (beam, nsamp), PSR_ENOMEM, PSR_EDEVICE, after which the plan can only be freed */
PSR_MUST_CHECK psr_status psr_dedisp_beams_execute(psr_dedisp_beams *p, size_t beam, const void *in,
                                                   size_t nsamp, psr_err *err);

/* As psr_dedisp_beams_execute, with spectra on the plan's device, such as the rows of
 * psr_beam_start_device; the device of backend "cpu" is the host's memory.
 * Given:  d_in     [nsamp][nchan] as "in" there; read in place, owned by the caller
 *         stream   cudaStream_t of that device on which they are written: the plan's work waits for what
 *                  has been enqueued there, and what is enqueued there afterwards waits until the spectra
 *                  have been read; NULL: they are complete, and the call returns when they have been read
 * Status: as psr_dedisp_beams_execute */
PSR_MUST_CHECK psr_status psr_dedisp_beams_execute_device(psr_dedisp_beams *p, size_t beam,
                                                          const void *d_in, void *stream,
                                                          size_t nsamp, psr_err *err);

/* Series that the last execute completed. */
struct psr_dedisp_beams_series {
    uint64_t first; /* number of sample 0 in the beam's stream, in samples of the line */
    size_t nsamp;   /* the same for all trials of a line */
    size_t stride;
    const float *out; /* [ndm][stride], owned by the plan, until the next execute; or NULL, */
    struct psr_device_series on_device; /* and the same on a device; nseries is 0 on the CPU */
};
void psr_dedisp_beams_series(const psr_dedisp_beams *p, size_t line,
                             struct psr_dedisp_beams_series *series);

/* The same of the trials of a sub-band. */
void psr_dedisp_beams_band_series(const psr_dedisp_beams *p, size_t line, size_t band,
                                  struct psr_dedisp_beams_series *series);

/* Begins a new stream of a beam. */
void psr_dedisp_beams_reset(psr_dedisp_beams *p, size_t beam);

/* Frees the plan; NULL is allowed. */
void psr_dedisp_beams_destroy(psr_dedisp_beams *p);

#endif

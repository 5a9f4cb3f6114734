/* Reads SIGPROC filterbank files and pipes. */
#include "formats/hdf5/fbh5.h"
#include "formats/spectra/spectra_reader.h"
#include "sigproc_header.h"

#include <string.h>

static psr_status refuse_other_format(const struct psr_spectra_start *start, psr_err *err)
{
    const char *name = psr_is_fits(start->bytes, start->n)   ? "FITS"
                       : psr_is_hdf5(start->bytes, start->n) ? "HDF5"
                                                             : NULL;
    if (!name)
        return PSR_OK;
    if (start->stream)
        return psr_fail(err, PSR_EUNSUPPORTED,
                        "%s: %s files cannot be read from a pipe; give the name of the file",
                        start->name, name);
    return psr_fail(err, PSR_EFORMAT, "%s: a %s file, a SIGPROC file was expected", start->name,
                    name);
}

/* So little has come that it may yet be the beginning of a FITS file. */
static bool may_be_fits(const struct psr_spectra_start *start)
{
    return start->n < strlen(PSR_FITS_MAGIC) && memcmp(start->bytes, PSR_FITS_MAGIC, start->n) == 0;
}

/* Only spectra with a frequency axis can be a source. */
static psr_status check_data_type(const struct psr_spectra_start *start,
                                  const struct psr_sigproc_header *h, psr_err *err)
{
    switch (h->data_type) {
    case PSR_SIGPROC_RAW:
    case PSR_SIGPROC_FILTERBANK:
        return PSR_OK;
    case PSR_SIGPROC_SERIES:
        if (h->obs.nchan == 1)
            return psr_fail(
                err, PSR_EUNSUPPORTED,
                "%s: data_type = 2, a time series dedispersed at DM %.10g, must be 1, a "
                "filterbank",
                start->name, h->obs.refdm);
        break;
    case PSR_SIGPROC_SUBBANDS:
        break;
    case PSR_SIGPROC_PROFILE:
    case PSR_SIGPROC_AMPLITUDES:
    case PSR_SIGPROC_SPECTRUM:
        return psr_fail(
            err, PSR_EUNSUPPORTED,
            "%s: data_type = %d, folded profiles or a spectrum, must be 1, a filterbank",
            start->name, h->data_type);
    }
    psr_note(start->notes, "%s: data_type = %d, read as a filterbank", start->name, h->data_type);
    return PSR_OK;
}

/* A series is for other tools: its name says that it is one. */
static psr_status check_series_name(const char *name, psr_err *err)
{
    static const char *const suffixes[] = {".dat", ".sdat", ".fft", ".tim"};
    const char *dot = strrchr(name, '.');
    for (size_t i = 0; dot && i < sizeof suffixes / sizeof *suffixes; i++)
        if (!strcmp(dot, suffixes[i]))
            return psr_fail(err, PSR_EUNSUPPORTED,
                            "%s: %s, not spectra: gpuaccel-pulscan searches it%s", name,
                            i == 2 ? "a Fourier transform" : "a dedispersed series",
                            i == 2 ? "" : ", gpufold folds it");
    return PSR_OK;
}

psr_status psr_sigproc_parse_start(struct psr_spectra_header *h,
                                   const struct psr_spectra_start *start, psr_err *err)
{
    struct psr_sigproc_header sigproc = {.need_more = false};
    psr_obs_init(&sigproc.obs);
    psr_status st = refuse_other_format(start, err);
    if (!st)
        st = psr_sigproc_parse_header(&sigproc, start->bytes, start->n, start->name, start->notes,
                                      err);
    if (!st)
        st = check_data_type(start, &sigproc, err);
    else
        sigproc.need_more |= may_be_fits(start);
    if (st && (!sigproc.need_more || start->end) && check_series_name(start->name, err))
        st = PSR_EUNSUPPORTED;
    if (st)
        psr_obs_clear(&sigproc.obs);
    *h = (struct psr_spectra_header){
        .obs = sigproc.obs, .bytes = sigproc.bytes, .need_more = sigproc.need_more};
    return st;
}

psr_status psr_sigproc_open(struct psr_reader **out, const char *path,
                            const struct psr_source_desc *desc, psr_err *err)
{
    return psr_spectra_reader_open(out, path, desc, psr_sigproc_parse_start, err);
}

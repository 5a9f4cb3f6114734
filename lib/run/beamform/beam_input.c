/* Opens voltages, reads the array, and checks that they agree. */
#include "base/obs_internal.h"
#include "beam/beam_internal.h"
#include "beamformer_state.h"
#include "formats/dada/dada_internal.h"

#include <stdlib.h>

psr_status psr_beam_input_open(struct psr_beam_input *in, const struct psr_voltages_desc *desc,
                               psr_err *err)
{
    psr_status st = psr_voltages_open(&in->voltages, desc, err);
    if (st)
        return st;
    const struct psr_dada *h = psr_voltages_header(in->voltages);
    in->name = desc->path[0];
    in->header = h;
    in->nsamp = psr_voltages_nsamp(in->voltages);
    in->nfreq = (size_t)h->nchan;
    in->tsamp_s = h->tsamp_us * 1e-6;
    in->sample_bytes = psr_dada_sample_bytes(h);
    in->freq_mhz = malloc(in->nfreq * sizeof *in->freq_mhz);
    if (!in->freq_mhz)
        return psr_fail_nomem(err, "channel frequencies", (double)in->nfreq * 8);
    for (size_t c = 0; c < in->nfreq; c++)
        in->freq_mhz[c] = psr_dada_freq_mhz(h, c);
    return PSR_OK;
}

psr_status psr_beam_input_read_array(struct psr_beam_input *in, const char *path, const char *site,
                                     const struct psr_notes *notes, psr_err *err)
{
    psr_status st = psr_array_read(&in->array, path, err);
    if (!st && (size_t)in->header->nant != in->array.ndish)
        st = psr_fail_field(err, PSR_EFORMAT, "NANT", "%s: NANT is %lld, %s has %zu dishes",
                            in->name, (long long)in->header->nant, path, in->array.ndish);
    if (!st && site)
        st = psr_array_set_site(&in->array, site, err);
    if (!st && in->array.standin[0])
        psr_note(notes, "%s: stand-ins, not the telescope's own: %s", path, in->array.standin);
    in->frame =
        (struct psr_pointing_frame){&in->array, in->nfreq, in->freq_mhz, in->header->phase_sign};
    return st;
}

void psr_beam_input_close(struct psr_beam_input *in)
{
    psr_voltages_close(in->voltages);
    psr_array_clear(&in->array);
    free(in->freq_mhz);
}

struct psr_mjd psr_beam_input_date(const struct psr_beam_input *in, int64_t t)
{
    const struct psr_dada *h = in->header;
    return h->has_start ? psr_mjd_add(h->start, (double)t * in->tsamp_s) : (struct psr_mjd){0, 0};
}

/* Adds signals to spectra as they are read. */
#include "edit_state.h"

#include "fake/fake_internal.h"
#include "formats/spectra/unpack.h"
#include <psrkit/ddplan.h>

/* Spectra of a stream whose end is not known: more than any has. */
static const int64_t endless = INT64_C(1) << 40;

static psr_status check_kinds(const psr_edit *p, const struct psr_fake_signal *signal, size_t n,
                              psr_err *err)
{
    for (size_t i = 0; i < n && p->count < 0; i++)
        if (signal[i].kind == PSR_FAKE_PULSAR)
            return psr_fail_field(err, PSR_EINVAL, "signals",
                                  "edit: the S/N of a pulsar is over all spectra: a stream needs "
                                  "an end");
    return PSR_OK;
}

/* Signals alone, as floats: samples may have any type. */
psr_status psr_edit_add_create(psr_edit *p, psr_err *err)
{
    const double observed_s = p->count < 0 ? -1 : (double)p->count * p->in.tsamp_s;
    struct psr_obs obs = p->cut; /* its table is borrowed */
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = &obs,
                              .seed = p->d.seed,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .nthread = p->nthread};
    if (!p->d.signals)
        return PSR_OK;
    psr_status st = p->d.signals(p->d.signals_ctx, observed_s, &d.signal, &d.nsignal, err);
    if (!st)
        st = check_kinds(p, d.signal, d.nsignal, err);
    if (st || !d.nsignal)
        return st;
    obs.nif = 1;
    obs.nbit = 32;
    obs.kind = PSR_FLOAT;
    obs.nsamp = p->count < 0 ? endless : p->count;
    p->nsignal = d.nsignal;
    return psr_fake_create(&p->signals, &d, err);
}

psr_status psr_edit_add_run(psr_edit *p, size_t n, psr_err *err)
{
    return psr_fake_inject(p->signals, p->in.nbit, p->in.kind, p->nread, n, p->read, err);
}

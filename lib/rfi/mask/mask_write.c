/* Writes rfifind's .mask files. */
#include <psrkit/experimental/clean.h>

static psr_status put_list(psr_outfile *f, const int32_t *list, size_t n, psr_err *err)
{
    const int32_t count = (int32_t)n;
    psr_status st = psr_outfile_write(f, &count, sizeof count, err);
    return st || !n ? st : psr_outfile_write(f, list, n * sizeof *list, err);
}

static psr_status put_counts(psr_outfile *f, const struct psr_mask *m, psr_err *err)
{
    psr_status st = PSR_OK;
    for (size_t i = 0; i < m->nint && !st; i++) {
        const size_t n = m->all_chan[i] ? m->nchan : m->first[i + 1] - m->first[i];
        const int32_t count = (int32_t)n;
        st = psr_outfile_write(f, &count, sizeof count, err);
    }
    return st;
}

psr_status psr_mask_write(psr_outfile *f, const struct psr_mask *m, psr_err *err)
{
    const double head[6] = {m->timesigma, m->freqsigma,  m->mjd,
                            m->dtint_s,   m->lofreq_mhz, m->dfreq_mhz};
    const int32_t size[3] = {(int32_t)m->nchan, (int32_t)m->nint, (int32_t)m->ptsperint};
    const size_t n = m->first[m->nint];
    psr_status st = psr_outfile_write(f, head, sizeof head, err);
    if (!st)
        st = psr_outfile_write(f, size, sizeof size, err);
    if (!st)
        st = put_list(f, m->zap_chans, m->nzap_chan, err);
    if (!st)
        st = put_list(f, m->zap_ints, m->nzap_int, err);
    if (!st)
        st = put_counts(f, m, err);
    return st || !n ? st : psr_outfile_write(f, m->chan, n * sizeof *m->chan, err);
}

/* What dedispersion takes and may take of memory, and lengths of blocks and of series. */
#include "dedispersion_memory.h"

#include "base/memory.h"
#include "base/tool.h"
#include <math.h>

/* Of a spectrum as it is read, and as it becomes beside that. */
double psr_dedispersion_spectrum_bytes(const struct psr_dedispersion_desc *d)
{
    return (double)d->read_bytes + (double)d->cleaned_bytes;
}

/* Of the series of a spectrum, of the line that has the most. */
double psr_dedispersion_series_bytes(const struct psr_dedispersion_desc *d)
{
    const struct psr_trial_list *t = d->trials;
    double out = 0;
    for (const struct psr_line *l = t->line; l < t->line + t->nline; l++)
        out = fmax(out, 4 * (double)l->ndm / (double)l->downsamp);
    return out;
}

/* Cleaning goes by whole blocks, whatever they take. */
int64_t psr_dedispersion_cleaning_bytes(const struct psr_dedispersion_desc *d)
{
    const double out = psr_dedispersion_series_bytes(d) * (d->equalise ? 2 : 1);
    if (!d->clean_block)
        return 0;
    return d->clean_bytes +
           (int64_t)((double)d->clean_block * (psr_dedispersion_spectrum_bytes(d) + out));
}

/* What -mem leaves to dedispersion. */
psr_status psr_dedispersion_share_memory(const struct psr_dedispersion_desc *d, int64_t *mem_bytes,
                                         psr_err *err)
{
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    int64_t all = psr_count_memory(d->mem_bytes), cleaning = psr_dedispersion_cleaning_bytes(d);
    *mem_bytes = all - cleaning;
    if (*mem_bytes > 0)
        return PSR_OK;
    return psr_fail(err, PSR_ENOMEM,
                    "-mem: %s, must be above the %s that cleaning takes with %zu spectra of %zu "
                    "channels",
                    psr_size_text(have, (double)all), psr_size_text(need, (double)cleaning),
                    d->clean_block, d->obs->nchan);
}

size_t psr_dedispersion_whole_block(const struct psr_dedispersion_desc *d, size_t n)
{
    const size_t most_bytes = 64 << 20; /* larger ones are slower to go over again */
    size_t most = most_bytes / d->read_bytes;
    if (d->clean_block) {
        n = n + d->clean_block < most ? n + d->clean_block : most;
        n -= n % d->clean_block;
        n = n ? n : d->clean_block;
    }
    return d->obs->nsamp >= 0 && (size_t)d->obs->nsamp < n ? (size_t)d->obs->nsamp : n;
}

/* The input may be shorter than a trial's sweep, and then no sample of it is ever complete. */
psr_status psr_dedispersion_check_length(const struct psr_dedispersion_desc *d,
                                         const psr_dedisp *plan, size_t line, int64_t nsamp,
                                         psr_err *err)
{
    const struct psr_trial_list *t = d->trials;
    const struct psr_line *l = &t->line[line];
    int64_t have = nsamp / l->downsamp;
    size_t worst = 0;
    for (size_t i = 1; i < l->ndm; i++) {
        bool higher = t->dm[l->first + i] > t->dm[l->first + worst];
        worst = higher != d->any_length ? i : worst;
    }
    int64_t sweep = (int64_t)psr_dedisp_shift(plan, worst);
    if (have > sweep)
        return PSR_OK;
    return psr_fail(err, PSR_EUNSUPPORTED,
                    "%s: DM %g sweeps over %lld samples, the input holds %lld: no sample is "
                    "complete",
                    d->input, t->dm[l->first + worst], (long long)sweep, (long long)have);
}

/* What -mem leaves to dedispersion and to blocks of spectra. */
#include "gpudedisp.h"

#include "base/memory.h"
#include <math.h>
#include <psrkit/number.h>

/* Of a spectrum as it is read, and as zero-DM makes it beside that. */
static double spectrum_bytes(const struct gpudedisp_job *j)
{
    double floats = j->opt.zerodm ? 4 * (double)psr_source_obs(j->source)->nchan : 0;
    return (double)psr_source_block_bytes(j->source, 1) + floats;
}

/* Cleaning goes by whole blocks, whatever they take. */
static int64_t cleaning_bytes(const struct gpudedisp_job *j)
{
    double out = 0;
    for (const struct gpudedisp_line *l = j->line; l < j->line + j->nline; l++)
        out = fmax(out, 4 * (double)l->ndm / (double)l->downsamp);
    if (!j->clean)
        return 0;
    return psr_clean_bytes(j->clean) + (int64_t)(PSR_CLEAN_BLOCK * (spectrum_bytes(j) + out));
}

psr_status gpudedisp_share_memory(struct gpudedisp_job *j, int64_t *mem_bytes)
{
    char need[PSR_SIZE_TEXT], have[PSR_SIZE_TEXT];
    int64_t all = psr_count_memory(j->opt.mem_bytes), cleaning = cleaning_bytes(j);
    *mem_bytes = all - cleaning;
    if (*mem_bytes > 0)
        return PSR_OK;
    return psr_fail(&j->err, PSR_ENOMEM,
                    "-mem: %s, must be above the %s that cleaning takes with %d spectra of %zu "
                    "channels",
                    psr_size_text(have, (double)all), psr_size_text(need, (double)cleaning),
                    PSR_CLEAN_BLOCK, psr_source_obs(j->source)->nchan);
}

psr_status gpudedisp_fail_memory(struct gpudedisp_job *j)
{
    char all[PSR_SIZE_TEXT], cleaning[PSR_SIZE_TEXT];
    psr_err why = j->err;
    if (!j->clean)
        return psr_fail(&j->err, PSR_ENOMEM, "-mem: %.400s", why.msg);
    return psr_fail(&j->err, PSR_ENOMEM, "-mem: %.300s; cleaning takes %s of %s", why.msg,
                    psr_size_text(cleaning, (double)cleaning_bytes(j)),
                    psr_size_text(all, (double)psr_count_memory(j->opt.mem_bytes)));
}

size_t gpudedisp_choose_block(const struct gpudedisp_job *j)
{
    const size_t most_bytes = 64 << 20; /* larger ones are slower to go over again */
    const struct psr_obs *obs = psr_source_obs(j->source);
    double row_bytes = (double)psr_source_block_bytes(j->source, 1);
    size_t most = most_bytes / (size_t)row_bytes, n = psr_fanout_block(j->fan);
    if (j->opt.zerodm)
        n -= (size_t)((double)n * row_bytes / spectrum_bytes(j));
    if (j->clean) {
        n = n + PSR_CLEAN_BLOCK < most ? n + PSR_CLEAN_BLOCK : most;
        n -= n % PSR_CLEAN_BLOCK;
        n = n ? n : PSR_CLEAN_BLOCK;
    }
    return obs->nsamp >= 0 && (size_t)obs->nsamp < n ? (size_t)obs->nsamp : n;
}

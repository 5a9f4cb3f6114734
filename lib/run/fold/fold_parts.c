/* Blocks and parts of what is folded. */
#include "folder.h"

#include "base/tool.h"

/* PRESTO's guard against fractions that are a little below a whole number. */
static const double fraction_tiny = 1e-14;

/* Begin and end of what is folded, in units of what is read at once. */
struct extent {
    int64_t first, end;
};

static struct extent find_extent(const psr_folder *f, int64_t all)
{
    return (struct extent){(int64_t)(f->d.start * (double)all + fraction_tiny),
                           (int64_t)(f->d.end * (double)all + fraction_tiny)};
}

static psr_status fail_short(const psr_folder *f, int64_t block, psr_err *err)
{
    return psr_fail(err, PSR_EUNSUPPORTED, "%s: %lld samples to fold, fewer than a block of %lld",
                    f->in.name, (long long)f->in.nsamp, (long long)block);
}

/* --- as prepfold ------------------------------------------------------------------------------ */

/* Whole blocks in equal parts; spectra that are left over are not folded. */
static psr_status set_presto_parts(psr_folder *f, psr_err *err)
{
    const int64_t block = (int64_t)f->in.block;
    const bool by_sample = f->in.is_series;
    const struct extent x = find_extent(f, by_sample ? f->in.nsamp : f->in.nsamp / block);
    const int64_t nblock = by_sample ? (x.end - x.first) / block : x.end - x.first;
    if (nblock < 1)
        return fail_short(f, block, err);
    if (nblock <= (int64_t)f->in.lookahead)
        return psr_fail(err, PSR_EUNSUPPORTED,
                        "%s: %lld samples to fold: prepfold would fold none of them, as it needs a "
                        "block of %lld after each (without -compat presto all are folded)",
                        f->in.name, (long long)f->in.nsamp, (long long)block);
    f->frame.npart = (size_t)(nblock < f->d.npart ? nblock : f->d.npart);
    if (nblock < f->d.npart)
        psr_note(&f->d.notes, "%s: %lld blocks: -npart is %lld", f->in.name, (long long)nblock,
                 (long long)nblock);
    f->part_blocks = (size_t)nblock / f->frame.npart;
    f->nblock = f->frame.npart * f->part_blocks;
    f->in.skip = by_sample ? x.first : x.first * block;
    f->wanted = by_sample ? x.end - x.first : x.end * block - f->in.skip;
    if (!by_sample && f->d.end == 1)
        f->wanted = f->in.nsamp - f->in.skip;
    return PSR_OK;
}

/* --- every sample ----------------------------------------------------------------------------- */

/* A way to cut n samples. */
struct cut {
    int64_t block, part_blocks, left; /* samples; blocks; samples that fill no block */
};

/* Of blocks of a length that makes up to npart parts, the last at least half as long as the others, those that leave the
 * fewest samples over. */
static struct cut choose_block(int64_t n, int64_t npart, int64_t part_blocks)
{
    const int64_t all = npart * part_blocks, least = (n + all - 1) / all;
    const int64_t most = 2 * n / ((2 * npart - 1) * part_blocks);
    struct cut best = {least, part_blocks, n % least};
    for (int64_t block = least + 1; block <= most && best.left > 0; block++)
        if (n % block < best.left)
            best = (struct cut){block, part_blocks, n % block};
    return best;
}

/* Longer blocks are folded faster: shorter ones are tried while more than a few samples in a million are left. */
static struct cut choose_cut(int64_t n, int64_t npart, int64_t longest)
{
    enum { WAYS = 16 };
    const int64_t few = 100000;
    const int64_t part = (n + npart - 1) / npart, fewest = (part + longest - 1) / longest;
    struct cut best = choose_block(n, npart, fewest);
    for (int64_t k = fewest + 1; k < fewest + WAYS && k <= part && best.left > n / few; k++) {
        const struct cut cut = choose_block(n, npart, k);
        if (cut.left < best.left)
            best = cut;
    }
    return best;
}

static psr_status set_whole_parts(psr_folder *f, psr_err *err)
{
    const struct extent x = find_extent(f, f->in.nsamp);
    const int64_t n = x.end - x.first;
    if (n < 1)
        return fail_short(f, 1, err);
    const struct cut cut = choose_cut(n, n < f->d.npart ? n : f->d.npart, (int64_t)f->in.block);
    f->in.block = (size_t)cut.block;
    f->in.lookahead = 0;
    f->in.skip = x.first;
    f->wanted = n;
    f->nblock = (size_t)(n / cut.block);
    f->part_blocks = (size_t)cut.part_blocks;
    f->frame.npart = (f->nblock + f->part_blocks - 1) / f->part_blocks;
    return PSR_OK;
}

psr_status psr_folder_set_parts(psr_folder *f, psr_err *err)
{
    psr_status st = f->d.presto ? set_presto_parts(f, err) : set_whole_parts(f, err);
    if (st)
        return st;
    struct psr_fold_frame *frame = &f->frame;
    const struct psr_mjd at = f->in.obs.tstart;
    const double block_s = (double)f->in.block * f->in.obs.tsamp_s;
    frame->length_s = (double)(frame->npart * f->part_blocks) * block_s;
    /* in prepfold's order of operations */
    const double first = (double)f->in.skip / (double)f->in.block;
    const double skipped_s =
        f->in.is_series || !f->d.presto ? (double)f->in.skip * f->in.obs.tsamp_s : first * block_s;
    frame->epoch_mjd = (double)at.day + at.frac + skipped_s / 86400;
    return PSR_OK;
}

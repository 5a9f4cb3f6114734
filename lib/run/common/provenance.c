/* Builds the line that records how a series was made. */
#include "provenance.h"

#include "base/output/outfile_internal.h"
#include <config.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char settings[] = ", settings";

struct psr_provenance {
    struct psr_provenance_desc d;
    uint64_t input;          /* digest of its files */
    struct timespec changed; /* when the youngest of them was written */
    uint64_t run;            /* digest of all but the trials */
};

static uint64_t digest_mask(uint64_t d, const struct psr_mask *m)
{
    if (!m || !m->nint)
        return d;
    d = psr_digest_bytes(d, &m->dtint_s, sizeof m->dtint_s);
    d = psr_digest_bytes(d, m->zap_chan, m->nchan);
    d = psr_digest_bytes(d, m->zap_int, m->nint);
    d = psr_digest_bytes(d, m->all_chan, m->nint);
    d = psr_digest_bytes(d, m->first, (m->nint + 1) * sizeof *m->first);
    d = psr_digest_bytes(d, m->chan, m->first[m->nint] * sizeof *m->chan);
    return psr_digest_bytes(d, m->padding, m->nchan * sizeof *m->padding);
}

static uint64_t digest_run(const psr_provenance *p)
{
    const struct psr_provenance_desc *desc = &p->d;
    uint64_t d = psr_digest_text(PSR_DIGEST_START, PACKAGE_VERSION);
    for (size_t k = 0; k < desc->npart; k++)
        d = psr_digest_bytes(d, desc->part[k].at, desc->part[k].n);
    d = psr_digest_bytes(d, &p->input, sizeof p->input);
    d = psr_digest_bytes(d, &desc->nsamp, sizeof desc->nsamp);
    for (size_t k = 0; k < desc->ntext; k++)
        d = psr_digest_text(d, desc->text[k]);
    return digest_mask(d, desc->mask);
}

psr_status psr_provenance_create(psr_provenance **out, const struct psr_provenance_desc *desc,
                                 psr_err *err)
{
    *out = NULL;
    psr_provenance *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "provenance", sizeof *p);
    p->d = *desc;
    psr_status st = psr_digest_files(&p->input, &p->changed, desc->path, desc->npath, err);
    p->run = digest_run(p);
    if (st)
        psr_provenance_destroy(p);
    else
        *out = p;
    return st;
}

static uint64_t digest_line(const psr_provenance *p, const struct psr_trial_list *t,
                            const struct psr_line *l, const struct psr_provenance_line *how)
{
    uint64_t d = psr_digest_bytes(p->run, &l->downsamp, sizeof l->downsamp);
    d = psr_digest_bytes(d, &how->maxshift, sizeof how->maxshift);
    if (how->by_nsub)
        d = psr_digest_bytes(d, &l->nsub, sizeof l->nsub);
    if (!how->independent)
        d = psr_digest_bytes(d, t->dm + l->first, l->ndm * sizeof *t->dm);
    return psr_digest_text(d, how->kind);
}

void psr_provenance_mark(const psr_provenance *p, struct psr_trial_list *trials,
                         const struct psr_provenance_line *line)
{
    const char *backend = p->d.backend;
    for (size_t k = 0; k < trials->nline; k++) {
        struct psr_line *l = &trials->line[k];
        snprintf(l->note, sizeof l->note, "psrkit %s %s, %s%s%s%s %016llx", PACKAGE_VERSION,
                 p->d.program, line[k].algo, backend ? ", " : "", backend ? backend : "", settings,
                 (unsigned long long)digest_line(p, trials, l, &line[k]));
    }
}

struct timespec psr_provenance_changed(const psr_provenance *p)
{
    return p->changed;
}

/* An input that was removed counts as changed. */
void psr_provenance_check(const psr_provenance *p, struct psr_trial_list *trials)
{
    uint64_t digest;
    struct timespec now, then = p->changed;
    if (psr_digest_files(&digest, &now, p->d.path, p->d.npath, NULL) == PSR_OK &&
        digest == p->input && now.tv_sec == then.tv_sec && now.tv_nsec == then.tv_nsec)
        return;
    for (struct psr_line *l = trials->line; l < trials->line + trials->nline; l++)
        strcpy(strstr(l->note, settings), ", input changed meanwhile");
}

void psr_provenance_destroy(psr_provenance *p)
{
    free(p);
}

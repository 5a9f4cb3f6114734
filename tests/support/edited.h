/* edited.h: observations in memory and in files, and edits of them. */
#ifndef PSR_EDITED_H
#define PSR_EDITED_H

#include "base/obs_internal.h"
#include "formats/spectra/unpack.h"
#include "tests/support/tap.h"
#include <psrkit/experimental/filterbank.h>

#include <string.h>

/* An observation in memory: samples as numbers. */
struct made {
    struct psr_obs obs;
    double *x; /* [nsamp][nchan] */
};

static void store(const struct made *m, const char *path)
{
    psr_err err;
    psr_outfile *f;
    const size_t bytes = psr_row_bytes(m->obs.nchan, m->obs.nbit);
    uint8_t *row = tap_take(bytes, 1);
    psr_status st = psr_outfile_create(&f, path, &err);
    st = st ? st : psr_sigproc_write(f, &m->obs, PSR_SIGPROC_FILTERBANK, &err);
    for (int64_t t = 0; t < m->obs.nsamp && !st; t++) {
        psr_row_pack(row, m->x + (size_t)t * m->obs.nchan, m->obs.nchan, m->obs.nbit, m->obs.kind);
        st = psr_outfile_write(f, row, bytes, &err);
    }
    st = st ? st : psr_outfile_commit(f, &err);
    free(row);
    if (st) {
        printf("Bail out! %s\n", err.msg);
        exit(EXIT_FAILURE);
    }
}

/* Returned: false, with a remark, if it cannot be read */
static bool load(struct made *m, const char *path)
{
    psr_err err = {.msg = ""};
    psr_source *s;
    size_t n = 0;
    const struct psr_source_desc d = {.size = sizeof d, .path = &path, .npath = 1, .if_choice = -1};
    *m = (struct made){.x = NULL};
    psr_obs_init(&m->obs);
    psr_status st = psr_source_open(&s, &d, &err);
    if (st) {
        diag("%s", err.msg);
        return false;
    }
    st = psr_obs_copy(&m->obs, psr_source_obs(s), &err);
    const size_t nchan = m->obs.nchan, nsamp = (size_t)m->obs.nsamp;
    uint8_t *block = tap_take(psr_source_block_bytes(s, nsamp), 1);
    m->x = tap_take(nsamp * nchan, sizeof *m->x);
    st = st ? st : psr_source_read(s, nsamp, block, &n, &err);
    for (size_t t = 0; t < n && !st; t++)
        psr_row_unpack(m->x + t * nchan, block + t * psr_row_bytes(nchan, m->obs.nbit), nchan,
                       m->obs.nbit, m->obs.kind);
    free(block);
    psr_source_close(s);
    return !st && n == nsamp;
}

static void drop(struct made *m)
{
    psr_obs_clear(&m->obs);
    free(m->x);
}

static psr_status edit(const struct psr_edit_desc *d, psr_err *err)
{
    psr_edit *p;
    psr_status st = psr_edit_create(&p, d, err);
    if (!st)
        st = psr_edit_run(p, err);
    if (!st)
        st = psr_edit_finish(p, err);
    psr_edit_destroy(p);
    return st;
}

#endif

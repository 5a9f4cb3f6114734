#include <psrkit/outfile.h>

#include <stdio.h>
#include <stdlib.h>

struct psr_outfile {
    FILE *f;
};

psr_status psr_outfile_create(psr_outfile **out, const char *path, psr_err *err)
{
    *out = calloc(1, sizeof **out);
    (*out)->f = fopen(path, "wb");
    return (*out)->f ? PSR_OK : psr_fail_errno(err, "%s", path);
}

psr_status psr_outfile_write(psr_outfile *f, const void *bytes, size_t n, psr_err *err)
{
    return fwrite(bytes, 1, n, f->f) == n ? PSR_OK : psr_fail_errno(err, "write");
}

psr_status psr_outfile_commit(psr_outfile *f, psr_err *err)
{
    int bad = fclose(f->f);
    free(f);
    return bad ? psr_fail_errno(err, "close") : PSR_OK;
}

void psr_outfile_abort(psr_outfile *f)
{
    if (f) {
        fclose(f->f);
        free(f);
    }
}

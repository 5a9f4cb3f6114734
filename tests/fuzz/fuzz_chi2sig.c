/* fuzz_chi2sig: any bytes given to chi2sig as rows, and as a list of candidates, give rows in range
 * or a clear error.  What prints them is not linked. */
#include "tools/chi2sig/chi2sig.h"

#include "fuzz_file.h"
#include <fcntl.h>

/* It counts rows. */
void chi2sig_add_row(const struct chi2sig_job *job, const struct chi2sig_row *row,
                     struct chi2sig_text *out)
{
    (void)job;
    out->used++;
    if (!(row->power >= -CHI2SIG_MAX_POWER && row->power <= CHI2SIG_MAX_POWER) ||
        !(row->dof >= 1 && row->dof <= CHI2SIG_MAX_DOF))
        abort();
}

void chi2sig_print_head(const struct chi2sig_job *job)
{
    (void)job;
}

psr_status chi2sig_write(const struct chi2sig_job *job, struct chi2sig_text *out, int64_t *nwrite,
                         psr_err *err)
{
    (void)job, (void)err;
    *nwrite += (int64_t)out->used;
    out->used = 0;
    return PSR_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct chi2sig_job job = {
        .dof = size % 4 ? 0 : 2, .inverse = size % 3 == 0, .nthread = 1};
    const char *path = fuzz_file(data, size);
    psr_err err = {.code = PSR_OK};
    psr_status st = chi2sig_candidates(&job, path, &err);
    if (st)
        fuzz_check_failure(st, &err, path);
    int fd = open(path, O_RDONLY);
    if (fd < 0)
        abort();
    st = chi2sig_rows(&job, fd, &err);
    if (st)
        fuzz_check_failure(st, &err, "standard input");
    close(fd);
    return 0;
}

/* fuzz_pfd: any bytes given as a .pfd file, and again as a .bestprof file, give a fold that can be
 * used or a clear error. */
#include <psrkit/experimental/fold.h>

#include "fuzz_file.h"
#include "search/fold/fold_internal.h"
#include "tests/support/bestprof_read.h"

static void use(const struct psr_pfd *p)
{
    const size_t nprof = (size_t)p->npart * (size_t)p->nsub, nbin = (size_t)p->nbin;
    double sum = 0;
    for (size_t i = 0; i < nprof * nbin; i++)
        sum += p->profile[i];
    for (size_t i = 0; i < nprof; i++)
        sum += p->stats[i].redchi;
    volatile double used = sum; /* every value is read */
    (void)used;
    if (strlen(p->input) + strlen(p->candidate) + strlen(p->ra) + strlen(p->dec) > 10000)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct psr_pfd pfd;
    struct psr_bestprof best;
    psr_err err = {.code = PSR_OK};
    psr_status st = psr_pfd_parse(&pfd, data, size, "input", &err);
    if (st == PSR_OK)
        use(&pfd);
    else
        fuzz_check_failure(st, &err, "input");
    psr_pfd_clear(&pfd);
    const char *path = fuzz_file(data, size);
    st = bestprof_read(&best, path, &err);
    if (st == PSR_OK && !best.nbin)
        abort();
    if (st != PSR_OK)
        fuzz_check_failure(st, &err, path);
    psr_bestprof_clear(&best);
    return 0;
}

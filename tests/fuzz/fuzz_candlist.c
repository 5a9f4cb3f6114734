/* fuzz_candlist: any bytes given as a list of candidates, tolerant of wrong lines and not. */

#include <psrkit/experimental/candlist.h>

#include "fuzz_file.h"
#include <math.h>

struct told {
    const char *path;
    size_t n;
};

static void refuse(void *ctx, const psr_err *why)
{
    struct told *told = ctx;
    told->n++;
    fuzz_check_failure(PSR_EFORMAT, why, told->path);
}

static void check_list(const struct psr_candlist *list)
{
    for (size_t i = 0; i < list->n; i++) {
        const struct psr_folder_candidate *c = &list->cand[i];
        if (!(c->f > 0) || !isfinite(c->f) || !(c->dm >= 0 && c->dm <= 1e6) || !*c->name ||
            strchr(c->name, '/'))
            abort();
    }
}

static void read_list(const char *path, bool has_dm, bool tolerant)
{
    struct told told = {path, 0};
    const struct psr_candlist_desc d = {
        .size = sizeof d, .has_dm = has_dm, .refuse = tolerant ? refuse : NULL, .ctx = &told};
    struct psr_candlist list = {.n = 0};
    psr_err err = {.code = PSR_OK};
    psr_status st = psr_candlist_read(&list, path, &d, &err);
    if (st)
        fuzz_check_failure(st, &err, path);
    else if (!list.n || psr_candlist_make_unique(&list, NULL, &err))
        abort();
    check_list(&list);
    psr_candlist_clear(&list);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *path = fuzz_file(data, size);
    read_list(path, false, true);
    read_list(path, true, false);
    return 0;
}

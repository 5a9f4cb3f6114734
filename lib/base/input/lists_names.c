/* Names the members of ROOT.lists. */
#include "base/path.h"
#include "base/tool.h"
#include "tar_read.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

psr_status psr_lists_names(struct psr_names *names, const char *path, psr_err *err)
{
    const size_t folder = (size_t)(psr_path_file(path) - path);
    struct psr_tar_member member;
    int64_t next = 0;
    bool exists = true;
    const int fd = psr_tar_open(path);
    char *beside = malloc(folder + PSR_TAR_NAME);
    psr_status st = fd < 0    ? psr_fail_errno(err, "%s", path)
                    : !beside ? psr_fail_nomem(err, path, (double)folder)
                              : PSR_OK;
    while (!st && exists) {
        st = psr_tar_next(fd, path, &next, &member, &exists, err);
        if (st || !exists || psr_path_ends(member.name, PSR_LISTS_INDEX))
            continue;
        memcpy(beside, path, folder);
        strcpy(beside + folder, member.name);
        st = psr_names_add(names, beside, err);
    }
    free(beside);
    if (fd >= 0)
        close(fd);
    return st;
}

/* Lists the names in a folder. */
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

psr_status folder_list(struct psr_names *names, const char *folder, psr_err *err)
{
    DIR *d = opendir(folder);
    struct dirent *entry;
    psr_status st = PSR_OK;
    if (!d)
        return psr_fail_errno(err, "%s", folder);
    errno = 0;
    while (!st && (entry = readdir(d))) {
        st = psr_names_add(names, entry->d_name, err);
        errno = 0;
    }
    if (!st && errno)
        st = psr_fail_errno(err, "%s", folder);
    closedir(d);
    if (names->n)
        qsort((void *)names->name, names->n, sizeof *names->name, by_name);
    return st;
}

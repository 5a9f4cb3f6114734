/* Lists the names in a folder. */
#include "folder.h"

#include <dirent.h>
#include <errno.h>

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
    psr_names_sort(names);
    return st;
}

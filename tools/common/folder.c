/* Lists the names in a folder. */
#include "folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Adds all names, after a prefix; d is closed. */
static psr_status add_names(struct psr_names *names, const char *prefix, DIR *d, const char *folder,
                            psr_err *err)
{
    char name[sizeof FOLDER_STEPS + sizeof((struct dirent *)0)->d_name];
    struct dirent *entry;
    psr_status st = PSR_OK;
    errno = 0;
    while (!st && (entry = readdir(d))) {
        snprintf(name, sizeof name, "%s%s", prefix, entry->d_name);
        st = psr_names_add(names, name, err);
        errno = 0;
    }
    if (!st && errno)
        st = psr_fail_errno(err, "%s", folder);
    closedir(d);
    return st;
}

psr_status folder_list(struct psr_names *names, const char *folder, psr_err *err)
{
    DIR *d = opendir(folder);
    psr_status st = d ? add_names(names, "", d, folder, err) : psr_fail_errno(err, "%s", folder);
    psr_names_sort(names);
    return st;
}

psr_status folder_list_search(struct psr_names *names, const char *folder, psr_err *err)
{
    DIR *d = opendir(folder), *steps;
    const int fd = d ? openat(dirfd(d), FOLDER_STEPS, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    psr_status st = d ? add_names(names, "", d, folder, err) : psr_fail_errno(err, "%s", folder);
    if (fd >= 0 && !st && (steps = fdopendir(fd)))
        st = add_names(names, FOLDER_STEPS, steps, folder, err);
    else if (fd >= 0)
        close(fd);
    psr_names_sort(names);
    return st;
}

const char *folder_basename(const char *name)
{
    const size_t n = strlen(FOLDER_STEPS);
    return strncmp(name, FOLDER_STEPS, n) ? name : name + n;
}

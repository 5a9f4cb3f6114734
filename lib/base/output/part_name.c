/* Names of files that are being written, and whether their writer still runs. */
#include "outfile_internal.h"

#include "base/portable.h"

#include <psrkit/experimental/outfile.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

/* A suffix is a number: the machine, the process on it, and a random part. */
enum { RANDOM_BITS = 3, PID_BITS = 22, HOST_BITS = 10, OLD_S = 24 * 3600 };

static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";

/* Processes are numbered within a machine, or a container. */
static uint64_t host_number(void)
{
    char name[256] = "";
    struct stat is;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    gethostname(name, sizeof name - 1);
    for (const char *c = name; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    if (stat("/proc/self/ns/pid", &is) == 0)
        hash = (hash ^ (uint64_t)is.st_ino) * UINT64_C(0x100000001b3);
    return (hash ^ hash >> 32) & ((1u << HOST_BITS) - 1);
}

static uint64_t random_number(void)
{
    uint64_t r;
    struct timespec now;
    if (getrandom(&r, sizeof r, GRND_NONBLOCK) == (ssize_t)sizeof r)
        return r;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_nsec >> 6;
}

void psr_part_suffix(char *suffix)
{
    const uint64_t pid = (uint64_t)getpid() & ((1u << PID_BITS) - 1);
    uint64_t r = (host_number() << PID_BITS | pid) << RANDOM_BITS |
                 (random_number() & ((1u << RANDOM_BITS) - 1));
    for (int i = 0; i < PSR_PART_LETTERS; i++, r /= 62)
        suffix[i] = letters[r % 62];
}

/* Returned: the number of the suffix at the end of a name; 0 if it has none */
static uint64_t suffix_number(const char *name)
{
    const size_t n = strlen(name), tail = strlen(PSR_PART) + PSR_PART_LETTERS;
    uint64_t r = 0;
    if (n <= tail || strncmp(name + n - tail, PSR_PART, strlen(PSR_PART)) != 0)
        return 0;
    for (int i = PSR_PART_LETTERS; i-- > 0;) {
        const char *at = strchr(letters, name[n - PSR_PART_LETTERS + (size_t)i]);
        if (!at)
            return 0;
        r = r * 62 + (uint64_t)(at - letters);
    }
    return r;
}

/* Whether a process writes no more: none of that number, or one that was killed and that nobody waits for. */
static bool has_ended(pid_t pid)
{
    char path[32], text[256] = "";
    if (kill(pid, 0) != 0)
        return errno == ESRCH;
    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    FILE *f = fopen(path, "re");
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f)
        fclose(f);
    text[n] = '\0';
    const char *state = strrchr(text, ')'); /* of the name, which may hold anything */
    return state && state[1] == ' ' && (state[2] == 'Z' || state[2] == 'X');
}

bool psr_outfile_is_leftover(const char *path)
{
    struct stat is;
    const uint64_t number = suffix_number(path);
    if (!number || lstat(path, &is) != 0 || !S_ISREG(is.st_mode) || is.st_nlink != 1 ||
        is.st_uid != geteuid())
        return false;
    const uint64_t host = number >> (PID_BITS + RANDOM_BITS);
    const pid_t pid = (pid_t)(number >> RANDOM_BITS & ((1u << PID_BITS) - 1));
    if (host != host_number()) /* nobody here knows that process */
        return time(NULL) - is.st_mtim.tv_sec > OLD_S;
    return pid > 0 && has_ended(pid);
}

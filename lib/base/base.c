/* What all rooms use, and tools, too: numbers as text, names of files, memory. */
#include "base/base.h"

#include <locale.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- numbers with a decimal point, whatever the program's locale ------------------------------ */

/* The locale "C" is there without being loaded, so asking for it is cheap and does not fail; were
 * it to fail, the thread's own locale would serve, as it does in all programs that never set one.
 */
static locale_t enter_c_locale(locale_t *plain)
{
    *plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return *plain ? uselocale(*plain) : (locale_t)0;
}

static void leave_c_locale(locale_t plain, locale_t before)
{
    if (!plain)
        return;
    uselocale(before);
    freelocale(plain);
}

int psr_c_locale_vsnprintf(char *text, size_t room, const char *fmt, va_list ap)
{
    locale_t plain, before = enter_c_locale(&plain);
    int n = vsnprintf(text, room, fmt, ap);
    leave_c_locale(plain, before);
    return n;
}

int psr_c_locale_snprintf(char *text, size_t room, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = psr_c_locale_vsnprintf(text, room, fmt, ap);
    va_end(ap);
    return n;
}

double psr_c_locale_strtod(const char *text, char **end)
{
    locale_t plain, before = enter_c_locale(&plain);
    double value = strtod(text, end);
    leave_c_locale(plain, before);
    return value;
}

/* --- file names made of other file names ------------------------------------------------------ */

char *psr_path_beside(const char *path, const char *suffix)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    size_t stem = dot && (!slash || dot > slash + 1) ? (size_t)(dot - path) : strlen(path);
    char *beside = malloc(stem + strlen(suffix) + 1);
    if (beside) {
        memcpy(beside, path, stem);
        strcpy(beside + stem, suffix);
    }
    return beside;
}

bool psr_path_ends(const char *path, const char *suffix)
{
    const size_t n = strlen(path), m = strlen(suffix);
    return n >= m && !strcmp(path + n - m, suffix);
}

const char *psr_path_file(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

const char *psr_path_called(const char *path)
{
    return strcmp(path, "-") ? path : "standard input";
}

char **psr_path_copies(const char *const *path, size_t n)
{
    size_t bytes = n * sizeof *path;
    for (size_t i = 0; i < n; i++)
        bytes += strlen(path[i]) + 1;
    char **copy = malloc(bytes), *to = (char *)(copy + n);
    for (size_t i = 0; i < n && copy; i++, to += strlen(to) + 1)
        copy[i] = strcpy(to, path[i]);
    return copy;
}

static bool begins_with_one(const char *path, const char *const *start, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strncmp(path, start[i], strlen(start[i])))
            return true;
    return false;
}

bool psr_path_is_stream(const char *path)
{
    static const char *const start[] = {"udp://", "dada://"};
    return !strcmp(path, "-") || begins_with_one(path, start, sizeof start / sizeof *start);
}

bool psr_path_is_descriptor(const char *path)
{
    static const char *const start[] = {"/dev/fd/", "/dev/stdout", "/dev/stderr", "/proc/",
                                        "dada://"};
    return begins_with_one(path, start, sizeof start / sizeof *start);
}

/* --- copies the fields of a description that both library versions have ----------------------- */

/* Sizes above this are no sizes. */
enum { SIZE_MAX_BYTES = 1 << 16 };

psr_status psr_copy_desc(void *to, size_t bytes, const void *from, const char *name, psr_err *err)
{
    const unsigned char *byte = from;
    size_t size;
    memcpy(&size, from, sizeof size);
    if (size <= sizeof size || size > SIZE_MAX_BYTES)
        return psr_fail_field(err, PSR_EINVAL, "size",
                              "%s: size = %zu bytes, must be sizeof the description", name, size);
    for (size_t k = bytes; k < size; k++)
        if (byte[k])
            return psr_fail(err, PSR_EINVAL,
                            "%s: byte %zu of the description is not known to this library", name,
                            k);
    memset(to, 0, bytes);
    memcpy(to, from, size < bytes ? size : bytes);
    memcpy(to, &bytes, sizeof bytes);
    return PSR_OK;
}

void psr_give_desc(void *to, size_t size, const void *all, size_t bytes)
{
    memset(to, 0, size);
    memcpy(to, all, size < bytes ? size : bytes);
    memcpy(to, &size, sizeof size);
}

/* --- allocates arrays that live as long as their owner ---------------------------------------- */

/* Stands before the elements, which keep malloc's alignment. */
struct psr_own_array {
    _Alignas(max_align_t) struct psr_own_array *before;
};

void *psr_own(struct psr_own *own, size_t n, size_t size)
{
    struct psr_own_array *array = NULL;
    own->bytes += (double)n * (double)size;
    if (!own->failed && n <= (SIZE_MAX - sizeof *array) / size)
        array = calloc(1, sizeof *array + n * size);
    if (!array) {
        own->failed = true;
        return NULL;
    }
    array->before = own->last;
    own->last = array;
    return array + 1;
}

psr_status psr_own_check(const struct psr_own *own, const char *what, psr_err *err)
{
    return own->failed ? psr_fail_nomem(err, what, own->bytes) : PSR_OK;
}

void psr_own_free(struct psr_own *own)
{
    for (struct psr_own_array *array = own->last; array;) {
        struct psr_own_array *before = array->before;
        free(array);
        array = before;
    }
    *own = (struct psr_own){0};
}

/* --- arrays that grow ------------------------------------------------------------------------- */

psr_status psr_resize(void *array, size_t n, size_t size, const char *what, psr_err *err)
{
    void *old, *resized = NULL;
    memcpy(&old, array, sizeof old);
    if (n == 0 || size <= SIZE_MAX / n)
        resized = realloc(old, n && size ? n * size : 1);
    if (!resized)
        return psr_fail_nomem(err, what, (double)n * (double)size);
    memcpy(array, &resized, sizeof resized);
    return PSR_OK;
}

psr_status psr_reserve(void *array, size_t *room, size_t n, size_t size, const char *what,
                       psr_err *err)
{
    if (n <= *room)
        return PSR_OK;
    psr_status st = psr_resize(array, n, size, what, err);
    *room = st ? *room : n;
    return st;
}

psr_status psr_grow(void *array, size_t *room, size_t n, size_t size, const char *what,
                    psr_err *err)
{
    return n < *room ? PSR_OK : psr_reserve(array, room, *room ? 2 * *room : 16, size, what, err);
}

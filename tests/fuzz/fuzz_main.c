/* fuzz_main.c: runs a harness without libFuzzer, so that any compiler can.
 *
 *   fuzz_NAME FILE...     runs the harness once on each file
 *   fuzz_NAME             as a test: on the files of tests/fuzz/corpus/NAME, and on FUZZ_COUNT
 * (default 20000, fewer of slow ones) mutations of them, the same ones for the same PSRKIT_TEST_SEED
 *
 * FUZZ_KEEP=PATH writes each input to PATH before it is tried, so that one that crashes is kept. */
#include "tests/support/tap.h"
#include <dirent.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#ifndef FUZZ_DEFAULT
#define FUZZ_DEFAULT 20000
#endif

enum { MAX_SEEDS = 256, INPUT_BYTES = 1 << 16 };

struct input {
    uint8_t bytes[INPUT_BYTES];
    size_t n;
};

struct corpus {
    struct input *seed[MAX_SEEDS];
    size_t n;
};

static struct input *read_input(const char *path)
{
    struct input *in = calloc(1, sizeof *in);
    FILE *f = fopen(path, "rb");
    if (!in || !f) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    in->n = fread(in->bytes, 1, INPUT_BYTES, f);
    fclose(f);
    return in;
}

static void keep_input(const struct input *in)
{
    const char *path = getenv("FUZZ_KEEP");
    FILE *f = path ? fopen(path, "wb") : NULL;
    if (!f)
        return;
    fwrite(in->bytes, 1, in->n, f);
    fclose(f);
}

/* The harness gets a block of the exact size, so that a sanitizer sees any step beyond it. */
static void try_input(const struct input *in)
{
    keep_input(in);
    uint8_t *exact = malloc(in->n ? in->n : 1);
    if (!exact)
        abort();
    memcpy(exact, in->bytes, in->n);
    LLVMFuzzerTestOneInput(exact, in->n);
    free(exact);
}

static int compare_names(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void read_corpus(struct corpus *corpus, const char *folder)
{
    struct dirent **entry;
    int n = scandir(folder, &entry, NULL, compare_names);
    for (int i = 0; i < n; i++) {
        char path[8192];
        snprintf(path, sizeof path, "%s/%s", folder, entry[i]->d_name);
        if (entry[i]->d_name[0] != '.' && corpus->n < MAX_SEEDS)
            corpus->seed[corpus->n++] = read_input(path);
        free(entry[i]);
    }
    if (n >= 0)
        free(entry);
}

/* A place in the input, and a length from there that stays inside. */
static size_t pick_span(uint64_t *random, const struct input *in, size_t *length)
{
    size_t at = (size_t)tap_between(random, 0, (int64_t)in->n - 1);
    int64_t most = (int64_t)(in->n - at);
    *length = (size_t)tap_between(random, 1, most < 64 ? most : 64);
    return at;
}

static void put_number(uint64_t *random, struct input *in, size_t at, size_t length)
{
    static const int64_t telling[] = {0,         -1,        1,         127,       128, 255, 256,
                                      INT16_MAX, INT32_MAX, INT32_MIN, INT64_MAX, 80,  81,  10};
    int64_t v = telling[tap_between(random, 0, sizeof telling / sizeof *telling - 1)];
    size_t width = (size_t)1 << tap_between(random, 0, 3);
    memcpy(in->bytes + at, &v, width < length ? width : length);
}

static void copy_span(struct input *in, size_t at, const uint8_t *from, size_t length)
{
    if (in->n + length > INPUT_BYTES)
        return;
    uint8_t moved[64];
    memcpy(moved, from, length);
    memmove(in->bytes + at + length, in->bytes + at, in->n - at);
    memcpy(in->bytes + at, moved, length);
    in->n += length;
}

static void mutate_once(uint64_t *random, struct input *in, const struct input *other)
{
    size_t length, at = pick_span(random, in, &length);
    switch (tap_between(random, 0, 6)) {
    case 0:
        in->bytes[at] ^= (uint8_t)(1u << tap_between(random, 0, 7));
        break;
    case 1:
        in->bytes[at] = (uint8_t)tap_random(random);
        break;
    case 2:
        put_number(random, in, at, in->n - at);
        break;
    case 3:
        memmove(in->bytes + at, in->bytes + at + length, in->n - at - length);
        in->n -= length;
        break;
    case 4:
        copy_span(in, at, in->bytes + at, length);
        break;
    case 5: {
        size_t from = pick_span(random, other, &length);
        copy_span(in, at, other->bytes + from, length);
        break;
    }
    default:
        if (tap_between(random, 0, 3) == 0)
            in->n = at;
    }
}

static void run_mutations(const struct corpus *corpus, int64_t count)
{
    uint64_t random = tap_seed();
    struct input *in = malloc(sizeof *in);
    if (!in)
        abort();
    for (int64_t k = 0; k < count; k++) {
        int64_t last = (int64_t)corpus->n - 1;
        *in = *corpus->seed[tap_between(&random, 0, last)];
        const struct input *other = corpus->seed[tap_between(&random, 0, last)];
        for (int64_t m = tap_between(&random, 1, 6); m > 0 && in->n > 0 && other->n > 0; m--)
            mutate_once(&random, in, other);
        try_input(in);
    }
    free(in);
}

static int run_as_test(const char *program)
{
    const char *slash = strrchr(program, '/'), *count_text = getenv("FUZZ_COUNT");
    const char *name = (slash ? slash + 1 : program) + strlen("fuzz_");
    const char *srcdir = getenv("srcdir");
    int64_t count = count_text ? strtoll(count_text, NULL, 0) : FUZZ_DEFAULT;
    char folder[4096];
    struct corpus corpus = {.n = 0};
    snprintf(folder, sizeof folder, "%s/tests/fuzz/corpus/%s", srcdir ? srcdir : ".", name);
    read_corpus(&corpus, folder);
    if (!ok(corpus.n > 0, "%s: %zu seeds", folder, corpus.n))
        return done_testing();
    for (size_t i = 0; i < corpus.n; i++)
        try_input(corpus.seed[i]);
    run_mutations(&corpus, count);
    ok(true, "%s: %lld mutations", name, (long long)count);
    for (size_t i = 0; i < corpus.n; i++)
        free(corpus.seed[i]);
    return done_testing();
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return run_as_test(argv[0]);
    for (int i = 1; i < argc; i++) {
        struct input *in = read_input(argv[i]);
        try_input(in);
        free(in);
    }
    return EXIT_SUCCESS;
}

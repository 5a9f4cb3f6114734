/* readfile: prints the numbers of a file, or the header of an observation. */
#include "psrpresto.h"

#include "base/tool.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PAGE = 32, OBJECT_MAX = 16 };

/* A kind of numbers: options, suffix and what is said of it, and how one is printed. */
struct kind {
    const char *option, *suffix, *text;
    size_t size;
    void (*print)(const void *at);
};

static void print_byte(const void *at)
{
    printf("%d", *(const unsigned char *)at);
}

#define PRINT(name, type, ...)                                                                     \
    static void print_##name(const void *at)                                                       \
    {                                                                                              \
        const type *x = at;                                                                        \
        printf(__VA_ARGS__);                                                                       \
    }
PRINT(float, float, "%11.7g", (double)*x)
PRINT(double, double, "%20.15g", *x)
PRINT(fcomplex, float, "%11.7g + %11.7g i", (double)x[0], (double)x[1])
PRINT(dcomplex, double, "%20.15g + %20.15g i", x[0], x[1])
PRINT(short, int16_t, "%6d", *x)
PRINT(int, int32_t, "%10d", *x)
PRINT(long, int64_t, "%12lld", (long long)*x)

static const struct kind kinds[] = {
    {"byte, b", NULL, NULL, 1, print_byte},
    {"float, f", ".dat", "floating point", 4, print_float},
    {"double, d", NULL, NULL, 8, print_double},
    {"fcomplex, fc", ".fft", "single precision complex", 8, print_fcomplex},
    {"dcomplex, dc", NULL, NULL, 16, print_dcomplex},
    {"short, s", ".sdat", "short integers", 2, print_short},
    {"int, i", NULL, NULL, 4, print_int},
    {"long, l", NULL, NULL, 8, print_long},
};
enum { NKIND = sizeof kinds / sizeof *kinds };

struct readfile {
    struct cli tool;
    bool chosen[NKIND], filterbank, psrfits, page, fortran;
    const char *index;
    int64_t first, end;
};

/* --- numbers ---------------------------------------------------------------------------------- */

/* Given: true to go on after a page */
static bool wait_for_enter(void)
{
    printf("\nENTER shows the next page, any other key and ENTER ends.\n\n");
    fflush(stdout);
    return getchar() == '\n';
}

static psr_status print_objects(const struct readfile *r, const struct kind *k, FILE *f,
                                const char *path, psr_err *err)
{
    union {
        char bytes[PAGE * OBJECT_MAX];
        double aligned;
    } page;
    const int64_t at = r->first * (int64_t)k->size + (r->fortran ? (int64_t)sizeof(long) : 0);
    if (at > 0 && fseeko(f, (off_t)at, SEEK_SET))
        return psr_fail_errno(err, "%s", path);
    bool more = true;
    for (int64_t i = r->first; more && i < r->end && !feof(f) && !run_stop_signal();) {
        const int64_t want = r->end - i < PAGE ? r->end - i : PAGE;
        errno = 0;
        const size_t got = fread(page.bytes, k->size, (size_t)want, f);
        if (ferror(f))
            return psr_fail_errno(err, "%s", path);
        for (size_t j = 0; j < got; j++) {
            printf("%9lld:  ", (long long)i + (long long)j);
            k->print(page.bytes + j * k->size);
            putchar('\n');
        }
        i += (int64_t)got;
        more = !r->page || wait_for_enter();
    }
    if (feof(f))
        printf("\nEnd of file.\n\n");
    return PSR_OK;
}

/* --- which kind ------------------------------------------------------------------------------- */

static bool ends_in(const char *path, const char *suffix)
{
    const size_t n = strlen(path), m = strlen(suffix);
    return n > m && !strcmp(path + n - m, suffix);
}

static const struct kind *find_kind(const struct readfile *r, const char *path)
{
    for (int i = 0; i < NKIND; i++)
        if (r->chosen[i])
            return &kinds[i];
    for (int i = 0; i < NKIND; i++)
        if (kinds[i].suffix && ends_in(path, kinds[i].suffix) && !r->filterbank && !r->psrfits) {
            printf("Assuming the data is %s.\n\n", kinds[i].text);
            return &kinds[i];
        }
    return NULL;
}

static psr_status readfile_files(void *ctx, const char *path, struct psr_overwrite_check *files,
                                 psr_err *err)
{
    (void)ctx;
    psr_status st = files->n ? PSR_OK : psr_overwrite_check_output(files, "-", NULL, err);
    return st ? st : psr_overwrite_check_input(files, path, err);
}

static psr_status readfile_part(void *ctx, const char *path, psr_err *err)
{
    const struct readfile *r = ctx;
    const struct kind *k = find_kind(r, path);
    const bool fil = ends_in(path, ".fil") || ends_in(path, ".fb"),
               fits = ends_in(path, ".fits") || ends_in(path, ".sf");
    /* head ends it as it ends cat. */
    signal(SIGPIPE, SIG_DFL);
    if (k) {
        FILE *f = fopen(path, "rbe");
        if (!f)
            return psr_fail_errno(err, "%s", path);
        psr_status st = print_objects(r, k, f, path, err);
        fclose(f);
        return st;
    }
    if (!r->filterbank && !r->psrfits && ends_in(path, ".cand"))
        return psr_fail(err, PSR_EUNSUPPORTED,
                        "%s: candidates stand as text in the file without .cand, and in the table "
                        "of accelsift",
                        path);
    if (!r->filterbank && !r->psrfits && !fil && !fits && access(path, F_OK))
        return psr_fail_errno(err, "%s", path);
    if (!r->filterbank && !r->psrfits && !fil && !fits)
        cli_usage_error(&r->tool, "%s: its name does not say what it holds: give the type", path);
    if (!r->filterbank && !r->psrfits)
        printf(fil ? "Assuming the data is a SIGPROC filterbank file.\n\n"
                   : "Assuming the data is in PSRFITS format.\n\n");
    return presto_print_header(&r->tool, path, !r->filterbank && !(fil && !r->psrfits), err);
}

/* --- command line ------------------------------------------------------------------------------ */

static bool is_whole(const char *word)
{
    psr_err err;
    int64_t value;
    return psr_parse_int("-index", word, -1, INT64_MAX / OBJECT_MAX, &value, &err) == PSR_OK;
}

/* -index has one value or two, which become one word "FIRST END". */
static int join_index(const struct cli *tool, int argc, char **argv)
{
    for (int i = 1; i + 2 < argc; i++)
        if (cli_is_run_as(argv[i] + strspn(argv[i], "-"), "index") && argv[i][0] == '-' &&
            is_whole(argv[i + 1]) && is_whole(argv[i + 2])) {
            char *first = presto_join(tool, argv[i + 1], " ");
            argv[i + 1] = presto_join(tool, first, argv[i + 2]);
            free(first);
            memmove(argv + i + 2, argv + i + 3, (size_t)(argc - i - 2) * sizeof *argv);
            return argc - 1;
        }
    return argc;
}

/* END 0 or -1 is the end of the file. */
static void parse_index(struct readfile *r)
{
    psr_err err;
    char first[32];
    const size_t n = strcspn(r->index, " ");
    psr_status st = PSR_OK;
    snprintf(first, sizeof first, "%.*s", (int)n, r->index);
    st = psr_parse_int("-index", first, 0, INT64_MAX / OBJECT_MAX, &r->first, &err);
    if (st == PSR_OK && r->index[n])
        st = psr_parse_int("-index", r->index + n + 1, -1, INT64_MAX / OBJECT_MAX, &r->end, &err);
    if (st != PSR_OK)
        cli_usage_error(&r->tool, "%s", err.msg);
    if (r->end <= 0)
        r->end = INT64_MAX;
    if (r->end < r->first)
        cli_usage_error(&r->tool, "-index: the end is below the first");
}

static void add_options(struct cli_table *table, struct readfile *r)
{
    const struct cli_option observations[] = {
        {"filterbank", CLI_FLAG, &r->filterbank, NULL, 0, 0, "SIGPROC: the header."},
        {"psrfits", CLI_FLAG, &r->psrfits, NULL, 0, 0, "PSRFITS: the header."},
        {"Range", CLI_HEADING, NULL, NULL, 0, 0, NULL},
        {"index", CLI_TEXT, &r->index, "FIRST [END]", 0, 0,
         "From number FIRST to before END (default 0 -1, all)."},
        {"page", CLI_FLAG, &r->page, NULL, 0, 0, "Wait after 32 numbers."},
        {"fortran", CLI_FLAG, &r->fortran, NULL, 0, 0,
         "Skip the length that Fortran writes first."},
    };
    cli_add_heading(table, "Type, where the suffix does not tell");
    for (int i = 0; i < NKIND; i++)
        cli_table_add(table,
                      &(struct cli_option){kinds[i].option, CLI_FLAG, &r->chosen[i], NULL, 0, 0,
                                           "Numbers of this type."},
                      1);
    CLI_ADD(table, observations);
}

int presto_readfile(int argc, char **argv)
{
    static const struct cli_elsewhere elsewhere[] = {
        {"rzwcand, rzw, bincand, bin, nph",
         "candidates stand as text in the file without .cand, and in the table of accelsift"},
        {"position, pos", "PRESTO's readfile prints what its own programs write"},
        {"pkmb, bcpm, wapp, spigot", "PRESTO's readfile reads headers of these recorders"},
        {NULL, NULL}};
    struct readfile r = {.index = "0 -1", .end = -1};
    struct cli_table table = {.n = 0};
    add_options(&table, &r);
    r.tool = (struct cli){
        .name = "readfile",
        .operands = "[OPTION]... FILE",
        .summary = "Print the numbers of a .dat, .fft, .sdat or other binary file, or the header "
                   "of a filterbank or PSRFITS file.",
        .examples = "readfile obs.fil\n"
                    "readfile -index 0 10 obs_DM12.00.dat\n"
                    "readfile -page obs_DM12.00.fft\n",
        .elsewhere = elsewhere,
        .options = table.option,
        .noptions = table.n,
    };
    argc = join_index(&r.tool, argc, argv);
    const int n = cli_parse(&r.tool, argc, argv);
    parse_index(&r);
    return presto_run(&(struct presto_job){&r.tool, readfile_part, &r, readfile_files}, n,
                      argv + 1);
}

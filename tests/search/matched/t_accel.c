/* accel: values with errors, and accelsearch's files, to the byte. */
#include <psrkit/experimental/accel.h>

#include "formats/lists/lists_internal.h"
#include "search/matched/response/accel_internal.h"
#include "tests/support/scratch.h"
#include "tests/support/tap.h"

static void test_values(void)
{
    /* Text, as accelsearch has written it or as its rules have it. */
    static const struct {
        double value, error;
        int digits;
        const char *text;
    } cases[] = {
        {6.70701, 0.00017, 1, " 6.7070(2)"},
        {149.0969, 0.0037, 1, " 149.097(4)"},
        {-0.0068, 0.00011, 1, "-0.0068(1)"},
        {0, 5.55e-5, 1, " 0.00000(6)"},
        {161.04, 0.012, 1, " 161.04(1)"},
        {20011.5, 0.5, 2, " 20011.50(50)"},
        {-122, 2, 2, "-122.0(2.0)"},
        {3099, 72, 2, " 3099(72)"},
        {-13620, 223, 2, "-1.362(22)x10^4"},
        {10250, 140, 2, " 1.025(14)x10^4"},
        {860, 140, 2, " 8.6(1.4)x10^2"},
        {0, 72, 2, " 0.0(7.2)x10^1"},
        {0, 120, 2, "0.0(1.2)x10^2"},
        {833.4375, 0.0625, 2, " 833.438(63)"},
        {6.4, 43, 2, " 0.6(4.3)x10"},
        {0.0, 0.5, 2, " 0.00(50)"},
        {35, 12, 2, " 35(12)"},
        {-3e-7, 2.2e-8, 2, "-3.00(22)x10^-7"},
        {3.25e-6, 4e-9, 1, " 3.250(4)x10^-6"},
        {123456, 2000, 1, " 1.23(2)x10^5"},
        {2345, 2000, 1, " 2(2)x10^3"},
        {99.96, 0.1, 1, " 100.0(1)"},
        {5, 0.0999, 2, " 5.00(10)"},
        {7, 0, 1, " 7(0)"},
        {NAN, 1, 2, " nan"},
        {1, INFINITY, 1, " nan"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[PSR_UNCERTAINTY_MAX];
        psr_format_uncertainty(text, cases[i].value, cases[i].error, cases[i].digits);
        const char *want = cases[i].text;
        bool same = strstr(want, "x10") && want[strlen(want) - 1] == '0'
                        ? !strncmp(text, want, strlen(want))
                        : !strcmp(text, want);
        ok(same, "%g +- %g to %d is '%s': '%s'", cases[i].value, cases[i].error, cases[i].digits,
           want, text);
    }
}

/* The error in the brackets of text, a number of its own or of the value's last digits. */
static double read_error(const char *text, const char *bracket, double scale)
{
    const char *end = strchr(bracket, ')');
    const char *point = memchr(text, '.', (size_t)(bracket - text));
    bool whole = !memchr(bracket, '.', (size_t)(end - bracket));
    return strtod(bracket + 1, NULL) * scale *
           (whole && point ? pow(10, (double)(1 + point - bracket)) : 1);
}

/* No value overruns its room or is other than it says, whatever its size.  PRESTO rounds the value
 * to a whole number of errors where it is smaller than a few, and in one form cuts it after that;
 * behind 1.0 times a power of ten it puts the error's digit one place too far to the right. */
static bool is_told(const char *text, double value, double error, int digits)
{
    const char *bracket = strchr(text, '('), *power = strstr(text, "x10^");
    if (!bracket)
        return false;
    double scale = power ? pow(10, atoi(power + 4)) : 1, mantissa = strtod(text, NULL);
    double got = read_error(text, bracket, scale);
    double place = pow(10, floor(log10(error)) - digits + 1);
    bool moved = digits == 1 && fabs(mantissa) == 1 && power;
    bool large = fabs(value) > 1e15 || error > 1e15; /* printed as they are, error after value */
    return fabs(mantissa * scale - value) <= 1.58 * error + 1e-5 * fabs(value) &&
           (large || moved || fabs(got - error) <= 0.501 * place);
}

static void test_any_values(uint64_t *random)
{
    bool good = true;
    for (int i = 0; i < 200000; i++) {
        char text[PSR_UNCERTAINTY_MAX];
        int digits = 1 + i % 2;
        double value = pow(10, 40 * tap_uniform(random) - 20) * (tap_random(random) % 2 ? 1 : -1);
        double error = pow(10, 40 * tap_uniform(random) - 20);
        if (i % 4 >= 2) /* of like sizes */
            error = fmin(fabs(value), 1e15) * pow(10, 6 * tap_uniform(random) - 4);
        memset(text, 'x', sizeof text);
        psr_format_uncertainty(text, value, error, digits);
        bool told = memchr(text, '\0', sizeof text) && is_told(text, value, error, digits);
        if (!told && good)
            diag("%.17g +- %.17g to %d: '%.*s'", value, error, digits, (int)sizeof text, text);
        good &= told;
    }
    ok(good, "values and errors of any size");
}

/* "a(b)x10^n" -> value and error. */
static struct psr_accel_value parse_value(const char *text)
{
    const char *bracket = strchr(text, '('), *power = strstr(text, "x10"), *point;
    struct psr_accel_value v = {.value = strtod(text, NULL)};
    if (!bracket)
        return v;
    int decimals = 0;
    point = memchr(text, '.', (size_t)(bracket - text));
    if (point && !memchr(bracket, '.', strlen(bracket)))
        decimals = (int)(bracket - point) - 1;
    v.error = strtod(bracket + 1, NULL) * pow(10, -decimals);
    double scale = power ? pow(10, power[3] == '^' ? atoi(power + 4) : 1) : 1;
    v.value *= scale;
    v.error *= scale;
    return v;
}

enum { MAX_CANDS = 64, MAX_HARM = 16, MAX_WORDS = 20 };

struct golden {
    struct psr_accel_list list;
    struct psr_accel_cand cand[MAX_CANDS];
    struct psr_accel_harm harm[MAX_CANDS][MAX_HARM];
};

static int split(char *line, char **word)
{
    int n = 0;
    for (char *save, *w = strtok_r(line, " ", &save); w && n < MAX_WORDS;
         w = strtok_r(NULL, " ", &save))
        word[n++] = w;
    return n;
}

/* at is where notes begin */
static void parse_cand(struct golden *g, char *line, size_t at)
{
    char *word[MAX_WORDS], note[PSR_ACCEL_NOTE_MAX] = "";
    if (strlen(line) > at)
        snprintf(note, sizeof note, "%s", line + at);
    struct psr_accel_cand *c = &g->cand[g->list.ncand];
    split(line, word);
    c->sigma = atof(word[1]);
    c->power = atof(word[2]);
    c->coherent = atof(word[3]);
    c->nharm = atoi(word[4]);
    c->harm = g->harm[g->list.ncand++];
    for (size_t n = strlen(note); n && note[n - 1] == ' ';)
        note[--n] = '\0';
    strcpy(c->note, note);
}

static void parse_harm(struct golden *g, size_t i, char *line)
{
    char *word[MAX_WORDS];
    bool first = line[1] != ' ';
    split(line, word);
    char **w = word + first;
    struct psr_accel_harm *h = &g->harm[i][atoi(w[0]) - 1];
    h->sigma = atof(w[1]);
    h->power = parse_value(w[2]);
    h->raw = atof(w[3]);
    h->r = parse_value(w[4]);
    h->z = parse_value(w[6]);
    w += 8;
    if (g->list.jerk) {
        h->w = parse_value(w[0]);
        w += 2;
    }
    h->phase_rad = parse_value(w[0]);
    h->centroid = parse_value(w[1]);
    h->purity = parse_value(w[2]);
}

/* r, z and w are only in the .cand file to their last digit. */
static void parse_golden(struct golden *g, char *text, const unsigned char *records)
{
    char *line = text;
    int table = 0;
    size_t i = 0, notes_at = 0;
    *g = (struct golden){.list = {.cand = g->cand, .tobs_s = 262144 * 0.000512}};
    g->list.jerk = strstr(text, "FFT 'w'") != NULL;
    for (int n = 0; line && *line; n++) {
        char *end = strchr(line, '\n');
        if (end)
            *end = '\0';
        if (strstr(line, "----")) {
            table++;
            notes_at = strlen(line) - 18;
        } else if (!*line && table == 2) {
            break;
        } else if (table == 1 && *line >= '0' && *line <= '9')
            parse_cand(g, line, notes_at);
        else if (table == 2) {
            if (line[1] != ' ')
                i = (size_t)atoi(line) - 1;
            parse_harm(g, i, line);
        }
        line = end ? end + 1 : NULL;
    }
    for (i = 0; i < g->list.ncand; i++) {
        struct psr_accel_record record;
        psr_accel_unpack(&record, records + PSR_ACCEL_RECORD_BYTES * i);
        g->cand[i].r = (struct psr_accel_value){record.r, (double)record.rerr};
        g->cand[i].z = (struct psr_accel_value){record.z, (double)record.zerr};
        g->cand[i].w = (struct psr_accel_value){record.w, (double)record.werr};
    }
}

static char *golden_file(const char *name, const char *suffix, size_t *n)
{
    const char *srcdir = getenv("srcdir");
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/tests/golden/%s%s", srcdir ? srcdir : ".", name, suffix);
    char *text = scratch_read(path, n);
    if (!text) {
        printf("Bail out! no %s\n", path);
        exit(EXIT_FAILURE);
    }
    return text;
}

static char *written(size_t *n,
                     psr_status (*write)(psr_outfile *, const struct psr_accel_list *, const char *,
                                         psr_err *),
                     const struct psr_accel_list *list, const char *more)
{
    psr_outfile *f = NULL;
    psr_err err;
    *n = 0;
    psr_status st = psr_outfile_create(&f, scratch("out"), &err);
    if (st == PSR_OK)
        st = write(f, list, more, &err);
    if (st != PSR_OK) {
        diag("%s", err.msg);
        psr_outfile_abort(f);
        return tap_take(1, 1);
    }
    if (psr_outfile_commit(f, &err) != PSR_OK)
        diag("%s", err.msg);
    return scratch_read(scratch("out"), n);
}

/* The first line that differs, for people. */
static void show_difference(const char *got, const char *want)
{
    for (; *got && *want; got++, want++) {
        size_t a = strcspn(got, "\n"), b = strcspn(want, "\n");
        if (a != b || memcmp(got, want, a) != 0) {
            diag("got  '%.*s'", (int)a, got);
            diag("want '%.*s'", (int)b, want);
            return;
        }
        got += a;
        want += b;
    }
}

static void test_text(const char *name)
{
    static struct golden g;
    size_t n, nrecord, ngot;
    const char *srcdir = getenv("srcdir");
    char inf[PATH_MAX];
    snprintf(inf, sizeof inf, "%s/tests/golden/acc3.inf", srcdir ? srcdir : ".");
    char *text = golden_file(name, "", &n), *copy = golden_file(name, "", &n);
    unsigned char *records = (unsigned char *)golden_file(name, ".cand", &nrecord);
    parse_golden(&g, copy, records);
    char *got = written(&ngot, psr_accel_write, &g.list, inf);
    if (!ok(ngot == n && !memcmp(got, text, n), "%s: %zu candidates, %zu bytes", name, g.list.ncand,
            n))
        show_difference(got, text);
    bool same = nrecord == PSR_ACCEL_RECORD_BYTES * g.list.ncand;
    for (size_t i = 0; same && i < g.list.ncand; i++) {
        unsigned char *record = records + PSR_ACCEL_RECORD_BYTES * i;
        unsigned char again[PSR_ACCEL_RECORD_BYTES];
        struct psr_accel_record r;
        memset(record + 12, 0, 4); /* what lay on the heap */
        memset(record + 28, 0, 4);
        psr_accel_unpack(&r, record);
        psr_accel_pack(&r, again);
        same = !memcmp(record, again, sizeof again);
    }
    ok(same, "%s.cand: records", name);
    free(got);
    free(copy);
    free(text);
    free(records);
}

static psr_status write_records(psr_outfile *f, const struct psr_accel_list *list, const char *more,
                                psr_err *err)
{
    (void)more;
    return psr_accel_write_cand(f, list, err);
}

static psr_status write_csv(psr_outfile *f, const struct psr_accel_list *list, const char *more,
                            psr_err *err)
{
    psr_status st = psr_accel_write_csv_header(f, err);
    return st ? st : psr_accel_write_csv(f, list, more, err);
}

static psr_status write_line(psr_outfile *f, const struct psr_accel_list *list, const char *more,
                             psr_err *err)
{
    (void)more;
    return psr_accel_write_txtcand(f, 27.55, 4.3081, 1, 5000.5, 38, 0, list->tobs_s, err);
}

static const struct psr_accel_harm harm = {.power = {20, 6.3}, .sigma = 6, .raw = 40};
static const struct psr_accel_cand cand = {
    .sigma = 12.5, .power = 99.25, .nharm = 1, .r = {1000.5, 2}, .z = {-20, 3}, .harm = &harm};

static void test_tables(void)
{
    const struct psr_accel_list list = {.cand = &cand, .ncand = 1, .tobs_s = 100};
    size_t n;
    char *got = written(&n, write_records, &list, NULL);
    struct psr_accel_record r;
    psr_accel_unpack(&r, (unsigned char *)got);
    ok(n == PSR_ACCEL_RECORD_BYTES && r.r == 1000.5 && r.z == -20 && r.pow == 20 && r.locpow == 2 &&
           fabs((double)r.sig - sqrt(40 - log(M_PI * 20))) < 1e-6,
       "a record of a candidate");
    free(got);
    got = written(&n, write_line, &list, NULL);
    ok(!strcmp(got, "27.55    4.3081   1   5000.5000       50.005000000    38.0000    0.0000    "
                    "\n"),
       "a line of .txtcand");
    free(got);
    got = written(&n, write_csv, &list, "a,\"b\".dat");
    ok(strstr(got, "\n\"a,\"\"b\"\".dat\",1,12.5,0,99.25,0,0,1,1000.5,2,-20,3,") &&
           !strncmp(got, "file,cand,sigma,", 16),
       "comma-separated values");
    free(got);
    got = written(&n, psr_accel_write_json, &list, "a\"\n\\.dat");
    static const char json[] = "{\"file\": \"a\\\"\\u000a\\\\.dat\", \"cand\": 1, \"sigma\": 12.5,";
    ok(!strncmp(got, json, sizeof json - 1) && got[n - 2] == '}', "JSON");
    free(got);
    got = written(&n, psr_accel_write, &list, scratch("no.inf"));
    ok(n == 0 && scratch_count("part") == 0, "no .inf to append: refused");
    free(got);
}

/* The n-th word of a line, as a number: what ACCEL_sift.py takes. */
static double word_at(const char *line, int n)
{
    line += strspn(line, " ");
    for (; n > 0; n--) {
        line += strcspn(line, " ");
        line += strspn(line, " ");
    }
    return strtod(line, NULL);
}

/* Places that accelsearch never has are read as what they are, to a tenth of their errors. */
static void test_sifted(void)
{
    static const struct psr_accel_value place[][2] = {
        {{123456, 121}, {1200, 241}},
        {{50000, 2048}, {-2, 9}},
        {{293.2, 7.8}, {6, 12}},
        {{2027.458143, 2.5e-5}, {9.918e-5, 1.94e-4}},
        {{131.17, 1.4e-3}, {-7e-6, 8e-7}},
        {{9, 99.7}, {0, 120}},
        {{1234567, 100.1}, {-999.6, 99.9}},
        {{5000.25, 0.25}, {0, 0.03}},
    };
    const char *srcdir = getenv("srcdir");
    char inf[PATH_MAX];
    snprintf(inf, sizeof inf, "%s/tests/golden/acc3.inf", srcdir ? srcdir : ".");
    for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
        struct psr_accel_cand c = cand;
        size_t n;
        c.r = place[i][0];
        c.z = place[i][1];
        char *got = written(&n, psr_accel_write,
                            &(struct psr_accel_list){.cand = &c, .ncand = 1, .tobs_s = 100}, inf);
        char *line = got;
        for (int k = 0; k < 3; k++)
            line = strchr(line, '\n') + 1;
        double r = word_at(line, 7), z = word_at(line, 9);
        ok(fabs(r - c.r.value) <= 0.1 * c.r.error && fabs(z - c.z.value) <= 0.1 * c.z.error,
           "r %g(%g), z %g(%g) are read as %.8g and %g", c.r.value, c.r.error, c.z.value, c.z.error,
           r, z);
        free(got);
    }
}

int main(void)
{
    uint64_t random = tap_seed();
    scratch_make();
    test_values();
    test_any_values(&random);
    test_text("acc3_z200h8_ACCEL_200");
    test_text("acc3_w200_JERK");
    test_text("acc3_z0h8_ACCEL_0");
    test_text("acc3_noremove_ACCEL_200");
    test_tables();
    test_sifted();
    return done_testing();
}

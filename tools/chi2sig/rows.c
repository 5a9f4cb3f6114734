/* Reads rows of numbers from a descriptor, one buffer at a time, and distributes lines over
 * threads. */
#include "base/portable.h"
#include "base/tool.h"
#include "chi2sig.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER = 4 << 20 };

/* Whole lines for one thread, and what became of them. */
struct piece {
    const char *begin, *end;
    int64_t nline;   /* lines dealt with, the bad one included */
    const char *bad; /* the line that could not be used, or NULL */
    struct chi2sig_text out;
};

struct reader {
    const struct chi2sig_job *job;
    int fd;
    char *buffer; /* [BUFFER + 1]: room for a newline that the last line may lack */
    size_t used;
    bool ended;
    int64_t nline, nwrite;
    struct piece *piece; /* [job->nthread] */
};

static const char *skip_blanks(const char *p)
{
    while (*p == ' ' || *p == '\t' || *p == '\r')
        p++;
    return p;
}

/* One number within limits, with a blank, a comma or the end of the line behind it. */
static bool take_number(const char **p, double min, double max, double *value)
{
    *p = skip_blanks(*p);
    return fast_number_get(p, value) && *value >= min && *value <= max &&
           memchr(" \t,\r\n", **p, 5);
}

/* To the next column; one that is empty holds no number. */
static const char *skip_comma(const char *p)
{
    p = skip_blanks(p);
    return p + (*p == ',');
}

static bool take_row(const struct chi2sig_job *job, const char *p, struct chi2sig_row *row)
{
    bool good = true;
    if (!job->inverse)
        good = take_number(&p, -CHI2SIG_MAX_POWER, CHI2SIG_MAX_POWER, &row->power);
    if (good && !job->inverse)
        p = skip_comma(p);
    if (good && job->dof == 0)
        good = take_number(&p, 1, CHI2SIG_MAX_DOF, &row->dof);
    return good;
}

/* Lines that are empty or begin with '#' are passed over. */
static void do_piece(const struct chi2sig_job *job, struct piece *piece)
{
    piece->nline = 0;
    piece->bad = NULL;
    for (const char *line = piece->begin; line < piece->end;) {
        const char *p = skip_blanks(line);
        struct chi2sig_row row = {.dof = job->dof};
        piece->nline++;
        if (*p != '\n' && *p != '#') {
            if (!take_row(job, p, &row)) {
                piece->bad = line;
                return;
            }
            chi2sig_add_row(job, &row, &piece->out);
        }
        line = (const char *)memchr(p, '\n', (size_t)(piece->end - p)) + 1;
    }
}

/* Cuts n bytes that end with a newline into one piece per thread, at ends of lines. */
static void cut_pieces(struct reader *r, size_t n)
{
    const char *at = r->buffer, *end = r->buffer + n;
    for (int i = 0; i < r->job->nthread; i++) {
        size_t share = (size_t)(end - at) / (size_t)(r->job->nthread - i);
        r->piece[i].begin = at;
        if (share > 0)
            at = (const char *)memchr(at + share - 1, '\n', (size_t)(end - at) - share + 1) + 1;
        r->piece[i].end = at;
    }
    r->piece[r->job->nthread - 1].end = end;
}

static psr_status bad_line(const struct reader *r, const struct piece *piece, psr_err *err)
{
    const char *p = skip_blanks(piece->bad);
    int n = (int)strcspn(p, "\r\n");
    const char *want = r->job->inverse    ? "a dof"
                       : r->job->dof == 0 ? "a power and a dof"
                                          : "a power";
    return psr_fail(err, PSR_EFORMAT, "standard input: line %lld: '%.*s' is not %s%s",
                    (long long)r->nline, n > 60 ? 60 : n, p, want,
                    r->job->dof == 0 ? " from 1 to 1e12" : "");
}

static psr_status do_lines(struct reader *r, size_t n, psr_err *err)
{
    cut_pieces(r, n);
#pragma omp parallel for num_threads(r->job->nthread) schedule(static, 1)
    for (int i = 0; i < r->job->nthread; i++)
        do_piece(r->job, &r->piece[i]);
    for (int i = 0; i < r->job->nthread; i++) {
        r->nline += r->piece[i].nline;
        psr_status st = chi2sig_write(r->job, &r->piece[i].out, &r->nwrite, err);
        if (st != PSR_OK)
            return st;
        if (r->piece[i].bad)
            return bad_line(r, &r->piece[i], err);
    }
    return fflush(stdout) == 0 ? PSR_OK : psr_fail_errno(err, "standard output");
}

static bool more_is_waiting(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0 && (p.revents & (POLLIN | POLLHUP));
}

/* Waits for input, then takes what there is without waiting again, so that a row typed or piped is
 * answered at once. */
static psr_status fill(struct reader *r, psr_err *err)
{
    do {
        ssize_t n = read(r->fd, r->buffer + r->used, BUFFER - r->used);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return psr_fail_errno(err, "standard input");
        r->ended = n == 0;
        r->used += (size_t)n;
    } while (!r->ended && r->used < BUFFER && more_is_waiting(r->fd));
    if (r->ended && r->used > 0 && r->buffer[r->used - 1] != '\n')
        r->buffer[r->used++] = '\n';
    return PSR_OK;
}

static psr_status read_rows(struct reader *r, psr_err *err)
{
    while (!r->ended) {
        psr_status st = fill(r, err);
        if (st != PSR_OK)
            return st;
        const char *last = memrchr(r->buffer, '\n', r->used);
        size_t whole = last ? (size_t)(last + 1 - r->buffer) : 0;
        if (whole == 0 && r->used == BUFFER)
            return psr_fail(err, PSR_EFORMAT, "standard input: line %lld: longer than %d bytes",
                            (long long)r->nline + 1, BUFFER);
        st = whole > 0 ? do_lines(r, whole, err) : PSR_OK;
        if (st != PSR_OK)
            return st;
        r->used -= whole;
        memmove(r->buffer, r->buffer + whole, r->used);
    }
    return PSR_OK;
}

psr_status chi2sig_rows(const struct chi2sig_job *job, int fd, psr_err *err)
{
    struct reader r = {.job = job, .fd = fd};
    psr_status st;
    r.buffer = malloc(BUFFER + 1);
    r.piece = calloc((size_t)job->nthread, sizeof *r.piece);
    if (r.buffer && r.piece)
        st = read_rows(&r, err);
    else
        st = psr_fail_nomem(err, "rows of input", BUFFER);
    for (int i = 0; r.piece && i < job->nthread; i++)
        free(r.piece[i].out.data);
    free(r.piece);
    free(r.buffer);
    return st;
}

/* Reads candidate lists of accelsearch and Pulscan. */

enum { LINE_BYTES = 4096 };

struct list {
    struct psr_text_lines in;
    char line[LINE_BYTES]; /* the last that was read, without its end */
};

static psr_status bad_candidate(const struct list *list, const char *what, psr_err *err)
{
    return psr_fail(err, PSR_EFORMAT, "%s: line %ld: '%.60s' is not %s", list->in.name,
                    list->in.number, list->line, what);
}

static psr_status check_row(const struct list *list, const struct chi2sig_row *row, psr_err *err)
{
    bool good = row->power >= 0 && row->power <= CHI2SIG_MAX_POWER && row->dof >= 1 &&
                row->dof <= CHI2SIG_MAX_DOF;
    return good ? PSR_OK : bad_candidate(list, "a candidate", err);
}

/* accelsearch's summed power is chi^2 / 2, with 2 degrees of freedom a harmonic. */
static psr_status take_accel(const struct list *list, struct chi2sig_row *row, psr_err *err)
{
    long number, nharm;
    double power;
    if (sscanf(list->line, "%ld %lf %lf %*f %ld", &number, &row->listed_sigma, &power, &nharm) != 4)
        return bad_candidate(list, "a candidate of accelsearch", err);
    row->power = 2 * power;
    row->dof = 2 * (double)nharm;
    return check_row(list, row, err);
}

/* Columns sigma, power, period, frequency, r, f-dot, z, acceleration, ln p, harmonics. */
static psr_status take_pulscan(const struct list *list, struct chi2sig_row *row, psr_err *err)
{
    double z;
    long nharm;
    if (sscanf(list->line, "%lf %lf %*s %*s %*s %*s %lf %*s %*s %ld", &row->listed_sigma,
               &row->power, &z, &nharm) != 4)
        return bad_candidate(list, "a candidate of Pulscan", err);
    row->dof = psr_pulscan_dof((double)nharm, z);
    return check_row(list, row, err);
}

typedef psr_status take_function(const struct list *, struct chi2sig_row *, psr_err *);

/* The reader of the program whose list begins with this line; NULL: neither's. */
static take_function *identify_list(const char *line)
{
    char word[2][16] = {"", ""};
    sscanf(line, "%15s %15s", word[0], word[1]);
    if (!strcmp(word[0], "sigma") && !strcmp(word[1], "power"))
        return take_pulscan;
    if (!strcmp(word[0], "Summed") && !strcmp(word[1], "Coherent"))
        return take_accel;
    return NULL;
}

/* Returned: false at the end of the file and after an error, which *st tells. */
static bool next_line(struct list *list, psr_status *st, psr_err *err)
{
    bool exists;
    *st = psr_text_lines_next(&list->in, list->line, LINE_BYTES, &exists, err);
    list->line[strcspn(list->line, "\r\n")] = '\0';
    return *st == PSR_OK && exists;
}

/* The rows of an ACCEL file end with an empty line; those of Pulscan with the file. */
static psr_status read_list(const struct chi2sig_job *job, struct list *list,
                            struct chi2sig_text *out, psr_err *err)
{
    psr_status st = PSR_OK;
    if (!next_line(list, &st, err))
        return st ? st : psr_fail(err, PSR_EFORMAT, "%s: empty", list->in.name);
    take_function *take = identify_list(list->line);
    if (!take)
        return psr_fail(err, PSR_EFORMAT,
                        "%s: neither an ACCEL file of accelsearch nor a list of Pulscan",
                        list->in.name);
    while (st == PSR_OK && next_line(list, &st, err)) {
        bool empty = !list->line[strspn(list->line, " \t")];
        if (take == take_accel && list->in.number <= 3)
            continue;
        if (take == take_accel && empty)
            break;
        if (empty)
            continue;
        struct chi2sig_row row = {0};
        st = take(list, &row, err);
        if (st == PSR_OK)
            chi2sig_add_row(job, &row, out);
    }
    return st;
}

psr_status chi2sig_candidates(const struct chi2sig_job *job, const char *path, psr_err *err)
{
    struct list list;
    struct chi2sig_text out = {0};
    int64_t nwrite = 0;
    psr_status st = psr_text_lines_open(&list.in, path, PSR_TABLE_MAX_BYTES, err);
    if (st != PSR_OK)
        return st;
    st = read_list(job, &list, &out, err);
    if (st == PSR_OK) {
        chi2sig_print_head(job);
        st = chi2sig_write(job, &out, &nwrite, err);
    }
    free(out.data);
    psr_text_lines_close(&list.in);
    return st;
}

/* Reads candidate lists of accelsearch and Pulscan. */
#include "chi2sig.h"

#include "base/tool.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

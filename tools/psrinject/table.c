/* Reads and writes tables of signals and what became of them. */
#include "psrinject.h"

#include "base/tool.h"
#include <psrkit/experimental/outfile.h>
#include <stdio.h>
#include <string.h>

psr_status inject_table_write(const char *path, const struct inject_row *row, size_t n,
                              psr_err *err)
{
    psr_outfile *f;
    psr_status st = psr_outfile_create(&f, path, err);
    if (st)
        return st;
    st = psr_outfile_printf(f, err,
                            "#kind\tdm\tt_s\twidth_s\tperiod_s\taccn_m_s2\tsnr\tfound_snr\tlost\n");
    for (size_t i = 0; i < n && !st; i++)
        st = psr_outfile_printf(f, err, "%s\t%.6f\t%.9f\t%.9g\t%.12g\t%.9g\t%.4f\t%.4f\t%s\n",
                                row[i].pulsar ? "pulsar" : "burst", row[i].dm, row[i].t_s,
                                row[i].width_s, row[i].period_s, row[i].accn, row[i].snr,
                                row[i].found_snr, row[i].lost);
    if (st)
        psr_outfile_abort(f);
    return st ? st : psr_outfile_commit(f, err);
}

psr_status inject_table_read(struct inject_result *all, const char *path, psr_err *err)
{
    char line[1024], kind[8];
    struct psr_text_lines in;
    bool exists;
    psr_status st = psr_text_lines_open(&in, path, PSR_TABLE_MAX_BYTES, err);
    if (st)
        return st;
    while (!st && !(st = psr_text_lines_next(&in, line, sizeof line, &exists, err)) && exists) {
        struct inject_row r = {.pulsar = false};
        if (*line == '#')
            continue;
        if (sscanf(line, "%7s %lf %lf %lf %lf %lf %lf %lf %15s", kind, &r.dm, &r.t_s, &r.width_s,
                   &r.period_s, &r.accn, &r.snr, &r.found_snr, r.lost) != 9)
            st = psr_fail(err, PSR_EFORMAT, "%s: line %ld has no 9 columns", path, in.number);
        r.pulsar = !strcmp(kind, "pulsar");
        if (!st)
            st = psr_grow(&all->row, &all->room, all->n, sizeof r, "signals", err);
        if (!st)
            all->row[all->n++] = r;
    }
    psr_text_lines_close(&in);
    return st;
}

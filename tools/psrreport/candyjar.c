/* Folded candidates in the columns that CandyJar reads (github.com/vivekvenkris/CandyJar).
 *
 * It splits lines at every comma, takes the line with "utc_start" for the header and leaves out
 * those with "pointing_id", and reads numbers with Java's rules: unknown ones are NaN, unknown
 * positions 0.0, unknown names "none". */
#include "psrreport.h"

#include <erfa.h>
#include <erfam.h>
#include <fcntl.h>
#include <math.h>
#include <psrkit/obs.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char header[] =
    "pointing_id,beam_id,beam_name,source_name,ra,dec,gl,gb,mjd_start,utc_start,f0_user,f0_opt,"
    "f0_opt_err,f1_user,f1_opt,f1_opt_err,acc_user,acc_opt,acc_opt_err,dm_user,dm_opt,dm_opt_err,"
    "sn_fft,sn_fold,pepoch,maxdm_ymw16,dist_ymw16,png_path,metafile_path,filterbank_path,"
    "candidate_tarball_path,tobs,marks\n"; /* it looks columns up by name, and the last is not its own */

struct row {
    psr_outfile *f;
    psr_err *err;
    psr_status status;
};

static void put_text(struct row *o, const char *text)
{
    char clean[2 * PSR_TEXT_MAX];
    static const char *const reserved[] = {"utc_start", "pointing_id"};
    size_t n = 0;
    while (*text && n + 5 < sizeof clean) {
        const size_t width = psr_utf8_length(text);
        const bool plain = width > 1 || (width == 1 && (unsigned char)*text >= 0x20 &&
                                         *text != 0x7f && *text != ',');
        const size_t taken = width ? width : 1;
        if (plain)
            memcpy(clean + n, text, taken);
        else
            clean[n] = '_';
        n += plain ? taken : 1;
        text += taken;
    }
    clean[n] = '\0';
    for (int k = 0; k < 2; k++)
        for (char *at = strstr(clean, reserved[k]); at; at = strstr(clean, reserved[k]))
            *strchr(at, '_') = '-';
    if (!o->status)
        o->status = psr_outfile_printf(o->f, o->err, "%s,", *clean ? clean : "none");
}

static void put_number(struct row *o, const char *format, double value)
{
    char text[64];
    snprintf(text, sizeof text, format, value);
    if (!o->status)
        o->status = psr_outfile_printf(o->f, o->err, "%s,", isfinite(value) ? text : "NaN");
}

/* A spreadsheet takes what begins so for a formula, in quotes or not.
 * Given: before   what stands in front of it then */
static void put_name(struct row *o, const char *name, const char *before)
{
    char safe[2 * PSR_TEXT_MAX];
    const bool formula = *name && strchr("=+-@", *name);
    snprintf(safe, sizeof safe, "%s%s", formula ? before : "", name);
    put_text(o, safe);
}

/* --- positions and times ---------------------------------------------------------------------- */

/* Degrees or hours, minutes and seconds, of three numbers; not a number if they are none. */
static double read_position(const char *text, double most)
{
    double part[3];
    char rest;
    if (sscanf(text, "%lf:%lf:%lf%c", &part[0], &part[1], &part[2], &rest) != 3 ||
        !(fabs(part[0]) <= most) || !(part[1] >= 0 && part[1] < 60) ||
        !(part[2] >= 0 && part[2] < 60.1))
        return NAN;
    const double size = fabs(part[0]) + part[1] / 60 + part[2] / 3600;
    return text[strspn(text, " ")] == '-' ? -size : size;
}

/* PRESTO writes 0, 0 for a position that is not known. */
static void put_position(struct row *o, const struct report_fold *f)
{
    const double ra_deg = 15 * read_position(f->ra, 24), dec_deg = read_position(f->dec, 90);
    const bool known = isfinite(ra_deg) && isfinite(dec_deg) && (ra_deg != 0 || dec_deg != 0);
    double gl = NAN, gb = NAN;
    put_text(o, known ? f->ra : "0.0");
    put_text(o, known ? f->dec : "0.0");
    if (known)
        eraIcrs2g(ra_deg * ERFA_DD2R, dec_deg * ERFA_DD2R, &gl, &gb);
    put_number(o, "%.6f", gl * ERFA_DR2D);
    put_number(o, "%.6f", gb * ERFA_DR2D);
}

static void put_start(struct row *o, double mjd)
{
    int date[3], time[4];
    char sign, text[80];
    const double whole = floor(mjd);
    put_number(o, "%.12f", mjd);
    if (eraJd2cal(ERFA_DJM0, whole, &date[0], &date[1], &date[2], &(double){0})) {
        put_text(o, "1858-11-17T00:00:00");
        return;
    }
    eraD2tf(3, fmin(mjd - whole, 1 - 1e-8), &sign, time);
    snprintf(text, sizeof text, "%04d-%02d-%02dT%02d:%02d:%02d.%03d", date[0], date[1], date[2],
             time[0], time[1], time[2], time[3]);
    put_text(o, text);
}

/* --- rows ------------------------------------------------------------------------------------- */

struct spin {
    double f, f_err, fd, fd_err;
};

/* Of a period and its derivative. */
static struct spin find_spin(const struct psr_bestprof_value p[2])
{
    const double period_s = p[0].value * 1e-3, f = 1 / period_s;
    return (struct spin){.f = f,
                         .f_err = f * f * p[0].error * 1e-3,
                         .fd = -p[1].value * f * f,
                         .fd_err = p[1].error * f * f};
}

static void put_spins(struct row *o, const struct report_fold *f, const struct spin *s)
{
    put_number(o, "%.15g", f->f_user);
    put_number(o, "%.15g", s->f);
    put_number(o, "%.6g", s->f_err);
    put_number(o, "%.10g", f->fd_user);
    put_number(o, "%.10g", s->fd);
    put_number(o, "%.6g", s->fd_err);
    put_number(o, "%.8g", PSR_LIGHT_M_S * f->fd_user / f->f_user);
    put_number(o, "%.8g", PSR_LIGHT_M_S * s->fd / s->f);
    put_number(o, "%.6g", PSR_LIGHT_M_S * s->fd_err / s->f);
}

/* The last column, which ends the line; lists of earlier versions have commas. */
static void put_marks(struct row *o, const char *marks)
{
    char text[REPORT_MARKS];
    snprintf(text, sizeof text, "%s", *marks ? marks : "-");
    for (char *c = text; *c; c++)
        *c = *c == ',' ? '+' : *c;
    if (!o->status)
        o->status = psr_outfile_printf(o->f, o->err, "%s\n", text);
}

static void put_candidate(struct row *o, const struct report *r, const struct report_cand *c)
{
    const struct report_fold *f = c->fold;
    const struct psr_bestprof *b = &f->best;
    const bool topo = isfinite(b->topo[0].value) && b->topo[0].value > 0;
    const double epoch = topo && b->tepoch_mjd > 0 ? b->tepoch_mjd : b->bepoch_mjd;
    const struct spin s = find_spin(topo ? b->topo : b->bary);
    char picture[2 * PSR_TEXT_MAX] = "";
    put_number(o, "%.0f", (double)r->opt->pointing_id);
    put_number(o, "%.0f", (double)r->opt->beam_id);
    put_name(o, r->opt->beam_name, "'");
    put_name(o, r->has_inf ? r->inf.object : "Unknown", "'");
    put_position(o, f);
    put_start(o, isfinite(epoch) ? epoch : 0);
    put_spins(o, f, &s);
    put_number(o, "%.6f",
               isfinite(c->value[CAND_DM]) && c->value[CAND_NUMBER] > 0 ? c->value[CAND_DM]
                                                                        : f->dm_user);
    put_number(o, "%.6f", b->dm);
    put_number(o, "%.6f", f->dm_step / 2);
    put_number(o, "%.6f", c->value[CAND_SIGMA]);
    put_number(o, "%.6f", b->sigma);
    put_number(o, "%.12f", epoch);
    put_text(o, "NaN"); /* no model of the Galaxy's electrons here */
    put_text(o, "NaN");
    if (f->picture && r->opt->overview)
        snprintf(picture, sizeof picture, "%s/%s", r->folder, f->picture);
    put_name(o, *picture ? picture : f->picture ? f->picture : "none", "./");
    put_text(o, "none");
    put_name(o, b->input, "./");
    put_text(o, "none");
    if (!o->status)
        o->status = psr_outfile_printf(o->f, o->err, "%.6f,", b->ndata * b->tsamp_s);
    put_marks(o, c->marks);
}

psr_status report_begin_candyjar(psr_outfile *f, psr_err *err)
{
    return psr_outfile_printf(f, err, "%s", header);
}

bool report_is_candyjar(const char *path)
{
    char begun[sizeof header] = "";
    const int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return false;
    const ssize_t n = read(fd, begun, sizeof begun - 1);
    close(fd);
    return n > 0 && !strcmp(begun, header);
}

psr_status report_write_candyjar(psr_outfile *f, const struct report *r, psr_err *err)
{
    struct row o = {.f = f, .err = err};
    for (size_t i = 0; i < r->ncand && !o.status; i++)
        if (r->cand[i].fold)
            put_candidate(&o, r, &r->cand[i]);
    return o.status;
}

/* What the programs share: names, files of floats, red noise. */
#include "psrpresto.h"

#include <errno.h>
#include <math.h>
#include <psrkit/experimental/outfile.h>
#include <psrkit/experimental/source.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

char *presto_join(const struct cli *tool, const char *a, const char *b)
{
    char *both = NULL;
    if (asprintf(&both, "%s%s", a, b) < 0)
        cli_usage_error(tool, "no memory for a name");
    return both;
}

char *presto_root(const struct cli *tool, const char *path, const char *suffix)
{
    const char *slash = strrchr(path, '/');
    const char *dot = strrchr(slash ? slash : path, '.');
    if (suffix && (!dot || strcmp(dot, suffix) != 0))
        cli_usage_error(tool, "%s: must end in %s", path, suffix);
    char *root = presto_join(tool, path, "");
    if (dot)
        root[dot - path] = '\0';
    return root;
}

static psr_status read_open(FILE *f, const char *path, float **x, int64_t *n, psr_err *err)
{
    struct stat is;
    if (fstat(fileno(f), &is))
        return psr_fail_errno(err, "%s", path);
    if (!S_ISREG(is.st_mode) || is.st_size < 8 || is.st_size % 8)
        return psr_fail(err, PSR_EFORMAT, "%s: %lld bytes are no even number of floats", path,
                        (long long)is.st_size);
    *n = is.st_size / 4;
    const double bytes = (double)is.st_size + 8;
    /* Without it, a size beyond all memory would end the program when the pages are touched. */
    const double all = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    psr_status st = bytes <= all || all <= 0 ? PSR_OK : psr_fail_nomem(err, path, bytes);
    if (st != PSR_OK)
        return st;
    *x = malloc((size_t)is.st_size + 8);
    if (!*x)
        return psr_fail_nomem(err, path, bytes);
    errno = 0;
    if (fread(*x, 4, (size_t)*n, f) == (size_t)*n)
        return PSR_OK;
    return errno ? psr_fail_errno(err, "%s", path)
                 : psr_fail(err, PSR_EIO, "%s: became shorter while it was read", path);
}

psr_status presto_read_floats(const char *path, float **x, int64_t *n, psr_err *err)
{
    *x = NULL;
    FILE *f = fopen(path, "rbe");
    if (!f)
        return psr_fail_errno(err, "%s", path);
    psr_status st = read_open(f, path, x, n, err);
    fclose(f);
    if (st != PSR_OK) {
        free(*x);
        *x = NULL;
    }
    return st;
}

psr_status presto_write_floats(const char *path, const float *x, int64_t n, psr_err *err)
{
    psr_outfile *f;
    psr_status st = psr_outfile_create(&f, path, err);
    if (st != PSR_OK)
        return st;
    st = psr_outfile_write(f, x, (size_t)n * sizeof *x, err);
    if (st == PSR_OK)
        return psr_outfile_commit(f, err);
    psr_outfile_abort(f);
    return st;
}

psr_status presto_add_output(struct psr_overwrite_check *files, const char *of, const char *root,
                             const char *suffix, psr_err *err)
{
    char *out = NULL;
    if (asprintf(&out, "%s%s", root, suffix) < 0)
        return psr_fail_nomem(err, root, (double)strlen(root));
    psr_status st = psr_overwrite_check_output(files, out, of, err);
    free(out);
    return st;
}

int presto_run(const struct presto_job *job, int n, char **operand)
{
    struct psr_overwrite_check files = {0};
    psr_err err;
    psr_status st = PSR_OK;
    if (n < 1)
        cli_usage_error(job->tool, "no input given");
    for (int i = 0; i < n && st == PSR_OK; i++)
        st = job->add_files(job->ctx, operand[i], &files, &err);
    psr_overwrite_check_clear(&files);
    run_catch_signals();
    struct run_progress bar;
    run_progress_start(&bar, RUN_BAR, n, "files", 1);
    for (int i = 0; i < n && st == PSR_OK && !run_stop_signal(); i++) {
        st = job->part(job->ctx, operand[i], &err);
        run_progress_update(&bar, i + 1);
    }
    run_progress_end(&bar);
    return cli_end(job->tool, st, &err, EXIT_SUCCESS);
}

void presto_add_red(struct cli_table *table, struct presto_red *r)
{
    const struct cli_option options[] = {
        {"startwidth", CLI_INT, &r->startwidth, "BINS", 2, 50, "First block (default 6)."},
        {"endwidth", CLI_INT, &r->endwidth, "BINS", 50, 500, "Longest block (default 100)."},
        {"endfreq", CLI_DOUBLE, &r->endfreq_hz, "HZ", 0.1, 10,
         "Where blocks have become the longest (default 6)."},
    };
    CLI_ADD(table, options);
}

/* PRESTO divides in single precision. */
psr_status presto_deredden(float *x, int64_t nbin, const struct presto_red *r, double tobs_s,
                           psr_err *err)
{
    double stop = floor(r->endfreq_hz * tobs_s * (1 - 1e-6));
    while ((double)((float)stop / (float)tobs_s) < r->endfreq_hz)
        stop++;
    const struct psr_redden how = {
        .start = (int)r->startwidth, .end = (int)r->endwidth, .stop_bin = stop, .presto = true};
    return psr_spectrum_deredden(x, nbin, &how, err);
}

/* The header of an observation, as readfile prints it. */

enum { SIGPROC_BLOCK = 2400, HEADER_MAX = 1 << 16, UNIX_MJD = 40587 };

static void print_text(const char *label, const char *text)
{
    if (*text && strcmp(text, "unset") != 0)
        printf("%27s = %s\n", label, text);
}

static void print_number(const char *label, double x)
{
    printf("%27s = %-17.15g\n", label, x);
}

static void print_count(const char *label, long long n)
{
    printf("%27s = %lld\n", label, n);
}

/* Hours or degrees, rounded to 0.0001 s. */
static void print_angle(const char *label, const char *sign, double units)
{
    const long long n = llround(fabs(units) * 36000000);
    printf("%27s = %s%02lld:%02lld:%02lld.%04lld\n", label, units < 0 ? "-" : sign, n / 36000000,
           n / 600000 % 60, n / 10000 % 60, n % 10000);
}

/* PRESTO takes a filterbank for the first of one beam where it names none. */
static void print_band(const struct psr_obs *o, bool fits)
{
    const struct psr_obs_band b = psr_obs_band(o);
    const double beam =
        o->beam_arcsec >= 0
            ? o->beam_arcsec
            : psr_telescope_beam_arcsec(o->telescope, (b.lowest_mhz + b.highest_mhz) / 2);
    print_number("Sample time (us)", o->tsamp_s * 1e6);
    print_number("Central freq (MHz)", (b.lowest_mhz + b.highest_mhz) / 2);
    print_number("Low channel (MHz)", b.lowest_mhz);
    print_number("High channel (MHz)", b.highest_mhz);
    print_number("Channel width (MHz)", b.spacing_mhz);
    print_count("Number of channels", (long long)o->nchan);
    if (o->chan_dm > 0)
        print_number("DM used for chan dedisp", o->chan_dm);
    print_number("Total Bandwidth (MHz)", b.spacing_mhz * (double)o->nchan);
    if (!fits || o->nbeam > 0)
        printf("%27s = %d of %d\n", "Beam", fits || o->ibeam > 0 ? o->ibeam : 1,
               fits ? o->nbeam : 1);
    printf("%27s = %.3f\n", "Beam FWHM (deg)", beam / 3600);
}

static void print_samples(const struct psr_obs *o, int nbit, int npol)
{
    const long long block = o->block_nsamp > 0 ? o->block_nsamp : SIGPROC_BLOCK,
                    nsample = (long long)o->nchan * npol;
    print_count("Spectra per subint", block);
    print_count("Spectra per file", o->nsamp);
    printf("%27s = %-.12g\n", "Time per subint (sec)", (double)block * o->tsamp_s);
    printf("%27s = %-.12g\n", "Time per file (sec)", (double)o->nsamp * o->tsamp_s);
    print_count("bits per sample", nbit);
    if (nbit == 8)
        print_text("Are bytes signed?", o->kind == PSR_INT ? "True" : "False");
    print_count("bytes per spectra", nsample * nbit / 8);
    print_count("samples per spectra", nsample);
    print_count("bytes per subint", block * nsample * nbit / 8);
    print_count("samples per subint", block * nsample);
}

/* The end of SIGPROC's header; 0: none found. */
static long long find_header_end(const char *path)
{
    static const char word[] = "HEADER_END";
    char text[HEADER_MAX];
    FILE *f = fopen(path, "rbe");
    const size_t n = f ? fread(text, 1, sizeof text, f) : 0;
    if (f)
        fclose(f);
    const char *at = memmem(text, n, word, strlen(word));
    return at ? at - text + (long long)strlen(word) : 0;
}

/* Seconds have six digits, zeros at their end left out, as in PRESTO. */
static const char *date_of(const struct psr_mjd *t, char *text, size_t room)
{
    const double day_s = t->frac * PSR_DAY_S, minute_s = floor(day_s / 60) * 60;
    const time_t s = (t->day - UNIX_MJD) * (time_t)PSR_DAY_S + (time_t)minute_s;
    struct tm tm;
    const size_t n = gmtime_r(&s, &tm) ? strftime(text, room, "%Y-%m-%dT%H:%M:", &tm) : 0;
    if (!n)
        return "";
    snprintf(text + n, room - n, "%s%.6g", day_s - minute_s < 10 ? "0" : "", day_s - minute_s);
    return text;
}

psr_status presto_print_header(const struct cli *tool, const char *path, bool fits, psr_err *err)
{
    psr_source *source;
    const struct psr_source_desc desc = {.size = sizeof desc,
                                         .path = &path,
                                         .npath = 1,
                                         .input = fits ? PSR_INPUT_PSRFITS : PSR_INPUT_SIGPROC,
                                         .if_choice = 0,
                                         .as_presto = true,
                                         .notes = {cli_note, (void *)(uintptr_t)tool}};
    psr_status st = psr_source_open(&source, &desc, err);
    if (st != PSR_OK)
        return st;
    const struct psr_obs *o = psr_source_obs(source);
    const int nbit = psr_source_file_nbit(source);
    char mjd[32];
    printf("\n1: From the %s file '%s':\n", fits ? "PSRFITS" : "SIGPROC filterbank", path);
    print_text("Telescope", o->telescope);
    print_text("Observer", o->observer);
    print_text("Source Name", o->source);
    if (fits || !strcmp(o->instrument, "Unknown")) /* which is all that PRESTO tells of SIGPROC's */
        print_text("Backend", o->instrument);
    print_text("Project ID", o->project_id);
    print_text("Obs Date String", o->has_date ? o->date : date_of(&o->tstart, mjd, sizeof mjd));
    snprintf(mjd, sizeof mjd, "%.14f", o->tstart.frac);
    printf("%27s = %ld%s\n", fits ? "MJD start time (STT_*)" : "MJD start time", o->tstart.day,
           mjd + 1);
    print_angle("RA J2000", "", o->ra_deg / 15);
    print_number("RA J2000 (deg)", o->ra_deg);
    print_angle("Dec J2000", "", o->dec_deg);
    print_number("Dec J2000 (deg)", o->dec_deg);
    if (!fits)
        print_text("Tracking?", "True");
    printf("%27s = %-.7g\n", "Azimuth (deg)", o->az_deg);
    printf("%27s = %-.7g\n", "Zenith Ang (deg)", o->za_deg);
    const int npol = atoi(o->poln);
    const bool summed = !strstr(o->poln, "not");
    printf("%27s = %d%s\n", "Number of polns", npol > 1 ? npol : 1, summed ? " (summed)" : "");
    print_band(o, fits);
    print_samples(o, nbit, summed || npol < 1 ? 1 : npol);
    if (!fits) {
        print_number("zero offset", 0);
        print_text("Invert the band?", "False");
        print_count("bytes in file header", find_header_end(path));
    }
    printf("\n");
    psr_source_close(source);
    return PSR_OK;
}

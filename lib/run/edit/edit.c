/* Makes an observation from observations: prepares and runs the parts. */
#include "base/base.h"

#include "base/input/dada_ring.h"
#include "base/obs_internal.h"
#include "base/threads/threads.h"
#include "edit_state.h"
#include "fake/fake_internal.h"
#include "formats/spectra/spectra_reader.h"
#include "formats/spectra/unpack.h"
#include <psrkit/ddplan.h>
#include <stdlib.h>
#include <string.h>

/* --- writes spectra in any format ------------------------------------------------------------- */

static enum psr_edit_format find_format(const char *path)
{
    static const struct {
        const char *suffix;
        enum psr_edit_format format;
    } suffixes[] = {{".fits", PSR_EDIT_PSRFITS}, {".sf", PSR_EDIT_PSRFITS},
                    {".fit", PSR_EDIT_PSRFITS},  {".dada", PSR_EDIT_DADA},
                    {".h5", PSR_EDIT_FBH5},      {".hdf5", PSR_EDIT_FBH5}};
    if (psr_dada_ring_is_name(path))
        return PSR_EDIT_DADA;
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++)
        if (psr_path_ends(path, suffixes[i].suffix))
            return suffixes[i].format;
    return PSR_EDIT_SIGPROC;
}

/* Spectra in a row: all rows are full where that can be, for readers that ignore NSTOT. */
static size_t choose_nsblk(int64_t nsamp)
{
    const int64_t step = 8, least = 256, most = 4096, usual = 1024;
    for (int64_t n = most; n >= least; n -= step)
        if (nsamp % n == 0)
            return (size_t)n;
    return (size_t)(nsamp < usual ? (nsamp + step - 1) / step * step : usual);
}

static psr_status begin_psrfits(struct psr_edit_output *o, const struct psr_obs *obs, psr_err *err)
{
    struct psr_obs full = *obs; /* its table is borrowed */
    if (obs->nsamp < 0)
        return psr_fail_field(err, PSR_EUNSUPPORTED, "format",
                              "edit: PSRFITS says first how many spectra it has: a stream needs an "
                              "end, or another format");
    full.has_date = psr_mjd_text(obs->tstart, full.date, sizeof full.date);
    if (full.beam_arcsec < 0)
        full.beam_arcsec = psr_telescope_beam_arcsec(
            obs->telescope, (psr_obs_lowest_mhz(obs) + psr_obs_highest_mhz(obs)) / 2);
    return psr_psrfits_create(&o->fits, o->file, &full, choose_nsblk(obs->nsamp), err);
}

/* Creates the file and writes the header.
 * Given:  group   that it belongs to, or NULL
 *         obs   nsamp -1: unknown, which PSRFITS cannot be
 * Status: PSR_EUNSUPPORTED, and those of psr_outfile_create and the formats; ends with abort, whatever it is */
static psr_status edit_output_create(struct psr_edit_output *o, const char *path,
                                     psr_output_group *group, enum psr_edit_format format,
                                     const struct psr_obs *obs, psr_err *err)
{
    o->format = format == PSR_EDIT_BY_NAME ? find_format(path) : format;
    o->row_bytes = psr_row_bytes(obs->nchan, obs->nbit);
    if (o->format != PSR_EDIT_DADA && psr_dada_ring_is_name(path))
        return psr_fail_field(err, PSR_EUNSUPPORTED, "format", "edit: %s: a ring has DADA headers",
                              path);
    o->grouped = group != NULL;
    psr_status st = group ? psr_output_group_add(group, path, &o->file, err)
                          : psr_outfile_create(&o->file, path, err);
    if (st)
        return st;
    if (o->format == PSR_EDIT_PSRFITS)
        return begin_psrfits(o, obs, err);
    if (o->format == PSR_EDIT_FBH5)
        return psr_fbh5_create(&o->hdf5, o->file, obs, err);
    if (o->format == PSR_EDIT_YOUR)
        return PSR_OK;
    return o->format == PSR_EDIT_DADA
               ? psr_dada_write_spectra(o->file, obs, err)
               : psr_sigproc_write(o->file, obs, PSR_SIGPROC_FILTERBANK, err);
}

static psr_status edit_output_write(struct psr_edit_output *o, const uint8_t *rows, size_t nrow,
                                    psr_err *err)
{
    return o->fits   ? psr_psrfits_append(o->fits, rows, nrow, err)
           : o->hdf5 ? psr_fbh5_append(o->hdf5, rows, nrow, err)
           : o->cutout
               ? psr_edit_cutout_add(o->cutout, (const float *)(const void *)rows, nrow, err)
               : psr_outfile_write(o->file, rows, nrow * o->row_bytes, err);
}

/* Removes what is not finished. */
static void edit_output_abort(struct psr_edit_output *o)
{
    psr_psrfits_destroy(o->fits);
    psr_fbh5_destroy(o->hdf5);
    psr_edit_cutout_destroy(o->cutout);
    if (!o->grouped)
        psr_outfile_abort(o->file);
    *o = (struct psr_edit_output){.file = NULL};
}

/* --- prepares and runs the parts -------------------------------------------------------------- */

/* Adds signals to spectra as they are read. */

/* Spectra of a stream whose end is not known: more than any has. */
static const int64_t endless = INT64_C(1) << 40;

static psr_status check_kinds(const psr_edit *p, const struct psr_fake_signal *signal, size_t n,
                              psr_err *err)
{
    for (size_t i = 0; i < n && p->count < 0; i++)
        if (signal[i].kind == PSR_FAKE_PULSAR)
            return psr_fail_field(err, PSR_EINVAL, "signals",
                                  "edit: the S/N of a pulsar is over all spectra: a stream needs "
                                  "an end");
    return PSR_OK;
}

/* Makes signals of what the description gives, for cut.
 * Status: those of the description's function and of psr_fake_create; PSR_EINVAL
 * Signals alone, as floats: samples may have any type. */
static psr_status edit_add_create(psr_edit *p, psr_err *err)
{
    const double observed_s = p->count < 0 ? -1 : (double)p->count * p->in.tsamp_s;
    struct psr_obs obs = p->cut; /* its table is borrowed */
    struct psr_fake_desc d = {.size = sizeof d,
                              .obs = &obs,
                              .seed = p->d.seed,
                              .dmconst = PSR_DMCONST_PRESTO,
                              .nthread = p->nthread};
    if (!p->d.signals)
        return PSR_OK;
    psr_status st = p->d.signals(p->d.signals_ctx, observed_s, &d.signal, &d.nsignal, err);
    if (!st)
        st = check_kinds(p, d.signal, d.nsignal, err);
    if (st || !d.nsignal)
        return st;
    obs.nif = 1;
    obs.nbit = 32;
    obs.kind = PSR_FLOAT;
    obs.nsamp = p->count < 0 ? endless : p->count;
    p->nsignal = d.nsignal;
    return psr_fake_create(&p->signals, &d, err);
}

/* Of a block: it stays in a core's cache between reading and writing, like the values that are made of it; values are
 * worth threads. */
enum { BLOCK_BYTES = 1 << 19, VALUES_BYTES = 1 << 17, THREADS_BYTES = 1 << 22 };

/* Spectra over which the scatter of channels is measured for signals, and what they may take. */
enum { SCATTER_SPECTRA = 4096, SCATTER_BYTES = 1 << 27 };

void psr_edit_set_defaults(struct psr_edit_desc *desc, size_t size)
{
    const struct psr_edit_desc all = {.order = PSR_EDIT_AS_IS, .tsum = 1, .fsum = 1};
    psr_give_desc(desc, size, &all, sizeof all);
}

/* --- preparing -------------------------------------------------------------------------------- */

static psr_status check_cutout(const struct psr_edit_desc *d, psr_err *err)
{
    if (!d->burst)
        return psr_fail_field(err, PSR_EINVAL, "burst", "edit: a cut-out needs a burst");
    if (d->tsum < 1)
        return psr_fail_field(err, PSR_EINVAL, "tsum", "edit: tsum %lld, must be 1 or more",
                              (long long)d->tsum);
    if (!d->start && !d->end && d->dm == 0 && d->nbits == 0)
        return PSR_OK;
    return psr_fail_field(err, PSR_EINVAL, "burst",
                          "edit: a cut-out around a burst excludes start, end, dm and nbits");
}

static psr_status check(const struct psr_edit_desc *d, psr_err *err)
{
    if (!d->source || d->source->npath < 1)
        return psr_fail_field(err, PSR_EINVAL, "source", "edit: no input");
    if (d->source->skip)
        return psr_fail_field(err, PSR_EINVAL, "source", "edit: skip %lld of the source, must be 0",
                              (long long)d->source->skip);
    if (!d->output)
        return psr_fail_field(err, PSR_EINVAL, "output", "edit: no output");
    if (d->nthread < 0 || d->nthread > 4096)
        return psr_fail_field(err, PSR_EINVAL, "nthread", "edit: nthread %lld, must be 0 to 4096",
                              (long long)d->nthread);
    if (d->clean_auto && d->mask)
        return psr_fail_field(err, PSR_EINVAL, "mask",
                              "edit: clean_auto finds what a mask would say: not with mask");
    if (!(d->clip_sigma >= 0) || !(d->dm >= 0))
        return psr_fail_field(err, PSR_EINVAL, d->dm >= 0 ? "clip_sigma" : "dm",
                              "edit: clip_sigma %g, dm %g, must be 0 or more", d->clip_sigma,
                              d->dm);
    if (d->low_mhz < 0 || d->high_mhz < d->low_mhz)
        return psr_fail_field(err, PSR_EINVAL, "band",
                              "edit: band %.10g:%.10g MHz, must be the lower one first", d->low_mhz,
                              d->high_mhz);
    return d->format == PSR_EDIT_YOUR ? check_cutout(d, err) : PSR_OK;
}

/* --- running ---------------------------------------------------------------------------------- */

static psr_status read_block(psr_edit *p, int64_t left, size_t *n, psr_err *err)
{
    const double since_s = psr_seconds();
    const size_t wanted = left >= 0 && left < (int64_t)p->block ? (size_t)left : p->block;
    if (p->d.should_stop && p->d.should_stop(p->d.ctx))
        return psr_fail(err, PSR_ESTOPPED, "stopped");
    psr_status st = psr_source_read(p->source, wanted, p->read, n, err);
    p->read_s += psr_seconds() - since_s;
    return st;
}

/* Spectra before the range, of an input that cannot seek. */
static psr_status discard(psr_edit *p, psr_err *err)
{
    psr_status st = PSR_OK;
    int64_t left = p->discard;
    while (!st && left > 0) {
        size_t n = 0;
        st = read_block(p, left, &n, err);
        if (!st && n == 0)
            st = psr_fail_field(err, PSR_EINVAL, "start",
                                "edit: start %s is spectrum %lld, the input has %lld", p->d.start,
                                (long long)p->start, (long long)(p->start - left));
        left -= (int64_t)n;
    }
    return st;
}

/* A range of a file is known in spectra only once it has been opened.  A stream's are read and forgotten. */
static psr_status open_at_start(psr_edit *p, psr_err *err)
{
    struct psr_source_desc again = *p->d.source;
    if (p->start == 0)
        return PSR_OK;
    if (p->in.nsamp < 0) {
        p->discard = p->start;
        return PSR_OK;
    }
    again.skip = p->start;
    again.notes.note = NULL;
    psr_source_close(p->source);
    p->source = NULL;
    return psr_source_open(&p->source, &again, err);
}

/* Whole blocks of cleaning: so no block brings one more with it. */
static psr_status reserve_clean(psr_edit *p, psr_err *err)
{
    const size_t block = psr_stage_clean_block(p->clean);
    p->block = (p->block + block - 1) / block * block;
    return psr_stage_clean_reserve(p->clean, p->block, err);
}

static psr_status make_room(psr_edit *p, psr_err *err)
{
    const struct psr_edit_channels *c = &p->channels;
    const size_t row_bytes = psr_source_block_bytes(p->source, 1),
                 out_bytes = psr_row_bytes(c->nchan, c->nbit);
    const size_t bytes = !p->values ? BLOCK_BYTES : p->nthread == 1 ? VALUES_BYTES : THREADS_BYTES;
    p->block = bytes / row_bytes + 1;
    if (p->signals) /* spectra whatever their bits are, for the same scatters */
        p->block = SCATTER_BYTES / row_bytes / SCATTER_SPECTRA ? SCATTER_SPECTRA
                                                               : SCATTER_BYTES / row_bytes + 1;
    psr_status st = p->clean ? reserve_clean(p, err) : PSR_OK;
    if (st)
        return st;
    p->read = malloc(p->block * row_bytes);
    if (!p->read)
        return psr_fail_nomem(err, "spectra", (double)p->block * (double)row_bytes);
    if (c->nchan == c->nchan_in && !c->reverse)
        return PSR_OK;
    p->selected = malloc(p->block * out_bytes);
    return p->selected ? PSR_OK
                       : psr_fail_nomem(err, "spectra", (double)p->block * (double)out_bytes);
}

static psr_status create_cutout(psr_edit *p, psr_err *err)
{
    const struct psr_edit_cutout_desc d = {.burst = p->d.burst,
                                           .source = p->d.source,
                                           .input = &p->in,
                                           .obs = &p->out,
                                           .tsum = p->d.tsum,
                                           .fsum = p->d.fsum,
                                           .first = p->start / p->d.tsum,
                                           .nthread = p->nthread};
    return psr_edit_cutout_create(&p->output.cutout, &d, err);
}

/* Pictures are made of floats, the highest frequency first. */
static psr_status choose_form(psr_edit *p, psr_err *err)
{
    struct psr_edit_desc *d = &p->d;
    if (d->format != PSR_EDIT_YOUR)
        return PSR_OK;
    psr_status st = psr_copy_desc(&p->burst, sizeof p->burst, d->burst, "burst", err);
    d->burst = &p->burst;
    d->nbits = 32;
    d->order = d->order == PSR_EDIT_AS_IS ? PSR_EDIT_DOWN : d->order;
    return st;
}

void psr_edit_destroy(psr_edit *p)
{
    if (!p)
        return;
    psr_source_close(p->source);
    psr_fake_destroy(p->signals);
    psr_stage_clean_destroy(p->clean);
    psr_edit_shift_destroy(p->shift);
    psr_edit_values_destroy(p->values);
    edit_output_abort(&p->output);
    psr_obs_clear(&p->in);
    psr_obs_clear(&p->cut);
    psr_obs_clear(&p->out);
    free(p->read);
    free(p->selected);
    free(p);
}

psr_status psr_edit_create(psr_edit **out, const struct psr_edit_desc *desc, psr_err *err)
{
    *out = NULL;
    psr_edit *p = calloc(1, sizeof *p);
    if (!p)
        return psr_fail_nomem(err, "edit", sizeof *p);
    psr_obs_init(&p->in);
    psr_obs_init(&p->cut);
    psr_obs_init(&p->out);
    psr_status st = psr_copy_desc(&p->d, sizeof p->d, desc, "edit", err);
    if (!st)
        p->nthread = psr_count_threads((int)p->d.nthread);
    if (!st)
        st = check(&p->d, err);
    if (!st)
        st = choose_form(p, err);
    if (!st) {
        /* Before an input is waited for, which may be the output. */
        struct psr_overwrite_check c = {0};
        for (size_t i = 0; i < p->d.source->npath && !st; i++)
            st = psr_overwrite_check_input(&c, p->d.source->path[i], err);
        if (!st)
            st = psr_overwrite_check_input(&c, p->d.mask, err);
        if (!st)
            st = psr_overwrite_check_output(&c, p->d.output, NULL, err);
        psr_overwrite_check_clear(&c);
    }
    if (!st) {
        p->input = psr_path_called(p->d.source->path[0]);
        st = psr_source_open(&p->source, p->d.source, err);
    }
    if (!st)
        st = psr_obs_copy(&p->in, psr_source_obs(p->source), err);
    if (!st)
        st = psr_edit_correct(p, err);
    if (!st)
        st = psr_edit_find_range(p, err);
    if (!st)
        st = psr_edit_lay_out(p, err);
    if (!st)
        st = edit_add_create(p, err);
    if (!st)
        st = open_at_start(p, err);
    if (!st)
        st = make_room(p, err);
    if (!st && p->d.format == PSR_EDIT_YOUR)
        st = create_cutout(p, err);
    if (!st)
        st = edit_output_create(&p->output, p->d.output, p->d.group, p->d.format, &p->out, err);
    if (st)
        psr_edit_destroy(p);
    else
        *out = p;
    return st;
}

/* Edits the block that was read; n = 0 ends the input.
 * Returned: *rows [*nrow] */
static psr_status edit_block(psr_edit *p, size_t n, const uint8_t **rows, size_t *nrow,
                             psr_err *err)
{
    psr_status st = PSR_OK;
    *rows = p->read;
    *nrow = n;
    if (p->signals && n)
        st = psr_fake_inject(p->signals, p->in.nbit, p->in.kind, p->nread, n, p->read, err);
    if (p->clean && !st)
        st = psr_edit_clean_run(p, rows, nrow, err);
    if (p->selected && !st) {
        psr_edit_channels_copy(&p->channels, p->selected, *rows, *nrow);
        *rows = p->selected;
    }
    if (p->shift && !st)
        st = psr_edit_shift_run(p->shift, *rows, *nrow, rows, nrow, err);
    if (p->values && !st && (*nrow || n == 0))
        st = psr_edit_values_run(p->values, *rows, *nrow, n == 0, rows, nrow, err);
    return st;
}

static psr_status write_block(psr_edit *p, size_t n, psr_err *err)
{
    const double began_s = psr_seconds();
    const uint8_t *rows;
    size_t nrow;
    psr_status st = edit_block(p, n, &rows, &nrow, err);
    const double edited_s = psr_seconds();
    if (!st && nrow && !p->scaled) {
        /* With the first rows it is known. */
        const float *scale = p->values ? psr_edit_values_scale(p->values) : NULL;
        /* Only PSRFITS says what samples stand for: sample scale + offset. */
        if (scale && p->output.fits)
            psr_psrfits_set_scales(p->output.fits, scale, psr_edit_values_offset(p->values));
        p->scaled = true;
    }
    if (!st && nrow)
        st = edit_output_write(&p->output, rows, nrow, err);
    p->edit_s += edited_s - began_s;
    p->write_s += psr_seconds() - edited_s;
    p->nwritten += st ? 0 : (int64_t)nrow;
    return st;
}

static psr_status fail_short(const psr_edit *p, psr_err *err)
{
    if (p->count < 0)
        return psr_fail_field(err, PSR_EINVAL, "start",
                              "edit: start %s is spectrum %lld, the input has no more",
                              p->d.start ? p->d.start : "0", (long long)p->start);
    return psr_fail_field(err, PSR_EINVAL, "end",
                          "edit: end %s is spectrum %lld, the input has %lld",
                          p->d.end ? p->d.end : "of the input", (long long)(p->start + p->count),
                          (long long)(p->start + p->nread));
}

/* A stream is known to be too short once it has ended. */
static psr_status fail_empty(const psr_edit *p, psr_err *err)
{
    const int64_t delay = p->shift ? psr_edit_shift_max(p->shift) : 0;
    if (delay >= p->nread)
        return psr_fail_field(err, PSR_EINVAL, "dm",
                              "edit: dm %g is a delay of %lld spectra, the range has %lld", p->d.dm,
                              (long long)delay, (long long)p->nread);
    return psr_fail_field(err, PSR_EINVAL, "tsum",
                          "edit: tsum %lld, must be at most the %lld spectra of the range",
                          (long long)p->d.tsum, (long long)(p->nread - delay));
}

psr_status psr_edit_run(psr_edit *p, psr_err *err)
{
    psr_status st = discard(p, err);
    size_t n = 1;
    while (!st && n > 0 && (p->count < 0 || p->nread < p->count)) {
        st = read_block(p, p->count < 0 ? -1 : p->count - p->nread, &n, err);
        if (!st && n > 0)
            st = write_block(p, n, err);
        p->nread += (int64_t)n;
        if (p->d.progress)
            p->d.progress(p->d.ctx, p->nread);
    }
    if (!st && (p->nread == 0 || p->nread < p->count))
        st = fail_short(p, err);
    if (!st)
        st = write_block(p, 0, err);
    if (!st && p->nwritten == 0)
        st = fail_empty(p, err);
    if (!st)
        p->out.nsamp = p->nwritten;
    return st;
}

psr_status psr_edit_finish(psr_edit *p, psr_err *err)
{
    struct psr_edit_output *o = &p->output;
    psr_status st = o->fits     ? psr_psrfits_finish(o->fits, err)
                    : o->hdf5   ? psr_fbh5_finish(o->hdf5, err)
                    : o->cutout ? psr_edit_cutout_write(o->cutout, o->file, err)
                                : PSR_OK;
    psr_outfile *file = o->file;
    if (st)
        return st;
    o->file = NULL;
    return o->grouped ? PSR_OK : psr_outfile_commit(file, err);
}

void psr_edit_describe_sized(const psr_edit *p, struct psr_edit_report *report, size_t size)
{
    const psr_edit_values *v = p->values;
    struct psr_edit_report all = {.size = sizeof all,
                                  .input = p->input,
                                  .in = &p->in,
                                  .out = &p->out,
                                  .start = p->start,
                                  .count = p->count,
                                  .first_chan = p->channels.first,
                                  .nchan = p->channels.nchan,
                                  .reversed = p->channels.reverse,
                                  .tsum = p->d.tsum,
                                  .format = p->output.format,
                                  .fsum = p->d.fsum,
                                  .nread = p->nread,
                                  .nwritten = p->nwritten,
                                  .signals = p->signals,
                                  .nsignal = p->nsignal,
                                  .read_s = p->read_s,
                                  .edit_s = p->edit_s,
                                  .write_s = p->write_s};
    if (p->shift) {
        all.dm = p->d.dm;
        all.max_delay = psr_edit_shift_max(p->shift);
    }
    if (v) {
        all.ndropped_chan = p->channels.nchan % (size_t)p->d.fsum;
        all.ndropped = psr_edit_values_left(v);
        all.rule = psr_edit_values_rule(v);
        psr_edit_values_levels(v, &all.level_mean, &all.level_scatter);
    }
    psr_give_desc(report, size, &all, sizeof all);
}

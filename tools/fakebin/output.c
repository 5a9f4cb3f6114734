/* Writes fakebin's samples in the requested format. */
#include "fakebin.h"

#include "base/portable.h"

#include <psrkit/experimental/source.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Spectra in a row of PSRFITS; digits of the DM in a series' name. */
enum { NSBLK = 1024, DM_DECIMALS = 2 };

static struct psr_series_desc describe_series(const struct fakebin_job *j)
{
    return (struct psr_series_desc){
        .size = sizeof(struct psr_series_desc),
        .root = j->series_root,
        .format = PSR_SERIES_DAT,
        .dm_decimals = DM_DECIMALS,
        .ndm = 1,
        .dm = &j->opt.dm,
        .obs = &j->obs,
        .file_nbit = j->obs.nbit,
        .tsamp_s = j->obs.tsamp_s,
        .group = j->group,
    };
}

psr_status fakebin_create_group(struct fakebin_job *j, double bytes)
{
    const struct fakebin_options *o = &j->opt;
    const struct psr_series_desc series = describe_series(j);
    struct psr_output_group_desc claim = {
        .size = sizeof claim, .root = o->output ? o->output : "-", .kind = "file", .common = true};
    if (o->dat)
        claim = psr_series_claim(&series);
    claim.common |= o->truth != NULL;
    if (!o->quiet)
        claim.notes = (struct psr_notes){cli_note, &j->tool};
    psr_status st = psr_output_group_create(&j->group, &claim, &j->err);
    return st ? st : psr_output_group_check_room(j->group, bytes, &j->err);
}

static psr_status open_series(struct fakebin_job *j)
{
    const struct psr_series_desc d = describe_series(j);
    return psr_series_create(&j->series, &d, &j->err);
}

static psr_status check_output(void *ctx, const char *name, psr_err *err)
{
    return psr_overwrite_check_output(ctx, name, NULL, err);
}

static psr_status check_outputs(struct fakebin_job *j, struct psr_overwrite_check *c)
{
    const struct fakebin_options *o = &j->opt;
    const struct psr_series_desc series = describe_series(j);
    psr_status st = o->udp   ? PSR_OK
                    : o->dat ? psr_series_names(&series, check_output, c, &j->err)
                             : check_output(c, o->output ? o->output : "-", &j->err);
    return st ? st : check_output(c, o->truth, &j->err);
}

/* The name of a series is a root: x.dat means x_DM0.00.dat, not x.dat_DM0.00.dat. */
static psr_status name_series(struct fakebin_job *j)
{
    static const char suffix[] = ".dat";
    const char *name = j->opt.dat ? j->opt.output : NULL;
    const size_t n = name ? strlen(name) : 0, end = strlen(suffix);
    if (!name)
        return PSR_OK;
    const bool has = n > end && name[n - end - 1] != '/' && !strcmp(name + n - end, suffix);
    j->series_root = strndup(name, has ? n - end : n);
    return j->series_root ? PSR_OK : psr_fail_nomem(&j->err, name, (double)n);
}

psr_status fakebin_check_names(struct fakebin_job *j)
{
    const struct fakebin_options *o = &j->opt;
    struct psr_overwrite_check *c = &j->signals.files;
    psr_status st = name_series(j);
    if (!st)
        st = psr_overwrite_check_input(c, o->bandpass, &j->err);
    if (!st)
        st = psr_overwrite_check_input(c, o->array, &j->err);
    for (size_t i = 0; i < o->addfile.n && !st; i++)
        st = psr_overwrite_check_input(c, o->addfile.text[i], &j->err);
    return st ? st : check_outputs(j, c);
}

static psr_status open_samples(struct fakebin_job *j)
{
    const struct fakebin_options *o = &j->opt;
    psr_status st = psr_output_group_add(j->group, o->output ? o->output : "-", &j->out, &j->err);
    if (st)
        return st;
    if (o->psrfits)
        return psr_psrfits_create(&j->fits, j->out, &j->obs, NSBLK, &j->err);
    if (o->headerless)
        return PSR_OK;
    int type = j->obs.nchan == 1 ? PSR_SIGPROC_SERIES : PSR_SIGPROC_FILTERBANK;
    if (o->swapout)
        return psr_sigproc_write_swapped(j->out, &j->obs, type, &j->err);
    return type == PSR_SIGPROC_SERIES
               ? psr_sigproc_write(j->out, &j->obs, type, &j->err)
               : psr_spectra_write_header(j->out, o->output ? o->output : "-", &j->obs, &j->err);
}

static psr_status open_sender(struct fakebin_job *j)
{
    const struct fakebin_options *o = &j->opt;
    char to[256];
    snprintf(to, sizeof to, "udp://%s", o->udp);
    return psr_udp_sender_create(
        &j->sender,
        &(struct psr_udp_sender_desc){.size = sizeof(struct psr_udp_sender_desc),
                                      .to = to,
                                      .obs = &j->obs,
                                      .rate = o->rate,
                                      .loss = o->loss,
                                      .twice = o->twice,
                                      .reorder = o->reorder,
                                      .seed = (uint64_t)o->seed},
        &j->err);
}

psr_status fakebin_output_open(struct fakebin_job *j)
{
    const double bytes = (double)j->obs.nsamp * (double)psr_fake_row_bytes(j->plan);
    psr_status st = fakebin_create_group(j, j->opt.udp ? 0 : bytes);
    if (!st)
        st = j->opt.udp ? open_sender(j) : j->opt.dat ? open_series(j) : open_samples(j);
    if (!st && j->opt.truth)
        st = psr_output_group_add(j->group, j->opt.truth, &j->truth, &j->err);
    return st;
}

psr_status fakebin_output_write(struct fakebin_job *j, void *block, size_t nsamp)
{
    size_t bytes = nsamp * psr_fake_row_bytes(j->plan);
    if (j->sender)
        return psr_udp_sender_append(j->sender, block, nsamp, &j->err);
    if (j->series)
        return psr_series_append(j->series, 0, block, nsamp, &j->err);
    if (j->fits)
        return psr_psrfits_append(j->fits, block, nsamp, &j->err);
    if (j->opt.swapout) {
        /* Reverses the bytes of each sample of 16 or 32 bits. */
        const int nbit = j->obs.nbit;
        if (nbit == 16)
            for (uint16_t *x = block, *end = x + bytes / 2; x < end; x++)
                *x = bswap_16(*x);
        else if (nbit == 32)
            for (uint32_t *x = block, *end = x + bytes / 4; x < end; x++)
                *x = bswap_32(*x);
    }
    return psr_outfile_write(j->out, block, bytes, &j->err);
}

psr_status fakebin_output_close(struct fakebin_job *j)
{
    psr_status st = PSR_OK;
    psr_series *series = j->series;
    j->series = NULL;
    if (series)
        st = psr_series_finish(series, -1, &j->err);
    if (j->fits)
        st = psr_psrfits_finish(j->fits, &j->err);
    if (j->sender) {
        int64_t lost;
        st = psr_udp_sender_finish(j->sender, &j->err);
        const int64_t n = psr_udp_sender_count(j->sender, &lost);
        if (!st && j->opt.verbose)
            fprintf(stderr, "%s: %lld datagrams, %lld of them not sent\n", j->tool.name,
                    (long long)n, (long long)lost);
    }
    if (st)
        return st;
    psr_output_group *group = j->group;
    j->group = NULL;
    return psr_output_group_commit(group, &j->err);
}

psr_status fakebin_write_truth(struct fakebin_job *j)
{
    psr_outfile *f = j->truth;
    struct psr_fake_truth t;
    psr_status st = signals_truth_begin(f, j->command, j->opt.seed, &j->obs, &j->err);
    for (size_t i = 0; i < j->signals.n && !j->opt.evenodd && !st; i++) {
        st = psr_fake_report(j->plan, i, &t, &j->err);
        if (!st)
            st = signals_truth_row(f, j->signals.signal[i].kind, &t, &j->err);
    }
    return st ? st : fakebin_rfi_truth(j->plan, j->rfi, j->opt.rfi.n, f, &j->err);
}

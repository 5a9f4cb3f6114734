/* Reports a run of gpudedisp: the plan, timings, the plot. */
#include "gpudedisp.h"

#include "tools/common/plot/pulseplot.h"
#include <stdio.h>
#include <sys/resource.h>

void gpudedisp_print_plan(const struct cli *tool, psr_pipeline *p)
{
    struct psr_pipeline_report r;
    psr_pipeline_describe(p, &r);
    const struct psr_obs *obs = r.obs;
    char name[512];
    fprintf(stderr, "%s: %zu channels, %g to %g MHz, %d bits, %g s; %lld spectra\n",
            cli_printable(name, sizeof name, r.input), obs->nchan, psr_obs_lowest_mhz(obs),
            psr_obs_highest_mhz(obs), obs->nbit, obs->tsamp_s, (long long)obs->nsamp);
    for (size_t k = 0; k < r.nline; k++) {
        const struct psr_pipeline_line *l = r.line[k];
        fprintf(stderr,
                "%s: %zu trials, DM %g to %g, downsampled by %lld; largest shift %zu samples; %.2f "
                "times fewer adds by sharing; backend %s, %d threads, %.0f MB\n",
                tool->name, l->ndm, r.dm[l->first], r.dm[l->first + l->ndm - 1],
                (long long)l->downsamp, l->maxshift, l->plan->adds_direct / l->plan->adds_planned,
                l->plan->backend, r.nthread, (double)l->plan->bytes / 1e6);
        if (l->plan->difference > 0)
            fprintf(stderr, "%s: delays differ from exact ones by %.2f samples at most\n",
                    tool->name, l->plan->difference);
    }
    if (r.npart)
        fprintf(
            stderr,
            "%s: %zu parts of the band: %zu series beside %zu, and so %.2f times as many events of "
            "noise\n",
            tool->name, r.npart, r.npart_series, r.ndm, 1 + (double)r.npart_series / (double)r.ndm);
}

static void account_fourier(const struct cli *tool, const struct psr_fourier_found *found)
{
    if (!found)
        return;
    fprintf(
        stderr,
        "%s: %zu series searched for pulsars, %zu candidates; kept %.0f MB on devices, %.0f MB in "
        "memory, %.0f MB in a scratch file; load %.3f s, search %.3f s, measure and write %.3f s\n",
        tool->name, found->nsearched, found->ncand, (double)found->device_bytes / 1e6,
        (double)found->memory_bytes / 1e6, (double)found->scratch_bytes / 1e6, found->load_s,
        found->search_s, found->write_s);
}

static void account_ffa(const struct cli *tool, const struct psr_ffa_series_found *found)
{
    if (found)
        fprintf(
            stderr,
            "%s: %zu series searched for slow pulsars, %zu candidates; kept %.0f MB on devices, "
            "%.0f MB in memory, %.0f MB in a scratch file; load %.3f s, search %.3f s\n",
            tool->name, found->nsearched, found->ncand, (double)found->device_bytes / 1e6,
            (double)found->memory_bytes / 1e6, (double)found->scratch_bytes / 1e6, found->load_s,
            found->search_s);
}

void gpudedisp_print_account(const struct cli *tool, psr_pipeline *p, int dm_decimals)
{
    const struct psr_checksums *sums = psr_pipeline_result(p, "checksums");
    const struct psr_pulses_found *found = psr_pipeline_result(p, "pulses");
    struct psr_pipeline_report r;
    struct rusage used;
    psr_pipeline_describe(p, &r);
    for (size_t k = 0; k < r.nline; k++) {
        const struct psr_pipeline_line *l = r.line[k];
        for (size_t i = l->first; sums && i < l->first + l->ndm; i++)
            fprintf(stderr, "%s: DM %.*f: %lld samples, CRC-32 %08lx\n", tool->name, dm_decimals,
                    r.dm[i], (long long)sums->count[i], sums->crc[i]);
        if (l->moved)
            fprintf(stderr, "%s: barycentring added %lld and removed %lld bins of each series\n",
                    tool->name, (long long)l->added, (long long)l->removed);
        if (l->nleast == l->nout)
            fprintf(stderr, "%s: %lld samples out of each of %zu trials\n", tool->name,
                    (long long)l->nout, l->ndm);
        else
            fprintf(stderr, "%s: %lld to %lld samples out of each of %zu trials\n", tool->name,
                    (long long)l->nleast, (long long)l->nout, l->ndm);
    }
    for (size_t k = 0; k < r.nline; k++) {
        /* Devices work while the host reads and waits, so their times are part of the run's. */
        const struct psr_pipeline_line *l = r.line[k];
        const double search_s = found ? found->device_s[k] : 0;
        const struct psr_dedisp_info *plan = l->plan;
        if (plan && plan->ndevice) {
            fprintf(stderr, "%s: %zu device%s: copy in %.3f s, turn %.3f s, dedisperse %.3f s,",
                    tool->name, plan->ndevice, plan->ndevice > 1 ? "s" : "", plan->copy_in_s,
                    plan->cornerturn_s, plan->sum_s);
            if (l->resident)
                fprintf(stderr, " search %.3f s\n", search_s);
            else
                fprintf(stderr, " copy out %.3f s\n", plan->copy_out_s);
        }
    }
    if (r.cleaned)
        fprintf(stderr, "%s: %lld spectra clipped\n", tool->name, (long long)r.clipped);
    account_fourier(tool, psr_pipeline_result(p, "fourier"));
    account_ffa(tool, psr_pipeline_result(p, "ffa"));
    getrusage(RUSAGE_SELF, &used);
    fprintf(stderr,
            "%s: %lld spectra in; setup %.3f s, run %.3f s: read %.3f s, clean %.3f s, dedisperse "
            "%.3f s, write %.3f s, search %.3f s, peak %ld MB\n",
            tool->name, (long long)r.nread, r.setup_s, r.run_s, r.read_s, r.clean_s, r.dedisperse_s,
            r.write_s, r.search_s, used.ru_maxrss / 1000);
}

void gpudedisp_note_left_out(struct cli *tool, psr_pipeline *p)
{
    const struct psr_fourier_found *found = psr_pipeline_result(p, "fourier");
    const struct psr_notes notes = {cli_note, tool};
    if (found && found->nleft_out > 0)
        psr_note(&notes,
                 "%zu more candidates are left out of %zu lists: -maxcands (is there interference "
                 "to -zaplist, or -rednoise to take out?)",
                 found->nleft_out, found->nsearched);
}

psr_status gpudedisp_draw(psr_pipeline *p, struct plotfile *f, psr_err *err)
{
    const struct psr_pulses_found *found = psr_pipeline_result(p, "pulses");
    struct psr_pipeline_report r;
    psr_pipeline_describe(p, &r);
    return pulseplot_draw(f,
                          &(struct pulseplot){.title = r.input,
                                              .events = found->event,
                                              .nevents = found->nevent,
                                              .best = found->ncluster ? found->cluster : NULL,
                                              .dm = r.dm,
                                              .ndm = r.ndm,
                                              .scale = found->scale,
                                              .tsamp_s = found->tsamp_s,
                                              .end_s = found->end_s},
                          err);
}

void gpudedisp_print_velocity(psr_pipeline *p)
{
    struct psr_pipeline_report r;
    psr_pipeline_describe(p, &r);
    if (r.voverc != 0)
        printf("   Average topocentric velocity (c) = %.7g\n", r.voverc);
}

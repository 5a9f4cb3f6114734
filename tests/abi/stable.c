/* Uses what the stable headers describe, as a program of any version does, in the current folder. */
#include "boxed.h"

#include <psrkit/psrkit.h>

enum { NCHAN = 64, NSAMP = 8192 };

static psr_err err;

static struct psr_obs make_obs(void)
{
    struct psr_obs obs;
    psr_obs_init(&obs);
    obs.nchan = NCHAN, obs.nif = 1, obs.nbit = 8, obs.kind = PSR_UINT;
    obs.fch1_mhz = 1500, obs.foff_mhz = -4, obs.tsamp_s = 256e-6, obs.nsamp = NSAMP;
    obs.tstart.day = 60000;
    return obs;
}

static unsigned char *make_spectra(const struct psr_obs *obs)
{
    const struct psr_fake_signal burst = {.kind = PSR_FAKE_BURST,
                                          .shape = PSR_FAKE_GAUSSIAN,
                                          .dm = 20,
                                          .width_s = 2e-3,
                                          .snr = 50,
                                          .t_s = 0.5};
    BOXED(struct psr_fake_desc, d);
    memset(&d.x, 0, sizeof d.x);
    d.x.size = sizeof d.x;
    d.x.obs = obs, d.x.seed = 7, d.x.dmconst = PSR_DMCONST_PRESTO, d.x.noise_sigma = 1;
    d.x.nsignal = 1, d.x.signal = &burst;
    psr_fake *fake;
    CHECK(psr_fake_create(&fake, &d.x, &err));
    unsigned char *x = malloc((size_t)NCHAN * NSAMP);
    CHECK(psr_fake_execute(fake, 0, NSAMP, x, &err));
    BOXED(struct psr_fake_truth, truth);
    CHECK(psr_fake_report(fake, 0, &truth.x, &err));
    CHECK_BEHIND(d);
    CHECK_BEHIND(truth);
    printf("burst: DM %g, S/N %.3f\n", truth.x.dm, truth.x.snr_single);
    psr_fake_destroy(fake);
    return x;
}

static void run_pipeline(const struct psr_obs *obs, const unsigned char *spectra)
{
    BOXED(struct psr_pipeline_desc, d);
    BOXED(struct psr_sink_pulses_desc, pulses);
    BOXED(struct psr_pipeline_report, report);
    psr_pipeline_defaults(&d.x);
    CHECK_BEHIND(d);
    d.x.obs = obs, d.x.ndm = 3, d.x.dmstep = 10, d.x.nobary = true;
    psr_sink_pulses_defaults(&pulses.x);
    CHECK_BEHIND(pulses);
    d.x.root = "abi", d.x.files = PSR_FILES_DAT, d.x.checksums = true, d.x.pulses = &pulses.x;
    d.x.device = "cpu", d.x.nthread = 2;
    psr_pipeline *p;
    CHECK(psr_pipeline_create(&p, &d.x, &err));
    CHECK(psr_pipeline_execute(p, spectra, NSAMP, &err));
    CHECK(psr_pipeline_finish(p, &err));
    psr_pipeline_describe(p, &report.x);
    CHECK_BEHIND(d);
    CHECK_BEHIND(report);
    printf("pipeline: %zu trials in %zu lines, %lld spectra, shift %zu\n", report.x.ndm,
           report.x.nline, (long long)report.x.nread, report.x.line[0]->maxshift);
    const struct psr_checksums *sum = psr_pipeline_result(p, "checksums");
    const struct psr_pulses_found *found = psr_pipeline_result(p, "pulses");
    for (size_t i = 0; i < sum->n; i++)
        printf("checksum %08lx of %lld\n", sum->crc[i], (long long)sum->count[i]);
    printf("best pulse: trial %zu, S/N %.2f\n", found->cluster[0].best.trial,
           found->cluster[0].best.snr);
    psr_pipeline_destroy(p);
}

static void read_series(void)
{
    BOXED(struct psr_inf, inf);
    BOXED(struct psr_spectrum_file, file);
    float *x;
    int64_t n;
    CHECK(psr_dat_read("abi_DM20.00.dat", &x, &n, &inf.x, &err));
    CHECK(psr_spectrum_describe(&file.x, "abi_DM20.00.dat", &err));
    CHECK_BEHIND(inf);
    CHECK_BEHIND(file);
    printf("series: %lld samples at DM %g, %lld bins\n", (long long)n, inf.x.dm,
           (long long)file.x.nbin);
    free(x);
}

static void make_plan(void)
{
    BOXED(struct psr_ddplan_desc, d);
    BOXED(struct psr_ddplan, plan);
    memset(&d.x, 0, sizeof d.x);
    d.x.band = (struct psr_band){.tsamp_s = 64e-6, .fctr_mhz = 1400, .bw_mhz = 300, .nchan = 1024};
    d.x.size = sizeof d.x, d.x.hidm = 500, d.x.nproc = 1, d.x.blocklen = 1024;
    CHECK(psr_ddplan_make(&plan.x, &d.x, &err));
    CHECK_BEHIND(d);
    CHECK_BEHIND(plan);
    printf("plan: %d lines, %lld trials, smearing %.4f ms\n", plan.x.nline,
           (long long)psr_ddplan_ndm(&plan.x), psr_ddplan_smearing(&plan.x, 0, 10).total);
}

static void read_ephemeris(void)
{
    BOXED(struct psr_ephemeris, e);
    BOXED(struct psr_ephemeris_local, local);
    FILE *f = fopen("abi.par", "w");
    fputs(
        "PSRJ J1234-5600\nF0 10 1\nF1 -1e-14\nPEPOCH 59000\nDM 30\nRAJ 12:34:00\nDECJ -56:00:00\n",
        f);
    fclose(f);
    CHECK(psr_ephemeris_read(&e.x, "abi.par", &err));
    CHECK(psr_ephemeris_at(&local.x, &e.x, 60000, &err));
    CHECK_BEHIND(e);
    CHECK_BEHIND(local);
    printf("ephemeris: %s, %.9f Hz\n", e.x.name, local.x.f[0]);
}

int main(void)
{
    struct psr_obs obs = make_obs();
    unsigned char *spectra = make_spectra(&obs);
    run_pipeline(&obs, spectra);
    read_series();
    make_plan();
    read_ephemeris();
    free(spectra);
    psr_obs_clear(&obs);
    return 0;
}

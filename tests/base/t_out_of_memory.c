/* out_of_memory: each allocation of the library fails once.  The call says so, and nothing that it took
 * remains: neither memory nor descriptors. */
#include <psrkit/experimental.h>
#include <psrkit/psrkit.h>

#include "search/pulscan/pulscan_internal.h"
#include "search/singlepulse/singlepulse_internal.h"
#include "tests/support/failing_heap.h"

/* --- input ------------------------------------------------------------------------------------ */

enum { NBIN = 2000, NCHAN = 16, NSAMP = 2500, NTRIAL = 4, NBEAM = 16, NTHREAD = 1 };

/* A spectrum with lines, spectra with a dispersed pulse, and the same in files. */
static float spectrum[2 * NBIN];
static uint8_t spectra[NSAMP][NCHAN];
static struct psr_obs obs;
static double freq_mhz[NCHAN];
static const double dms[NTRIAL] = {0, 5, 10, 20};
static char root[PATH_MAX], plan_path[PATH_MAX], fits_path[PATH_MAX], fil_path[PATH_MAX],
    dada_path[PATH_MAX], array_path[PATH_MAX], list_path[2][PATH_MAX];

static void bail(psr_status st, const psr_err *err)
{
    if (st) {
        printf("Bail out! %s\n", err->msg);
        exit(EXIT_FAILURE);
    }
}

static void make_spectra(uint64_t *seed)
{
    psr_obs_init(&obs);
    obs.nchan = NCHAN;
    obs.nif = 1;
    obs.nbit = 8;
    obs.kind = PSR_UINT;
    obs.tsamp_s = 1e-3;
    obs.fch1_mhz = 1400;
    obs.foff_mhz = -5;
    obs.tstart.day = 56000;
    for (int t = 0; t < NSAMP; t++)
        for (int c = 0; c < NCHAN; c++)
            spectra[t][c] = (uint8_t)(tap_random(seed) % 64 + 60 + (t % 500 == 0 ? 100 : 0));
    for (size_t c = 0; c < NCHAN; c++)
        freq_mhz[c] = psr_obs_freq_mhz(&obs, c);
    for (int k = 0; k < 2 * NBIN; k++)
        spectrum[k] = (float)tap_normal(seed);
    for (int h = 1; h <= 4; h++)
        spectrum[2 * 400 * h] = 12;
}

static void make_files(uint64_t *seed)
{
    struct made m = {.nsamp = NSAMP,
                     .desc = {.nchan = NCHAN,
                              .nif = 1,
                              .nbit = 8,
                              .fch1 = 1400,
                              .foff = -5,
                              .tstart = 56000,
                              .tsamp = 1e-3}};
    make_file(seed, &m);
    snprintf(fil_path, sizeof fil_path, "%s", scratch("in.fil"));
    snprintf(dada_path, sizeof dada_path, "%s", scratch("in.dada"));
    snprintf(array_path, sizeof array_path, "%s", scratch("in.array"));
    snprintf(plan_path, sizeof plan_path, "%s", scratch("in.plan"));
    snprintf(fits_path, sizeof fits_path, "%s", scratch("out.fits"));
    snprintf(root, sizeof root, "%s", scratch("out"));
    scratch_write_text(plan_path, "# lodm dmstep ndm downsamp\n0 1 3 1\n3 2 2 2\n");
    scratch_write(fil_path, m.file.b, m.file.n);
    free_made(&m);
    scratch_write_text(array_path, "grid 2 2\nspacing 8 6\ndish 0 0 0\ndish 1 0 1\ndish 2 1 1\n");
    for (int i = 0; i < 2; i++) {
        snprintf(list_path[i], PATH_MAX, "%s", scratch(i ? "l_DM11_ACCEL_0" : "l_DM10_ACCEL_0"));
        scratch_write_text(list_path[i], "1 9 99 99 2 1(1) 1(1) 30997.75(5) 0(1) 4.0(2) 0(1)\n"
                                         "2 9 99 99 1 1(1) 1(1) 120.5(5) 0(1) 4.0(2) 0(1)\n"
                                         " 1 1 9 50(9) 1\n   2 9 49(9) 1\n 2 1 9 99(9) 1\n"
                                         " Data file name without suffix = l\n"
                                         " Number of bins in the time series = 262144\n"
                                         " Width of each time series bin (sec) = 0.000512\n");
    }
    struct psr_dada h = {.nchan = 4,
                         .nant = 3,
                         .freq_mhz = 500,
                         .bw_mhz = -40,
                         .tsamp_us = 100,
                         .phase_sign = -1,
                         .header_bytes = 4096};
    psr_outfile *f = NULL;
    psr_err err = {0};
    bail(psr_outfile_create(&f, dada_path, &err), &err);
    bail(psr_dada_write(f, &h, &err), &err);
    bail(psr_outfile_write(f, spectra, 200 * psr_dada_sample_bytes(&h), &err), &err);
    bail(psr_outfile_commit(f, &err), &err);
}

/* --- uses ------------------------------------------------------------------------------------- */

static psr_status search_matched(struct psr_accelsearch_desc d, psr_err *err)
{
    const struct psr_span zap = {100, 3};
    static float whitened[2 * NBIN];
    const struct psr_accelsearch_input in = {.x = spectrum, .spectrum = whitened};
    struct psr_accelsearch_result result;
    psr_accelsearch *p = NULL;
    d.size = sizeof d;
    d.nbin = NBIN;
    d.zmax = 20;
    d.numharm = 4;
    d.sigma = 1;
    d.nthread = NTHREAD;
    d.backend = "cpu";
    d.zap = &zap;
    d.nzap = d.compat ? 0 : 1;
    psr_status st = psr_accelsearch_create(&p, &d, err);
    if (!st)
        st = psr_accelsearch_execute(p, &in, &result, err);
    psr_accelsearch_destroy(p);
    return st;
}

static psr_status use_matched(psr_err *err)
{
    return search_matched((struct psr_accelsearch_desc){.wmax = 20}, err);
}

static psr_status use_matched_series(psr_err *err)
{
    return search_matched(
        (struct psr_accelsearch_desc){.series = true, .redden = {6, 200, NBIN, false, false}}, err);
}

static psr_status use_compatible(psr_err *err)
{
    return search_matched((struct psr_accelsearch_desc){.compat = true}, err);
}

static psr_status use_plane(psr_err *err)
{
    return search_matched((struct psr_accelsearch_desc){.compat = true, .compat_inmem = true}, err);
}

static psr_status search_boxes(struct psr_pulscan_desc d, psr_err *err)
{
    static const int sums[] = {1, 2, 3, 4};
    const float *in = spectrum;
    struct psr_pulscan_result result;
    struct psr_pulscan_merge_desc m = {.size = sizeof m};
    struct psr_pulscan_cand *cand = NULL;
    psr_pulscan *p = NULL;
    size_t ncand = 0, left;
    d.size = sizeof d;
    d.nbin = NBIN;
    d.nharm = sums;
    d.nnharm = 4;
    d.zmax = 20;
    d.sigma = 2;
    d.nthread = NTHREAD;
    d.backend = "cpu";
    psr_status st = psr_pulscan_create(&p, &d, err);
    if (!st)
        st = psr_pulscan_execute(p, 1, &in, &result, err);
    m.plan = p;
    if (!st)
        st = psr_pulscan_merge(result.hit, result.nhit, &m, &cand, &ncand, &left, err);
    free(cand);
    psr_pulscan_destroy(p);
    return st;
}

static psr_status use_boxes(psr_err *err)
{
    return search_boxes((struct psr_pulscan_desc){.zstep = 1}, err);
}

static psr_status use_box_series(psr_err *err)
{
    const struct psr_redden redden = {6, 100, 1000, false, false};
    return search_boxes((struct psr_pulscan_desc){.series = true, .redden = redden}, err);
}

static psr_status dedisperse(struct psr_dedisp_desc d, psr_err *err)
{
    psr_dedisp *p = NULL;
    size_t n = 0;
    d.size = sizeof d;
    d.nchan = NCHAN;
    d.freq_mhz = freq_mhz;
    d.tsamp_s = obs.tsamp_s;
    d.nbit = 8;
    d.downsamp = 1;
    d.dmconst = PSR_DMCONST_PRESTO;
    d.ndm = NTRIAL;
    d.dm = dms;
    d.nthread = NTHREAD;
    d.backend = "cpu";
    float *out = malloc(NTRIAL * NSAMP * sizeof *out);
    psr_status st = out ? psr_dedisp_create(&p, &d, err) : psr_fail(err, PSR_ENOMEM, "no memory");
    if (!st)
        st = psr_dedisp_execute(p, spectra, NSAMP, out, NSAMP, &n, err);
    psr_dedisp_destroy(p);
    free(out);
    return st;
}

static psr_status use_dedispersion(psr_err *err)
{
    return dedisperse((struct psr_dedisp_desc){.algo = PSR_DEDISP_DIRECT}, err);
}

static psr_status use_subbands(psr_err *err)
{
    return dedisperse((struct psr_dedisp_desc){.algo = PSR_DEDISP_SUBBAND, .nsub = 4}, err);
}

static psr_status use_pulses(psr_err *err)
{
    const struct psr_singlepulse_desc d = {.size = sizeof d,
                                           .nseries = 1,
                                           .dm = dms,
                                           .tsamp_s = 1e-3,
                                           .threshold = 3,
                                           .nthread = NTHREAD};
    psr_singlepulse *p = NULL;
    struct psr_cluster *clusters = NULL;
    size_t n = 0, nclusters = 0;
    const struct psr_event *events = NULL;
    psr_status st = psr_singlepulse_create(&p, &d, err);
    if (!st)
        st = psr_singlepulse_mask(p, (struct psr_span){1000, 50}, err);
    for (int k = 0; k < 4 && !st; k++)
        st = psr_singlepulse_execute(p, spectrum, 2 * NBIN, 2 * NBIN, err);
    if (!st)
        st = psr_singlepulse_finish(p, err);
    if (!st)
        n = psr_singlepulse_events(p, 0, &events);
    const struct psr_cluster_desc cd = {.size = sizeof cd, .time_tol = 3, .trial_tol = 3};
    if (!st)
        st = psr_cluster_events(&cd, events, n, &clusters, &nclusters, err);
    const size_t sweep[] = {5};
    const struct psr_marks_desc md = {.size = sizeof md,
                                      .event = events,
                                      .nevent = n,
                                      .sweep = sweep,
                                      .low_mhz = 1200,
                                      .high_mhz = 1500};
    if (!st)
        st = psr_cluster_mark(&md, clusters, nclusters, err);
    free(clusters);
    psr_singlepulse_destroy(p);
    return st;
}

static psr_status use_cleaning(psr_err *err)
{
    const struct psr_clean_desc d = {.size = sizeof d,
                                     .nchan = NCHAN,
                                     .nbit = 8,
                                     .kind = PSR_UINT,
                                     .tsamp_s = 1e-3,
                                     .clip_sigma = 3,
                                     .nthread = NTHREAD};
    psr_clean *p = NULL;
    size_t n = 0;
    uint8_t *out = malloc((NSAMP + PSR_CLEAN_BLOCK) * NCHAN);
    psr_status st = out ? psr_clean_create(&p, &d, err) : psr_fail(err, PSR_ENOMEM, "no memory");
    if (!st)
        st = psr_clean_execute(p, spectra, NSAMP, out, &n, err);
    if (!st)
        st = psr_clean_finish(p, out, &n, err);
    psr_clean_destroy(p);
    free(out);
    return st;
}

static psr_status use_fold(psr_err *err)
{
    const double time_s[] = {0, 1, 2}, delay_s[] = {0, 1e-4, 3e-4};
    const struct psr_fold_candidate cand[] = {
        {.f = 10, .nbin = 16, .dm = 10},
        {.f = 3, .nbin = 20, .time_s = time_s, .delay_s = delay_s, .ndelay = 3}};
    const struct psr_fold_desc d = {.size = sizeof d,
                                    .nchan = NCHAN,
                                    .nbit = 8,
                                    .kind = PSR_UINT,
                                    .lofreq_mhz = 1325,
                                    .width_mhz = 5,
                                    .tsamp_s = 1e-3,
                                    .nsub = 4,
                                    .block = 100,
                                    .npart = 5,
                                    .part_blocks = 5,
                                    .cand = cand,
                                    .ncand = 2,
                                    .nthread = NTHREAD};
    psr_fold *p = NULL;
    psr_status st = psr_fold_create(&p, &d, err);
    if (!st)
        st = psr_fold_execute(p, spectra, NSAMP, NULL, 0, err);
    if (!st)
        st = psr_fold_finish(p, err);
    psr_fold_destroy(p);
    return st;
}

static psr_status take_fold(void *ctx, size_t i, const struct psr_folder_fold *fold, psr_err *err)
{
    (void)ctx, (void)i, (void)fold, (void)err;
    return PSR_OK;
}

static void count_passes(void *ctx, const char *msg)
{
    *(int *)ctx += !strncmp(msg, "pass ", 5);
}

/* In more than one pass over the input, as the memory does not hold all candidates. */
static psr_status use_folder(psr_err *err)
{
    enum { NCAND = 14 };
    const char *const path[] = {fil_path};
    struct psr_folder_candidate cand[NCAND];
    int npass = 0;
    struct psr_folder_desc d;
    psr_folder *p = NULL;
    for (int k = 0; k < NCAND; k++)
        cand[k] = (struct psr_folder_candidate){.name = "a", .f = 1, .dm = k, .nbin = 256};
    psr_folder_defaults(&d);
    d.path = path;
    d.npath = 1;
    d.topo = true;
    d.npart = 4;
    d.nsub = 4;
    d.cand = cand;
    d.ncand = NCAND;
    d.nthread = NTHREAD;
    d.mem_bytes = 4000000;
    d.nosearch = true; /* whose memory is that of use_fold */
    d.take = take_fold;
    d.notes = (struct psr_notes){count_passes, &npass};
    psr_status st = psr_folder_create(&p, &d, err);
    if (!st)
        st = psr_folder_run(p, err);
    psr_folder_destroy(p);
    if (!st && npass < 2)
        bail(PSR_EINVAL, &(psr_err){.msg = "one pass made all folds"});
    return st;
}

static psr_status use_rfifind(psr_err *err)
{
    const char *const path[] = {fil_path};
    struct psr_rfi_run_desc d;
    const struct psr_source_desc source = {
        .size = sizeof source, .path = path, .npath = 1, .if_choice = -1};
    struct psr_rfi_run_report report = {.nread = 0};
    psr_rfi_run_defaults(&d);
    d.source = &source;
    d.root = root;
    d.nblock = 1;
    d.nthread = NTHREAD;
    psr_status st = psr_rfi_run(&report, &d, err);
    psr_rfi_run_clear(&report);
    return st;
}

static psr_status run_pipeline(struct psr_pipeline_desc *d, psr_err *err)
{
    const char *const path[] = {fil_path};
    psr_pipeline *p = NULL;
    d->path = path;
    d->npath = 1;
    d->root = root;
    d->nthread = NTHREAD;
    d->device = "cpu";
    psr_status st = psr_pipeline_create(&p, d, err);
    if (!st)
        st = psr_pipeline_run(p, err);
    if (!st)
        st = psr_pipeline_finish(p, err);
    psr_pipeline_destroy(p);
    return st;
}

static psr_status use_pipeline(psr_err *err)
{
    struct psr_pipeline_desc d;
    struct psr_sink_pulses_desc pulses;
    psr_pipeline_defaults(&d);
    psr_sink_pulses_defaults(&pulses);
    d.dm = dms;
    d.ndm = NTRIAL;
    d.nobary = true;
    d.files = PSR_FILES_DAT;
    d.pulses = &pulses;
    pulses.threshold = 4;
    return run_pipeline(&d, err);
}

static psr_status use_plan(psr_err *err)
{
    struct psr_pipeline_desc d;
    psr_pipeline_defaults(&d);
    d.plan = plan_path;
    d.zerodm = true;
    d.ignorechan = "3,5:6";
    d.position = "12:30:00,-20:10:00";
    d.site = "-79.8,38.4,800";
    d.files = PSR_FILES_DAT;
    d.checksums = true;
    return run_pipeline(&d, err);
}

static psr_status use_subband_files(psr_err *err)
{
    struct psr_pipeline_desc d;
    psr_pipeline_defaults(&d);
    d.ndm = 1;
    d.nsub = 4;
    d.nobary = true;
    d.presto = true;
    d.files = PSR_FILES_SUBBANDS;
    return run_pipeline(&d, err);
}

static psr_status write_psrfits(psr_err *err)
{
    struct psr_obs made = obs;
    psr_outfile *f = NULL;
    psr_psrfits *w = NULL;
    made.nsamp = NSAMP;
    psr_status st = psr_outfile_create(&f, fits_path, err);
    if (!st)
        st = psr_psrfits_create(&w, f, &made, 64, err);
    if (!st)
        st = psr_psrfits_append(w, spectra, NSAMP, err);
    if (!st)
        st = psr_psrfits_finish(w, err);
    psr_psrfits_destroy(w);
    if (!st)
        return psr_outfile_commit(f, err);
    psr_outfile_abort(f);
    return st;
}

static psr_status use_psrfits(psr_err *err)
{
    const char *const path[] = {fits_path};
    const struct psr_source_desc d = {.size = sizeof d, .path = path, .npath = 1, .if_choice = -1};
    psr_source *source = NULL;
    size_t n = 1;
    psr_status st = write_psrfits(err);
    if (!st)
        st = psr_source_open(&source, &d, err);
    uint8_t *block = malloc(100 * NCHAN);
    if (!st && !block)
        st = psr_fail(err, PSR_ENOMEM, "no memory");
    while (!st && n)
        st = psr_source_read(source, 100, block, &n, err);
    free(block);
    psr_source_close(source);
    return st;
}

static psr_status use_beamformer(psr_err *err)
{
    const char *const path[] = {dada_path};
    struct psr_beamformer_desc d;
    psr_beamformer *p = NULL;
    psr_beamformer_defaults(&d);
    d.path = path;
    d.npath = 1;
    d.array = array_path;
    d.grid = true;
    d.root = root;
    d.tds = 3;
    d.device = "cpu";
    d.nthread = NTHREAD;
    psr_status st = psr_beamformer_create(&p, &d, err);
    if (!st)
        st = psr_beamformer_run(p, err);
    if (!st)
        st = psr_beamformer_finish(p, err);
    psr_beamformer_destroy(p);
    return st;
}

static psr_status use_fake(psr_err *err)
{
    const struct psr_fake_signal signal[] = {{.kind = PSR_FAKE_PULSAR,
                                              .shape = PSR_FAKE_GAUSSIAN,
                                              .smear = true,
                                              .dm = 10,
                                              .peak = 1,
                                              .period_s = 0.1,
                                              .width_s = 0.01,
                                              .scatter_s = 0.01,
                                              .scatter_index = -4}};
    struct psr_obs made = obs;
    made.nsamp = NSAMP;
    const struct psr_fake_desc d = {.size = sizeof d,
                                    .obs = &made,
                                    .seed = 1,
                                    .dmconst = PSR_DMCONST_PRESTO,
                                    .nsignal = 1,
                                    .signal = signal,
                                    .noise_sigma = 1,
                                    .red_sigma = 1,
                                    .red_index = -2,
                                    .nthread = NTHREAD};
    psr_fake *p = NULL;
    uint8_t *out = malloc(NSAMP * NCHAN);
    psr_status st = out ? psr_fake_create(&p, &d, err) : psr_fail(err, PSR_ENOMEM, "no memory");
    if (!st)
        st = psr_fake_execute(p, 0, NSAMP, out, err);
    psr_fake_destroy(p);
    free(out);
    return st;
}

/* Two trials of one list, with pulsars, birdies and rejects, in files. */
static psr_status use_sift(psr_err *err)
{
    const char *const path[] = {list_path[0], list_path[1]};
    struct psr_pulsar pulsar = {.name = "J1", .f0_hz = 230.97, .dm = 11};
    struct psr_bird bird = {1, 1, false, 0};
    const struct psr_catalogue catalogue = {&pulsar, 1};
    const struct psr_zaplist birds = {&bird, 1};
    struct psr_sift_desc d;
    struct psr_sift_result result;
    psr_sift *s = NULL;
    psr_sift_defaults(&d);
    d.catalogue = &catalogue;
    d.birds = &birds;
    d.keep_rejects = true;
    d.nthread = NTHREAD;
    psr_status st = psr_sift_create(&s, &d, err);
    if (!st)
        st = psr_sift_read(s, path, 2, err);
    if (!st)
        st = psr_sift_execute(s, &result, err);
    psr_sift_destroy(s);
    return st;
}

int main(void)
{
    uint64_t seed = tap_seed();
    scratch_make();
    make_spectra(&seed);
    make_files(&seed);
    try_all("matched search", use_matched, 0);
    try_all("matched search of a series", use_matched_series, 0);
    try_all("compatible search", use_compatible, 0);
    try_all("compatible search in memory", use_plane, 0);
    try_all("boxes", use_boxes, 0);
    try_all("boxes of series", use_box_series, 0);
    try_all("dedispersion", use_dedispersion, 0);
    try_all("dedispersion by sub-bands", use_subbands, 0);
    try_all("single pulses", use_pulses, 0);
    try_all("cleaning", use_cleaning, 0);
    try_all("fold", use_fold, 0);
    try_all("folder", use_folder, 0);
    try_all("rfifind", use_rfifind, 6); /* leftovers of killed runs may stay */
    try_all("pipeline", use_pipeline, 3 * NTRIAL + 1);
    try_all("lines of a plan", use_plan, 200); /* that are not made together, but one by one */
    try_all("sub-bands in files", use_subband_files, 5);
    try_all("PSRFITS", use_psrfits, 1);
    try_all("beamformer", use_beamformer, 2 * NBEAM);
    try_all("synthetic data", use_fake, 0);
    try_all("sifting", use_sift, 0);
    return done_testing();
}

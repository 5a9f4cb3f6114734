/* Descriptions of callers that were built with another version of the library. */
#include "beam/beam_internal.h"
#include "formats/dada/dada_internal.h"
#include "search/matched/response/accel_internal.h"
#include "search/pulscan/pulscan_internal.h"
#include "tests/support/tap.h"
#include <psrkit/experimental.h>
#include <psrkit/psrkit.h>
#include <string.h>

/* Every create with a description that has no size, each as CREATE(name, object). */
#define EACH(CREATE)                                                                               \
    CREATE(accelsearch, accelsearch_create)                                                        \
    CREATE(beam, beam_create)                                                                      \
    CREATE(beamformer, beamformer_create)                                                          \
    CREATE(clean, clean_create)                                                                    \
    CREATE(dedisp, dedisp_create)                                                                  \
    CREATE(fake, fake_create)                                                                      \
    CREATE(fakevolt, fakevolt_create)                                                              \
    CREATE(fold, fold_create)                                                                      \
    CREATE(folder, folder_create)                                                                  \
    CREATE(output_group, output_group_create)                                                      \
    CREATE(pipeline, pipeline_create)                                                              \
    CREATE(pulscan, pulscan_create)                                                                \
    CREATE(rfifind, rfifind_create)                                                                \
    CREATE(series, series_create)                                                                  \
    CREATE(singlepulse, singlepulse_create)                                                        \
    CREATE(source, source_open)                                                                    \
    CREATE(voltages, voltages_open)

#define REFUSES(module, function)                                                                  \
    {                                                                                              \
        struct psr_##module##_desc d;                                                              \
        psr_##module *p = (void *)&d;                                                              \
        memset(&d, 0, sizeof d);                                                                   \
        psr_status st = psr_##function(&p, &d, &err);                                              \
        ok(st == PSR_EINVAL && !p && !strcmp(err.field, "size"), #module ": %s", err.msg);         \
    }

static void test_sizes(void)
{
    psr_err err;
    EACH(REFUSES)
    struct psr_refine_desc refine;
    struct psr_measured out;
    memset(&refine, 0, sizeof refine);
    ok(psr_candidate_refine(&out, NULL, 0, NULL, 0, &refine, &err) == PSR_EINVAL &&
           !strcmp(err.field, "size"),
       "refinement: %s", err.msg);
    struct psr_pulscan_merge_desc merge;
    struct psr_pulscan_cand *cand;
    size_t ncand;
    memset(&merge, 0, sizeof merge);
    ok(psr_pulscan_merge(NULL, 0, &merge, &cand, &ncand, NULL, &err) == PSR_EINVAL &&
           !strcmp(err.field, "size"),
       "merging: %s", err.msg);
}

/* As dedispersion has it, and two fields that it has not. */
struct later {
    struct psr_dedisp_desc d;
    int64_t more;
    double yet;
};

static void test_versions(void)
{
    const double freq_mhz[] = {1400, 1399}, dm[] = {0};
    struct later later = {.d = {.nchan = 2,
                                .freq_mhz = freq_mhz,
                                .tsamp_s = 1e-3,
                                .nbit = 8,
                                .downsamp = 1,
                                .dmconst = PSR_DMCONST_PRESTO,
                                .ndm = 1,
                                .dm = dm,
                                .backend = "cpu",
                                .devices = (void *)1,
                                .ndevice = 0}};
    psr_dedisp *p;
    psr_err err;
    later.d.size = sizeof later;
    ok(psr_dedisp_create(&p, &later.d, &err) == PSR_OK, "later fields that are 0");
    psr_dedisp_destroy(p);
    later.yet = 1;
    ok(psr_dedisp_create(&p, &later.d, &err) == PSR_EINVAL && strstr(err.msg, "not known"),
       "later fields that are not: %s", err.msg);
    later.d.size = offsetof(struct psr_dedisp_desc, backend);
    later.d.backend = "no such backend";
    ok(psr_dedisp_create(&p, &later.d, &err) == PSR_OK, "fields that an earlier version lacks");
    psr_dedisp_destroy(p);
    later.d.size = SIZE_MAX / 2;
    ok(psr_dedisp_create(&p, &later.d, &err) == PSR_EINVAL, "no size: %s", err.msg);
}

/* Defaults for an earlier version: nothing is written behind it; and for a later one. */
#define DEFAULTS(module)                                                                           \
    {                                                                                              \
        struct {                                                                                   \
            struct psr_##module##_desc d;                                                          \
            size_t behind;                                                                         \
        } now, was, next;                                                                          \
        const size_t early = sizeof now.d - sizeof(size_t), late = sizeof next;                    \
        memset(&was, 0x5a, sizeof was);                                                            \
        memset(&next, 0x5a, sizeof next);                                                          \
        psr_##module##_defaults(&now.d);                                                           \
        psr_##module##_set_defaults(&was.d, early);                                                \
        psr_##module##_set_defaults(&next.d, late);                                                \
        const unsigned char *kept = (const unsigned char *)&was + early;                           \
        ok(now.d.size == sizeof now.d && was.d.size == early && next.d.size == late &&             \
               kept[0] == 0x5a && !memcmp(kept, kept + 1, sizeof was - early - 1) &&               \
               !memcmp((char *)&was + sizeof early, (char *)&now + sizeof early,                   \
                       early - sizeof early) &&                                                    \
               !memcmp((char *)&next + sizeof early, (char *)&now + sizeof early,                  \
                       sizeof now.d - sizeof early) &&                                             \
               next.behind == 0,                                                                   \
           #module ": defaults of %zu, %zu and %zu bytes", early, sizeof now.d, late);             \
    }

static void test_defaults(void)
{
    DEFAULTS(beamformer)
    DEFAULTS(filterbank)
    DEFAULTS(folder)
    DEFAULTS(fourier)
    DEFAULTS(pipeline)
    DEFAULTS(rfi_run)
    DEFAULTS(sift)
}

int main(void)
{
    test_sizes();
    test_versions();
    test_defaults();
    return done_testing();
}

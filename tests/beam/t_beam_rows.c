/* Rows of beams that stay where they were made are dedispersed like those that are copied: on the CPU,
 * whose device is the host's memory. */
#include "beam/beam_internal.h"
#include "search/dedisp/dedisp_internal.h"
#include "tests/support/beam_rows.h"

static void test_refusals(uint64_t *seed)
{
    static struct rows_scene s;
    psr_dedisp_beams *p;
    psr_err err = {0};
    if (!make_scene(&s, "cpu", seed))
        return;
    psr_beam *beams = make_beams(&s);
    char *rows = tap_take(ROWS_BEAM * ROWS_N, psr_beam_row_bytes(beams));
    size_t nrow;
    psr_status st = psr_beam_start_device(beams, s.in, 9 * ROWS_TDS, rows, 8, &nrow, &err);
    ok(st == PSR_EINVAL && !strcmp(err.field, "stride"), "%s", err.msg);
    psr_beam_destroy(beams);
    if (ok(!psr_dedisp_beams_create(&p, &s.search, &err), "a search")) {
        st = psr_dedisp_beams_execute_device(p, ROWS_BEAM, rows, NULL, 1, &err);
        ok(st == PSR_EINVAL && !strcmp(err.field, "beam"), "%s", err.msg);
        st = psr_dedisp_beams_execute_device(p, 0, rows, NULL, ROWS_N + 1, &err);
        ok(st == PSR_EINVAL && !strcmp(err.field, "nsamp"), "%s", err.msg);
        psr_dedisp_beams_destroy(p);
    }
    psr_beam_free_device("cpu", NULL);
    free(rows);
    drop_scene(&s);
}

int main(void)
{
    uint64_t seed = tap_seed();
    test_hand_over("cpu", hand_directly, NULL, "in memory", &seed);
    test_refusals(&seed);
    return done_testing();
}

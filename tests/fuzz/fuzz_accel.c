/* fuzz_accel: any bytes give a list of accelsearch whose candidates have their powers, or a clear
 * error. */
#include <psrkit/experimental/sift.h>

#include "fuzz_file.h"

#include <math.h>

static void check_rows(const struct psr_accel_rows *rows)
{
    double sum = 0;
    if (!(rows->tobs_s > 0))
        abort();
    for (size_t i = 0; i < rows->n; i++) {
        const struct psr_accel_row *row = &rows->row[i];
        if (!(row->r > 0) || row->nharm < 1 || row->nharm > PSR_ACCEL_LIST_MAX_HARM)
            abort();
        for (int h = 0; h < row->nharm; h++)
            sum += row->harm_power[h];
    }
    if (!(sum >= 0))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int presto = 0; presto < 2; presto++) {
        struct psr_accel_rows rows;
        psr_err err = {.code = PSR_OK};
        const psr_status st = psr_accel_read(&rows, fuzz_file(data, size), presto, &err);
        if (st == PSR_OK)
            check_rows(&rows);
        else
            fuzz_check_failure(st, &err, "/proc/self/fd");
        psr_accel_rows_clear(&rows);
    }
    return 0;
}

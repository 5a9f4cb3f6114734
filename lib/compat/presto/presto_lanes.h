/* presto_lanes.h: the inner loop of sums of planes, for one instruction set (private; included once
 * for each). */

ISA static void NAME(add)(float *sum, const float *row, const struct psr_presto_place *place,
                          size_t ngroup)
{
    for (size_t g = 0; g < ngroup; g++) {
        any_floats *to = (any_floats *)(sum + PRESTO_LANES * g);
        floats from = *(const any_floats *)(row + place[g].first);
        *to += PSR_ISA_SHUFFLE(from, (ints)(*(const any_ints *)place[g].offset));
    }
}

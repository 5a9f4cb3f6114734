/* pair.h: two devices, the second of which breaks, for tests.
 *
 * Where the machine has two, the second runs a kernel that traps.  Where it has one, that is shown
 * twice: the linker puts functions of pair.c in front of those of CUDA (pair_ldflags in
 * tests/local.mk), which remember what was made on the second and let calls that have to do with it
 * fail once it is lost; it becomes the current one every other time.  Kernels are launched all the
 * same.
 *
 * On two real ones, CUDA 13 and driver 580 let calls on the first fail too after a trap on the
 * second, so that the first to be asked is named. */
#ifndef PSR_TESTS_PAIR_H
#define PSR_TESTS_PAIR_H

#include <stdbool.h>

/* Whether one device plays both; after the first call that counts devices. */
bool pair_is_played(void);

/* Loses the second device. */
void pair_lose(void);

#endif

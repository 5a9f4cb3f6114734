/* nibbles.h: how a 4-bit complex voltage is stored. */
#ifndef PSRKIT_NIBBLES_H
#define PSRKIT_NIBBLES_H

#include <stdbool.h>

/* One byte, a nibble for each part.  All false: the real part in the high nibble, both in two's
 * complement, -8 to 7. */
struct psr_nibbles {
    bool offset_binary; /* value + 8; otherwise two's complement */
    bool real_low;      /* the real part is in the low nibble; otherwise in the high one */
};

#endif

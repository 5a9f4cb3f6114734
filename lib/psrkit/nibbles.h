/* nibbles.h: storage format of a 4-bit complex voltage. */
#ifndef PSRKIT_NIBBLES_H
#define PSRKIT_NIBBLES_H

#include <stdbool.h>

/* One byte with a nibble each for the real and imaginary parts.  All false: real part in the high
 * nibble, both in two's complement, -8 to 7. */
struct psr_nibbles {
    bool offset_binary; /* value + 8; otherwise two's complement */
    bool real_low;      /* the real part is in the low nibble, not the high one */
};

#endif

/* Returns the version of the library. */
#include <psrkit/psrkit.h>

#define TEXT_OF(x)                        #x
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *psr_version(void)
{
    return VERSION_TEXT(PSR_VERSION_MAJOR, PSR_VERSION_MINOR, PSR_VERSION_PATCH);
}

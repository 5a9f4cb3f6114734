/* Lists the devices that a command line names. */
#include "base/tool.h"

#include <psrkit/device.h>
#include <stdio.h>
#include <string.h>

static psr_status list_all(struct psr_names *words, psr_err *err)
{
    const int n = psr_device_count(err);
    psr_status st = n ? PSR_OK : PSR_EDEVICE;
    for (int k = 0; k < n && !st; k++) {
        char number[16];
        snprintf(number, sizeof number, "%d", k);
        st = psr_names_add(words, number, err);
    }
    return st;
}

psr_status psr_device_words(struct psr_names *words, const char *text, psr_err *err)
{
    psr_status st = PSR_OK;
    *words = (struct psr_names){0};
    if (!strcmp(text, "all"))
        return list_all(words, err);
    for (const char *at = text; at && !st; at = strchr(at, ',')) {
        char word[PSR_DEVICE_NAME_MAX];
        at += at > text;
        snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
        st = psr_names_add(words, word, err);
    }
    return st;
}

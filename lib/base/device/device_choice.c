/* Reads which devices a command line asks for, and chooses backends by name. */
#include "base/tool.h"
#include "device_internal.h"

#include <ctype.h>
#include <string.h>

enum { NUMBER_MAX = 1023 };

static psr_status parse_number(const char *text, int *device, psr_err *err)
{
    int64_t number = 0;
    psr_status st = psr_parse_int("-device", text, 0, NUMBER_MAX, &number, err);
    *device = (int)number;
    return st;
}

/* Kind of a device, and its number within the kind.  If no kind was built in, the plan reports it. */
static const char *name_kind(int device, int *number)
{
    const struct psr_device_ops *kind = psr_device_kind(device, number);
    return kind ? kind->name : "cuda";
}

psr_status psr_device_choose(const char *text, const char **backend, int *device, psr_err *err)
{
    *backend = text;
    *device = 0;
    if (!isdigit((unsigned char)text[0]))
        return PSR_OK;
    psr_status st = parse_number(text, device, err);
    *backend = name_kind(*device, device);
    return st;
}

psr_status psr_devices_choose(struct psr_device_choice *c, const char *text, psr_err *err)
{
    struct psr_names words;
    int first;
    *c = (struct psr_device_choice){.backend = name_kind(0, &first)};
    if (strcmp(text, "all") != 0 && !strchr(text, ','))
        return psr_device_choose(text, &c->backend, &c->device, err);
    psr_status st = psr_device_words(&words, text, err);
    if (!st && words.n > PSR_DEVICES_MAX)
        st = psr_fail_field(err, PSR_EINVAL, "device", "-device: more than %d devices",
                            PSR_DEVICES_MAX);
    for (size_t k = 0; k < words.n && !st; k++)
        st = parse_number(words.name[k], &c->devices[c->ndevice++], err);
    psr_names_clear(&words);
    return st;
}

/* --- backends by name ------------------------------------------------------------------------- */

bool psr_backend_is_any(const char *asked)
{
    return !asked || !strcmp(asked, "auto");
}

bool psr_backend_is_asked(const char *asked, const char *name)
{
    return psr_backend_is_any(asked) || !strcmp(asked, name);
}

bool psr_backend_is_passed(const char *asked, psr_status st)
{
    return psr_backend_is_any(asked) && (st == PSR_EDEVICE || st == PSR_EUNSUPPORTED);
}

psr_status psr_backend_none(psr_status st, const char *asked, const char *what, psr_err *err)
{
    return st ? st
              : psr_fail_field(err, PSR_EDEVICE, "backend", "%s: no backend '%s' in this build",
                               what, asked ? asked : "auto");
}

/* fuzz_json: any bytes give a tree of JSON whose parts can be walked, or a clear error. */
#include "tools/common/json_read.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returned: values, at most size: each takes a byte or more of the text */
static size_t walk(const struct json_value *v, bool named)
{
    size_t n = 0;
    for (; v; v = v->next) {
        if (named != (v->name != NULL) || (v->type == JSON_STRING) != (v->text != NULL) ||
            (v->type == JSON_NUMBER) != isfinite(v->number))
            abort();
        n += 1 + walk(v->first, v->type == JSON_OBJECT) + (v->text && strlen(v->text) > 1 << 20);
    }
    return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_value *v = NULL;
    psr_err err = {.code = PSR_OK};
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    psr_status st = json_parse(&v, text, "input", &err);
    if (st ? v || err.code != st || !strstr(err.msg, "input") : walk(v, false) > size)
        abort();
    json_text(v, "a");
    json_number(v, "a");
    json_clear(v);
    free(text);
    return 0;
}

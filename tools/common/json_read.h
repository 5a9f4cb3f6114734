/* json_read.h: reads JSON: one value, such as a line of a file, as a tree. */
#ifndef PSR_TOOLS_JSON_READ_H
#define PSR_TOOLS_JSON_READ_H

#include <psrkit/status.h>
#include <stdbool.h>
#include <stddef.h>

enum json_type {
    JSON_NULL,
    JSON_FALSE,
    JSON_TRUE,
    JSON_NUMBER,
    JSON_STRING,
    JSON_ARRAY,
    JSON_OBJECT
};

struct json_value {
    enum json_type type;
    const char *name;         /* of a member of an object; NULL in arrays */
    const char *text;         /* of a string, without escapes; bytes that are no UTF-8 stay */
    double number;            /* of a number; else not a number */
    struct json_value *first; /* of an array or object; NULL: empty */
    struct json_value *next;  /* in the array or object */
};

/* Parses text, which is changed and must stay as long as the tree: names and strings are in it.
 * Given:    what   for messages: the file and line
 * Returned: *value, to be freed by json_clear; NULL on error
 * Status:   PSR_EFORMAT "WHAT: byte N: ..." for what is no JSON, or nested deeper than 64; PSR_ENOMEM */
PSR_MUST_CHECK psr_status json_parse(struct json_value **value, char *text, const char *what,
                                     psr_err *err);

/* The member of an object; NULL: there is none, or this is no object, or NULL. */
const struct json_value *json_member(const struct json_value *object, const char *name);

/* A member's text or number; "" or not a number: there is no such member of this type. */
const char *json_text(const struct json_value *object, const char *name);
double json_number(const struct json_value *object, const char *name);

/* Frees a tree; NULL is allowed. */
void json_clear(struct json_value *value);

#endif

/* Stub of psrdada's interface, as far as the library uses it: compiled in floors.bats, never linked. */
#ifndef ASCII_HEADER_H
#define ASCII_HEADER_H

int ascii_header_set(char *header, const char *keyword, const char *format, ...);
int ascii_header_get(const char *header, const char *keyword, const char *format, ...);

#endif

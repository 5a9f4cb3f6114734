/* part_name.h: names of files that are being written (private). */
#ifndef PSR_BASE_OUTPUT_PART_NAME_H
#define PSR_BASE_OUTPUT_PART_NAME_H

#define PSR_PART ".part"
enum { PSR_PART_LETTERS = 6 };

/* Writes PSR_PART_LETTERS letters that tell which process writes the file, and with few clashes: a name
 * that exists is tried again.  Any thread may ask at any time, so there is no counter. */
void psr_part_suffix(char *suffix);

#endif

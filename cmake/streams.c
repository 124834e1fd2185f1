/* What copies of libpng, libjpeg and jansson read in place of stderr and stdin: libraries.cmake. */
#include <stdio.h>

extern FILE *nuc_stderr, *nuc_stdin;
FILE *nuc_stderr, *nuc_stdin;

__attribute__((constructor)) static void take_streams(void)
{
    nuc_stderr = stderr;
    nuc_stdin = stdin;
}

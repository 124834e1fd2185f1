/*
 * Two slots of flash for packages of programs, read in place: the first one has the program that the firmware is shipped
 * with, the other one is erased. -DSLOT_SECTION=... places them elsewhere: in whole blocks of the flash that are erased
 * for nothing else.
 */
#include "port/flash.h"

#ifndef SLOT_SECTION
#define SLOT_SECTION .slots
#endif
#ifndef SLOT_BYTES
#define SLOT_BYTES @SLOT_BYTES@
#endif
    .section SLOT_SECTION, "a", %progbits
    .balign NUC_PORT_ERASE_SIZE
    .global slot0, slot1
slot0:
    .incbin PACKAGE
    .org slot0 + SLOT_BYTES, 0xff /* "attempt to move .org backwards": SLOT_BYTES is less than the package has */
slot1:
    .fill SLOT_BYTES, 1, 0xff

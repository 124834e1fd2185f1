/*
 * Instructions by the system counter of the SSE-300: under QEMU's `-icount shift=6` every one takes 64 ns, the counter
 * ticks every 31.25 ns.
 */
#include "port/port.h"
#include "port/startup.h"

#define COUNTER_CONTROL (*(volatile uint32_t *)0x58100000)
#define COUNTER_VALUE ((volatile uint32_t *)0x58100008)
#define COUNTER_LOW (*(volatile uint32_t *)0x48101000)

void nuc_port_start(void)
{
    COUNTER_CONTROL = 0; /* it can be written while it stands */
    COUNTER_VALUE[0] = 0;
    COUNTER_VALUE[1] = 0;
    COUNTER_CONTROL = 1;
}

/* 256 ticks in 125 instructions; the counter's lower word wraps after 2.1e9 instructions. */
uint32_t nuc_port_instructions(void)
{
    return (uint32_t)((uint64_t)COUNTER_LOW * 125 / 256);
}

/* Instructions by a timer: under QEMU's `-icount shift=6` every one takes 64 ns, the timer ticks every 50 ns. */
#include "port/port.h"
#include "port/startup.h"

/* CMSDK APB timer 0 by its secure address; it counts down from the reload value. */
struct timer {
    volatile uint32_t control, value, reload, interrupt;
};
#define TIMER0 ((struct timer *)0x50000000)

void nuc_port_start(void)
{
    TIMER0->reload = UINT32_MAX;
    TIMER0->value = UINT32_MAX;
    TIMER0->control = 1;
}

/* 32 ticks in 25 instructions; the timer wraps after 3.3e9 instructions. */
uint32_t nuc_port_instructions(void)
{
    return (uint32_t)((uint64_t)(UINT32_MAX - TIMER0->value) * 50 / 64);
}

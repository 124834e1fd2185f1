/*
 * Arm's CMSDK APB UART, which QEMU's boards have. Its interrupt only ends the processor's sleep: it is enabled and
 * masked, so that there is no handler.
 */
#include "firmware/serial/serial.h"

#include <stdint.h>

struct uart {
    volatile uint32_t data, state, control, interrupt, divider;
};
enum { TX_FULL = 1, RX_FULL = 2 };                       /* state */
enum { TX_ENABLE = 1, RX_ENABLE = 2, RX_INTERRUPT = 8 }; /* control */
#define RX_PENDING 2U                                    /* interrupt: written back, it is cleared */

extern struct uart nuc_uart0[]; /* out of the linker script */

/* Interrupts 32 to 63, among which are those of the line. */
#define NVIC_ENABLE (*(volatile uint32_t *)0xE000E104)
#define NVIC_CLEAR (*(volatile uint32_t *)0xE000E284)

void nuc_serial_start(void)
{
    __asm volatile("cpsid i");
    nuc_uart0->divider = 16; /* QEMU's line has no speed, and wants one that is not 0 */
    nuc_uart0->control = TX_ENABLE | RX_ENABLE | RX_INTERRUPT;
    NVIC_ENABLE = UINT32_MAX;
}

char nuc_serial_get(void)
{
    while ((nuc_uart0->state & RX_FULL) == 0)
        __asm volatile("wfi" ::: "memory");
    char c = (char)nuc_uart0->data;
    nuc_uart0->interrupt = RX_PENDING;
    NVIC_CLEAR = UINT32_MAX;
    return c;
}

void nuc_serial_put(const char *text)
{
    for (; *text != '\0'; text++) {
        while ((nuc_uart0->state & TX_FULL) != 0) {
        }
        nuc_uart0->data = (uint8_t)*text;
    }
}

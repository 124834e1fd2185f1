/* Vector table and start-up of a Cortex-M: floating point and vectors on, data copied, the firmware's entry called. */
#include <stdint.h>
#include <string.h>

#include "port/port.h"
#include "port/startup.h"

/* Out of the linker script. */
extern uint32_t nuc_stack_top[], nuc_data_start[], nuc_data_end[], nuc_data_source[], nuc_bss_start[], nuc_bss_end[];

void nuc_reset(void);

static void fault(void)
{
    nuc_port_print("fault: the processor stopped at a bad instruction or address\n");
    nuc_port_exit(3);
}

union vector {
    void *stack;
    void (*handler)(void);
};

__attribute__((section(".vectors"), used)) static const union vector vectors[16] = {
    [0] = {.stack = nuc_stack_top}, [1] = {.handler = nuc_reset}, [2] = {.handler = fault}, [3] = {.handler = fault},
    [4] = {.handler = fault},       [5] = {.handler = fault},     [6] = {.handler = fault}, [7] = {.handler = fault},
};

/* Coprocessors 10 and 11, floating point and vectors, for all. */
#define CPACR (*(volatile uint32_t *)0xE000ED88)

void nuc_reset(void)
{
    CPACR |= 0xFU << 20;
    __asm volatile("dsb\n\tisb");
    memcpy(nuc_data_start, nuc_data_source, (size_t)((uint8_t *)nuc_data_end - (uint8_t *)nuc_data_start));
    memset(nuc_bss_start, 0, (size_t)((uint8_t *)nuc_bss_end - (uint8_t *)nuc_bss_start));
    nuc_port_start();
    nuc_port_exit(nuc_firmware_main());
}
